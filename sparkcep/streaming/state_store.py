"""The state store of clauses over streams: RocksDB, as Spark's other one has no timers."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sparkcep.errors import CepAnalysisError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def require_timers(spark: SparkSession) -> None:
    """Raise CepAnalysisError if the session's state store has no timers."""
    if spark.conf.get(PROVIDER, None) != ROCKSDB:
        raise CepAnalysisError(
            "a pattern over a stream keeps its state in RocksDB, and this session has another state store",
            code="STREAM_STATE_STORE",
            hint=f"SET {PROVIDER} = {ROCKSDB}",
        )
