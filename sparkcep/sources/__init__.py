"""Data sources that come with sparkcep. ``register_sources`` makes them known to a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sql_functions.java import java_class


def register_sources(spark: SparkSession) -> None:
    """Make the formats of this package known to ``spark``: those whose libraries are installed. Idempotent."""
    if find_spec("confluent_kafka") is None:
        return
    from sparkcep.sources.kafka import KafkaSource

    try:
        with active(spark):
            spark.dataSource.register(KafkaSource)
    except PySparkException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


@contextmanager
def active(spark: Any) -> Iterator[None]:
    """Spark looks formats up in the *active* session: whether one is there already (and then registers it in none), and that of a writer."""
    if not hasattr(spark, "_jsparkSession"):  # Spark Connect: the server's business
        yield
        return
    sessions = java_class(spark.sparkContext, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
