"""CLASSIFIER(), MATCH_NUMBER() and MATCH_SEQUENCE_NUMBER() inside navigations and aggregates; decimals of many digits beside other rows."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import CepError
from tests.sql.cases import Case, check, parametrize

DECIMALS = "(SELECT *, CAST(price AS DECIMAL(30, 20)) / 7 AS d FROM ticks)"


def measures(text: str, rest: str = "PATTERN (a b{2})") -> str:
    return f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES {text} {rest})"


def matches(condition: str, table: str = "ticks", pattern: str = "a b+") -> str:
    return f"""SELECT * FROM {table} MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS s, LAST(ts) AS e
      PATTERN ({pattern}) DEFINE b AS {condition})"""


MEASURES = [
    Case(
        "aggregates",
        measures(
            "array_agg(MATCH_SEQUENCE_NUMBER()) AS n, array_agg(CLASSIFIER(b) || b.ts || MATCH_SEQUENCE_NUMBER()) AS c, "
            "max(MATCH_NUMBER() * 20 - ts) AS m, max(CLASSIFIER()) AS k, max_by(MATCH_NUMBER(), CLASSIFIER()) AS b"
        ),
        [
            ("A", [1, 2, 3], ["b22", "b33"], 19, "b", 1),
            ("A", [1, 2, 3], ["b52", "b63"], 36, "b", 2),
            ("B", [1, 2, 3], ["b22", "b33"], 19, "b", 1),
        ],
    ),
    Case(
        "navigations",
        measures(
            "LAST(CLASSIFIER() || sym) AS l, FIRST(MATCH_NUMBER() + ts, 2) AS f, PREV(FIRST(MATCH_SEQUENCE_NUMBER(), 1)) AS s, "
            "PREV(COALESCE(CLASSIFIER(), '-') || ts, 3) AS p, LAST(b.ts * 10 + MATCH_SEQUENCE_NUMBER(), 1) AS b, LAST(COALESCE(CLASSIFIER(), 'x'), 3) AS no"
        ),
        [("A", "bA", 4, 1, None, 22, None), ("A", "bA", 8, 1, "-3", 52, None), ("B", "bB", 4, 1, None, 22, None)],
    ),
    Case(
        "running_and_final",
        "SELECT ts, n, f, g FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES array_agg(MATCH_SEQUENCE_NUMBER()) AS n, "
        "FINAL LAST(CLASSIFIER() || ts) AS f, FIRST(CLASSIFIER() || ts, 1) AS g ALL ROWS PER MATCH PATTERN (a b{2})) WHERE sym = 'B'",
        [(1, [1], "b3", None), (2, [1, 2], "b3", "b2"), (3, [1, 2, 3], "b3", "b2")],
    ),
]  # fmt: skip
DEFINES = [
    Case("greatest_classifier", matches("max(CLASSIFIER()) = 'b' AND ts < 4"), [("A", 1, 3), ("B", 1, 3)]),
    Case("arithmetic", matches("max(MATCH_NUMBER() * 2 - ts) > -3"), [("A", 1, 8), ("B", 1, 4)]),
    Case("least_of_arithmetic", matches("min(MATCH_NUMBER() * 2 - ts) > -1"), [("A", 1, 2), ("A", 3, 4), ("A", 5, 6), ("A", 7, 8), ("B", 1, 2), ("B", 3, 4)]),
    Case("list_of_numbers", matches("array_agg(MATCH_SEQUENCE_NUMBER()) IN (array(1, 2), array(1, 2, 3))"), [("A", 1, 3), ("A", 4, 6), ("A", 7, 8), ("B", 1, 3)]),
    Case("by_classifier", matches("max_by(ts * MATCH_NUMBER(), CLASSIFIER()) < 8"), [("A", 1, 7), ("B", 1, 4)]),
    Case("filter", matches("count(*) FILTER (WHERE CLASSIFIER() = 'b') < 3 AND count(b.ts) FILTER (WHERE CLASSIFIER() <> 'a') > 0"),
         [("A", 1, 3), ("A", 4, 6), ("A", 7, 8), ("B", 1, 3)]),
    Case("filter_of_a_variable", matches("count(*) FILTER (WHERE b.price > 0) < 3"), [("A", 1, 3), ("A", 4, 6), ("A", 7, 8), ("B", 1, 3)]),
    Case("totals", matches("sum(CASE WHEN CLASSIFIER() = 'b' THEN price END) < 22 AND avg(price + MATCH_NUMBER()) > 6 AND count(DISTINCT CLASSIFIER()) = 2"),
         [("A", 1, 3), ("A", 4, 5), ("A", 6, 8), ("B", 1, 2), ("B", 3, 4)]),
    Case("others", matches("listagg(CLASSIFIER() || ts, '-') LIKE 'a%' AND stddev(ts * MATCH_NUMBER()) < 1 AND bool_and(CLASSIFIER() = 'a' OR ts < 4)"),
         [("A", 1, 2), ("B", 1, 2)]),
    Case("navigation", matches("LAST(CLASSIFIER() || sym, 1) IN ('aA', 'bA') AND FIRST(MATCH_NUMBER() + ts, 1) < 7"), [("A", 1, 8)]),
    Case("navigation_out_of_the_match", matches("PREV(COALESCE(CLASSIFIER(), '-') || ts, 2) IS NULL OR PREV(CLASSIFIER() || ts, 2) = 'a1'"), [("A", 1, 3), ("B", 1, 3)]),
    Case("wide_decimals", matches("b.d > a.d", DECIMALS), [("A", 3, 6), ("A", 7, 8), ("B", 1, 2), ("B", 3, 4)]),
    Case("wide_decimals_in_aggregates", matches("sum(b.d) < 3.3 AND avg(d) > 1 AND max(d) - min(d) < 0.5 AND sum(d) FILTER (WHERE ts > 5) IS NULL", DECIMALS),
         [("A", 1, 3), ("A", 4, 5)]),
    Case("wide_decimals_distinct", matches("avg(DISTINCT d) > 1.5 AND count(d) < 5", DECIMALS), [("A", 1, 2), ("A", 4, 7)]),
]  # fmt: skip


@parametrize(MEASURES + DEFINES)
def test_engine_values(spark: SparkSession, case: Case) -> None:
    check(spark, case)


@pytest.mark.parametrize("text", ["LAST(CLASSIFIER(a) || b.sym)", "max(MATCH_NUMBER() + a.ts + b.ts)"])
def test_of_two_variables(spark: SparkSession, text: str) -> None:
    with pytest.raises(CepError, match="only one variable"):
        spark.sql(measures(f"{text} AS x"))
