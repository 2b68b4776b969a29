"""What Spark knows of a query: its output columns and their types.

In: SQL text without pattern clauses. Out: a StructType from Spark's own analysis; nothing is executed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.logger import PySparkLogger
from pyspark.sql.types import StructType

Describe = Callable[[str], StructType]


def classic_describe(context: Any, jsession: Any, parse: Callable[[str], Any]) -> Describe:
    """Describe queries in a classic session; ``parse`` makes a logical plan of text, with the statement's parameters bound."""
    dataset = context._jvm.org.apache.spark.sql.classic.Dataset

    def describe(query: str) -> StructType:
        with _quiet():
            return StructType.fromJson(json.loads(dataset.ofRows(jsession, parse(query)).schema().json()))

    return describe


@contextmanager
def _quiet() -> Iterator[None]:
    """PySpark logs every failed analysis; the ones asked for here are answered by the caller."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def connect_describe(sql: Callable[[str], Any]) -> Describe:
    """Describe queries in a Spark Connect session; ``sql`` makes a DataFrame of text."""
    return lambda query: sql(query).schema  # type: ignore[no-any-return]
