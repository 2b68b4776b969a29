"""Matches are streamed: LIMIT stops an endless answer, a run-away query ends with an error that says what to add."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

THREE_THOUSAND = "(SELECT id AS ts, element_at(array('A', 'B', 'C'), CAST(id % 3 AS INT) + 1) AS type FROM range(9000))"


def test_limit_stops_early(spark: SparkSession) -> None:
    """4.5 billion matches, more than a run may make: five of them cost a few chunks."""
    query = f"SELECT a.ts, b.ts, c.ts FROM {THREE_THOUSAND} MATCH PATTERN (SEQ(A a, B b, C c) ORDER BY ts) LIMIT 5"
    rows = spark.sql(query).collect()
    assert len(rows) == 5
    assert all(row[0] < row[1] < row[2] for row in rows)


def test_a_run_away_query_says_what_to_add(spark: SparkSession) -> None:
    query = f"""SELECT a.ts, b.ts, c.ts FROM {THREE_THOUSAND} MATCH PATTERN (
      /*+ CEP_MAX_PARTIAL_MATCHES(100000) */ SEQ(A a, B b, C c) ORDER BY ts)"""
    with pytest.raises(
        PySparkException, match=r"CEP_LIMIT_PARTIAL_MATCHES.*More than 100000 partial matches"
    ) as caught:
        spark.sql(query).collect()
    text = str(caught.value)
    assert "of them over" in text
    assert "add WITHIN, or add PARTITION BY" in text
    assert "or add a predicate between" in text


@pytest.mark.parametrize(
    ("engine", "negation"),
    [("chain", "post"), ("tree", "first"), ("stack", "auto")],
)
def test_engines_and_ways_of_negation_are_asked_for_by_hints(spark: SparkSession, engine: str, negation: str) -> None:
    query = f"""SELECT a.ts, b.ts, c.ts FROM (VALUES (1, 'A'), (2, 'N'), (3, 'A'), (4, 'B'), (5, 'N'), (6, 'C'), (7, 'C'))
      AS t(ts, type) MATCH PATTERN (/*+ CEP_ENGINE({engine}), CEP_NEGATION({negation}) */
      SEQ(A a, NOT N n, B b, C c) ORDER BY ts WITHIN 10)"""
    assert sorted(map(tuple, spark.sql(query).collect())) == [(3, 4, 6), (3, 4, 7)]
