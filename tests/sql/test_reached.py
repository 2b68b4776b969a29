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


MATCHES = {
    "FILTER of aggregates": (
        "MEASURES SUM(10 / x) FILTER (WHERE x <> 0) AS s, AVG(10 / a.x) FILTER (WHERE a.x <> 0) AS m, "
        "ARRAY_AGG(10 / x) FILTER (WHERE x <> 0) AS l, STDDEV_POP(10 / a.x) FILTER (WHERE x <> 0) AS d PATTERN (a+)",
        [(7.0, 3.5, [2.0, 5.0], 1.5)],
    ),
    "FILTER in DEFINE": (
        "MEASURES COUNT(*) AS n PATTERN (a b+) DEFINE b AS SUM(10 / x) FILTER (WHERE x <> 0) > 1",
        [(3,)],
    ),
    "rows that no variable takes": (
        "MEASURES SUM(10 / x) AS s, LAST(10 / x) AS l PATTERN (b+) DEFINE b AS x <> 0",
        [(7.0, 5.0)],
    ),
    "rows at a distance": ("MEASURES PREV(CAST(b.s AS INT), 1) AS p PATTERN (a b+) DEFINE b AS x <> 0", [(5,)]),
    "behind what the match decides": (
        "MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS COUNT(*) = 1 OR 10 / x > 4",
        [(1,), (2,)],
    ),
    "a branch of the match": (
        "MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS IF(COUNT(*) = 1, 1, 10 / x) > 0",
        [(3,)],
    ),
    "never": ("MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS COUNT(*) < 9 OR 1 / 0 > 0", [(3,)]),
    "a value that is there": (
        "MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS COALESCE(SUM(a.x), 10 / x) >= 0",
        [(3,)],
    ),
}


@pytest.mark.parametrize(("clause", "expected"), MATCHES.values(), ids=MATCHES)
def test_what_is_not_reached_does_not_fail(
    spark: SparkSession, clause: str, expected: list[tuple[object, ...]]
) -> None:
    rows = "VALUES (1, 0, 'x'), (2, 5, '5'), (3, 2, '2') AS t(ts, x, s)"
    assert spark.sql(f"SELECT * FROM {rows} MATCH_RECOGNIZE (ORDER BY ts {clause})").collect() == expected


def test_rows_outside_of_reduced_frames(spark: SparkSession) -> None:
    over = "WINDOW w AS (ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (b+) DEFINE b AS x <> 0)"
    found = spark.sql(f"SELECT ts, SUM(10 / x) OVER w FROM VALUES (1, 0), (2, 5) AS t(ts, x) {over}").collect()
    assert sorted(found) == [(1, None), (2, 2.0)]
