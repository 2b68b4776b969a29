"""Expressions that would fail are not computed where the conditions before them have decided."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.differential.joins import FORMS, join, rows

pytestmark = pytest.mark.spark

EVENTS = """SELECT * FROM VALUES (0, 'a', 0, 5, true, 'x'), (1, 'a', 2, 0, false, '7'), (2, 'a', NULL, 3, NULL, NULL), (3, 'a', 4, 0, true, 'y'),
  (4, 'a', 0, 1, false, '3'), (5, 'a', 1, 2, true, '0') AS t(o, type, c_int, c_bigint, c_boolean, c_string)"""
CONDITIONS = [
    "b.c_int = 0 OR 12 / b.c_int > a.c_bigint",
    "b.c_int <> 0 AND 12 / b.c_int > a.c_bigint OR b.c_bigint = a.c_bigint",
    "a.c_int = 0 OR 12 / a.c_int > b.c_bigint",
    "CASE WHEN a.c_int = 0 THEN b.c_bigint > 1 WHEN b.c_int = 0 THEN a.c_bigint > 0 ELSE 6 / a.c_int > 6 / b.c_int END",
    "IF(b.c_int > 0, 12 / b.c_int, 0) > a.c_bigint",
    "COALESCE(b.c_boolean, CAST(b.c_string AS INT) > 1, a.c_boolean)",
    "a.c_int <> 0 AND b.c_bigint > 6 / a.c_int",
    "NOT (b.c_int = 0 OR NOT (12 / b.c_int > a.c_bigint))",
    "b.c_string RLIKE '^[0-9]+$' AND CAST(b.c_string AS INT) > a.c_bigint OR a.c_boolean",
    "b.c_int = 0 OR COALESCE(a.c_boolean, 12 / b.c_int > 3)",
    "CASE a.c_int WHEN 0 THEN 12 / (a.c_int + 1) > b.c_int WHEN b.c_int THEN 12 / (b.c_bigint + 1) > a.c_int ELSE a.c_boolean END",
    "IF(a.c_bigint > 9, raise_error(concat('at ', b.c_string)), a.c_int > b.c_int)",
    "b.c_bigint > a.c_int OR IF(b.c_bigint <= a.c_int OR a.c_int IS NULL, NULL, raise_error('not reached'))",
]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[None]:
    spark.sql(EVENTS).createOrReplaceTempView("events")
    yield
    spark.catalog.dropTempView("events")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_as_spark(spark: SparkSession, events: None, condition: str) -> None:
    pairs = rows(spark, join(condition))
    assert isinstance(pairs, list) and 0 < len(pairs) < 15
    for form in ("rows", "next", "closure", "automaton"):
        assert rows(spark, FORMS[form].statement(condition)) == FORMS[form].rows(pairs)
