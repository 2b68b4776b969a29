"""Changes of the pattern that a stream follows: a second input of the stream, and what the table of patterns is told of the stream.

In: the table's rows (``rewrites.patterns.followers``), which Spark reads as a stream: which of them a micro-batch has read is in its offsets, so a
repeated micro-batch reads the same. Out: packets for all buckets. Driver only.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rewrites.bind.relation import spark_message
from rewrites.patterns.rows import rows_sql
from rewrites.patterns.versions import BOUND, ENDED, STARTED
from rewrites.sql.builder import string
from sparkcep.errors import CepAnalysisError
from sparkcep.spec.stream import BUCKET, Followed
from sparkcep.streaming.listener import observe
from sparkcep.streaming.monitor import metrics_of, without_use
from sparkcep.streaming.packets import CHANGE, PAYLOAD
from sql_functions.java import java_class

LOGGER = logging.getLogger("sparkcep")


def changes(spark: SparkSession, followed: Followed) -> DataFrame:
    """The versions bound for the stream, as ``versions.received`` reads them, once for each bucket.

    Raises CepAnalysisError where the table is not one that Spark reads as a stream.
    """
    is_ours = (
        f"change = {string(BOUND)} AND comment = {string(followed.interface)} "
        f"AND LOWER(pattern) = {string(followed.pattern.lower())}"
    )
    told = (
        "TO_JSON(NAMED_STRUCT('version', version, 'recorded', UNIX_MICROS(CAST(recorded_at AS TIMESTAMP)), "
        "'effective', UNIX_MICROS(CAST(effective_from AS TIMESTAMP)), 'spec', GET_JSON_OBJECT(body, '$.spec')))"
    )
    try:
        rows = spark.readStream.table(followed.table).where(is_ours)
    except PySparkException as error:
        raise CepAnalysisError(
            f"{followed.table} cannot be read as a stream: {spark_message(error)}",
            code="PATTERN_STREAM",
            hint="SET sparkcep.stream.patterns = fixed, or keep the patterns in a table of files, Delta Lake or Iceberg",
        ) from None
    return rows.selectExpr(
        f"EXPLODE(SEQUENCE(0, {followed.buckets - 1})) AS `{BUCKET}`",
        f"CAST(NULL AS BINARY) AS {PAYLOAD}",
        f"{told} AS {CHANGE}",
    )


class Reporter:
    """Tells the table of patterns which streams follow one, by their names."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, Followed]] = {}

    def progressed(self, progress: Mapping[str, Any]) -> None:
        """See ``listener.Observer``; the first micro-batch of a run tells which clauses it has."""
        known = self._told.setdefault(progress["runId"], {})
        for metrics in map(without_use, progress.get("observedMetrics", {})):
            followed = _FOLLOWED.get(metrics)
            if followed is not None and metrics not in known:
                known[metrics] = followed
                name = progress.get("name") or progress["id"]
                _tell(followed, STARTED, {"id": progress["id"], "name": name, "registers": list(followed.registers)})

    def ended(self, run: str, query: str) -> None:
        """See ``listener.Observer``."""
        for followed in self._told.pop(run, {}).values():
            _tell(followed, ENDED, {"id": query})


_FOLLOWED: dict[str, Followed] = {}
"""By the names of the observed metrics of clauses."""


def report(spark: SparkSession, followed: Followed) -> None:
    """Tell the table of the streams with this clause that the session starts from now on."""
    _FOLLOWED[metrics_of(followed.interface)] = followed
    observe(spark, Reporter())


def _tell(followed: Followed, change: str, body: Mapping[str, Any]) -> None:
    row = followed.pattern, 0, change, followed.clause, json.dumps(body), followed.interface
    try:
        sessions = java_class(SparkContext._active_spark_context, "org.apache.spark.sql.classic.SparkSession")
        sessions.getDefaultSession().get().sql(rows_sql(followed.table, [row]))
    except Exception as error:
        LOGGER.warning("%s was not told of the stream %s: %s", followed.table, body, error)
