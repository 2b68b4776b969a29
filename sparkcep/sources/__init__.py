"""Data sources that come with sparkcep. ``register_sources`` makes them known to a session."""

from __future__ import annotations

from importlib.util import find_spec

from pyspark.sql import SparkSession


def register_sources(spark: SparkSession) -> None:
    """Make ``FORMAT``s of this package known to ``spark``: those whose libraries are installed. Idempotent."""
    if find_spec("confluent_kafka") is not None:
        from sparkcep.sources.kafka import KafkaSource

        spark.dataSource.register(KafkaSource)
