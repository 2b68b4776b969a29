"""LIMIT stops early, from Spark down to the engine: what is not asked for is not built."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

EVENTS = "(SELECT id AS ts, IF(id % 2 = 0, 'A', 'B') AS type FROM range(3000))"
MATCHES = f"""SELECT a.ts AS a, d.ts AS d FROM {EVENTS} MATCH PATTERN (
  /*+ CEP_MAX_PARTIAL_MATCHES(1000000) */ SEQ(A a, B b, A c, B d) ORDER BY ts)"""
"""About 10^11 matches; a run that goes on past its limit of partial matches fails."""


def test_a_limit_ends_the_search(spark: SparkSession) -> None:
    rows = spark.sql(f"{MATCHES} LIMIT 7").collect()
    assert len(rows) == 7
    assert all(row.a < row.d for row in rows)


def test_a_limit_above_a_filter(spark: SparkSession) -> None:
    rows = spark.sql(f"SELECT * FROM ({MATCHES}) WHERE d - a > 5 LIMIT 3").collect()
    assert len(rows) == 3


def test_without_a_limit_the_run_ends_with_an_error(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="CEP_LIMIT"):
        spark.sql(f"SELECT MAX(a) FROM ({MATCHES})").collect()
