"""What Spark knows of a query: its output columns and their types.

In: SQL text without pattern clauses. Out: a StructType from Spark's own analysis; nothing is executed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from pyspark.logger import PySparkLogger
from pyspark.sql.types import StructType

Describe = Callable[[str], StructType]


def dataset_of_plan(context: Any) -> Callable[[Any, Any], Any]:
    """Spark's way from a session and a logical plan to a Dataset; each look-up of it costs seven calls into the JVM."""
    return context._jvm.org.apache.spark.sql.classic.Dataset.ofRows  # type: ignore[no-any-return]


def classic_describe(of_rows: Callable[[Any, Any], Any], jsession: Any, parse: Callable[[str], Any]) -> Describe:
    """Describe queries in a classic session; ``parse`` makes a logical plan of text, with the statement's parameters bound."""

    def describe(query: str) -> StructType:
        with _quiet:
            return StructType.fromJson(json.loads(of_rows(jsession, parse(query)).schema().json()))

    return describe


class _Quiet:
    """PySpark logs every failed analysis; the ones asked for here are answered by the caller. Several threads may be inside at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._disabled = False

    def __enter__(self) -> None:
        with self._lock:
            logger = PySparkLogger.getLogger("SQLQueryContextLogger")
            if self._inside == 0:
                self._disabled, logger.disabled = logger.disabled, True
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                PySparkLogger.getLogger("SQLQueryContextLogger").disabled = self._disabled


_quiet = _Quiet()


def connect_describe(sql: Callable[[str], Any]) -> Describe:
    """Describe queries in a Spark Connect session; ``sql`` makes a DataFrame of text."""
    return lambda query: sql(query).schema  # type: ignore[no-any-return]
