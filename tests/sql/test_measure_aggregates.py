"""Aggregates in MEASURES that Spark computes from the engine's rows: any function, DISTINCT, FILTER, CLASSIFIER, RUNNING and FINAL."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.sql.cases import Case, check, parametrize

HITS = """(SELECT *, ts * INTERVAL '1' MONTH AS m FROM VALUES ('p', 1, 'x', 1.0D), ('p', 2, 'y', 3.0D), ('p', 3, 'y', NULL), ('p', 4, 'z', 4.0D), ('q', 1, 'a', 2D),
  ('q', 2, 'b', 1D) AS t(k, ts, s, v))"""


def hits(measures: str, rest: str = "PATTERN (a b*)", shown: str = "*") -> str:
    return f"SELECT {shown} FROM {HITS} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {measures} {rest} DEFINE a AS v < 3)"


ONE_ROW = [
    "stddev_pop(b.v) AS deviation",
    "max_by(b.s, b.v) AS best",
    "count_if(v > 1) AS many",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FILTER (WHERE s <> 'x') AS middle",
    "sort_array(collect_set(b.s)) AS names",
    "count(DISTINCT b.s, b.v) AS pairs",
    "every(b.v > 1) AS high",
    "listagg(CLASSIFIER(), '') AS path",
    "count(DISTINCT u.s) + LAST(ts) AS sum",
    "array_join(array_agg(CLASSIFIER(b)), '-') AS bs",
    "SUM(INTERVAL '1' DAY * b.ts) > INTERVAL '5' DAY AS long",
    "mean(DISTINCT b.ts) AS mean",
    "any_value(b.v) IGNORE NULLS AS some",
    "SUM(m) = INTERVAL '10' MONTH AS months",
]
CASES = [
    Case(
        "one_row",
        hits(", ".join(ONE_ROW), "PATTERN (a b*) SUBSET u = (a, b)"),
        [
            ("p", 0.5, "z", 2, 3.5, ["y", "z"], 2, True, "abbb", 7, "b-b-b", True, 3.0, 3.0, True),
            ("q", 0.0, "b", 1, 1.5, ["b"], 1, False, "ab", 4, "b", False, 2.0, 1.0, False),
        ],
    ),
    Case(
        "of_arrays_and_structs",
        hits(
            "max(struct(v, s)).s AS m, min(array(b.ts, 0)) AS l, count(DISTINCT array(s)) AS n, max(NULL) AS z",
            "PATTERN (a b*)",
        ),
        [("p", "z", [2, 0], 3, None), ("q", "a", [2, 0], 2, None)],
    ),
    Case(
        "of_the_match_number",
        hits(
            "sum(10 * MATCH_NUMBER() + a.ts) AS s, max(MATCH_NUMBER()) AS n, array_agg(CLASSIFIER() || MATCH_NUMBER()) AS l",
            "PATTERN (a)",
        ),
        [("p", 11, 1, ["a1"]), ("q", 11, 1, ["a1"]), ("q", 22, 2, ["a2"])],
    ),
    Case(
        "filtered_by_what_an_engine_knows",
        hits(
            "count(*) FILTER (WHERE CLASSIFIER() = 'b') AS n, array_agg(ts) FILTER (WHERE CLASSIFIER() <> 'b') AS l, "
            "sum(ts) FILTER (WHERE MATCH_NUMBER() = 1) AS t, count(b.*) FILTER (WHERE CLASSIFIER(b) = 'b' AND v > 3) AS h, "
            "max(s) FILTER (WHERE MATCH_SEQUENCE_NUMBER() < 3) AS m, count() FILTER (WHERE CLASSIFIER() = 'a') AS c, "
            "count(*) FILTER (WHERE b.v > 0) AS z"
        ),
        [("p", 3, [1], 10, 1, "y", 1, 2), ("q", 1, [1], 3, 0, "b", 1, 1)],
    ),
    Case(
        "running_final_and_unmatched",
        hits(
            "variance(v) AS var, FINAL listagg(u.s) AS all, count_if(b.v > 1) AS high",
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a b {0,1} c) SUBSET u = (a, b)",
            "k, ts, var, all, high",
        ),
        [
            *[("p", 1, None, "xy", 0), ("p", 2, 2.0, "xy", 1), ("p", 3, 2.0, "xy", 1), ("p", 4, None, None, None)],
            *[("q", 1, None, "a", 0), ("q", 2, 0.5, "a", 0)],
        ],
    ),
]


@pytest.mark.spark
@parametrize(CASES)
def test_aggregates(spark: SparkSession, case: Case) -> None:
    check(spark, case)


def test_rows_outside_of_matches_have_no_measures(spark: SparkSession) -> None:
    """Whatever their expressions are of NULLs; an empty match has them."""
    measures = (
        "'hit' AS tag, COUNT(*) AS n, COALESCE(COUNT(*), 9) AS c, a.x IS NULL AS e, COALESCE(listagg(a.x), '-') AS l"
    )
    rows = "VALUES (1, 1), (2, 5) AS t(ts, x)"
    clause = f"ORDER BY ts MEASURES {measures} ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN ({{pattern}}) DEFINE a AS x > 3"
    found = spark.sql(f"SELECT * FROM {rows} MATCH_RECOGNIZE ({clause.format(pattern='a')})").collect()
    assert sorted(found) == [(1, None, None, None, None, None, 1), (2, "hit", 1, 1, False, "5", 5)]
    found = spark.sql(f"SELECT * FROM {rows} MATCH_RECOGNIZE ({clause.format(pattern='a?')})").collect()
    assert sorted(found) == [(1, "hit", 0, 0, True, "-", 1), (2, "hit", 1, 1, False, "5", 5)]
