"""Aggregates that Spark knows and sparkcep does not: Python ones that a user registered, and built-in ones without a name here."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

from sparkcep.errors import CepError
from tests.sql.cases import Case, check, parametrize


@pytest.fixture(scope="module", autouse=True)
def functions(spark: SparkSession) -> Iterator[None]:
    @pandas_udf("double")  # type: ignore[call-overload]
    def weighted(values: pd.Series, weights: pd.Series) -> float:
        return float((values * weights).sum() / weights.sum())

    @pandas_udf("string")  # type: ignore[call-overload]
    def path(values: pd.Series) -> str:
        return "-".join(map(str, values))

    names = {"weighted": weighted, "path": path, "one_more": lambda x: x + 1}
    for name, function in names.items():
        spark.udf.register(name, function, *(["int"] if name == "one_more" else []))
    yield
    for name in names:
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")


def falls(measures: str, rest: str = "") -> str:
    """Runs of two rows and a fall behind them; no PARTITION BY."""
    return f"""SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES {measures} {rest} PATTERN (a{{2}} b?) SUBSET ab = (a, b)
      DEFINE b AS price < PREV(price))"""


CASES = [
    Case(
        "a_variable_a_subset_the_match",
        falls("weighted(a.price, a.ts) AS w, path(ab.price) AS s, path(price) AS p, path(b.price) AS b, sum(a.price) AS t"),
        [
            (32 / 3, "12-10-9", "12-10-9", "9", 22),
            (109 / 9, "11-13-12", "11-13-12", "12", 24),
            (136 / 15, "8-10-5", "8-10-5", "5", 18),
            (4.8, "6-4", "6-4", None, 10),
        ],
    ),
    Case(
        "inside_other_functions",
        falls("round(weighted(a.price, 1), 1) + one_more(sum(a.price)) AS r, one_more(one_more(a.ts)) AS t"),
        [(34.0, 4), (37.0, 7), (28.0, 10), (16.0, 5)],
    ),
    Case(
        "running_and_final",
        """SELECT ts, p, f FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES path(a.price) AS p, FINAL path(a.price) AS f
             ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (b a{2}) DEFINE b AS price < PREV(price) AND sym = 'A')
           WHERE sym = 'A' AND ts < 5""",
        [(1, None, None), (2, None, "9-11"), (3, "9", "9-11"), (4, "9-11", "9-11")],
    ),
    Case(
        "of_the_system",
        falls("bitmap_count(bitmap_construct_agg(a.price)) AS n, system.builtin.sum(a.ts) AS s, system.session.path(a.ts) AS p"),
        [(2, 3, "1-2"), (2, 9, "4-5"), (2, 15, "7-8"), (2, 5, "2-3")],
    ),
    Case(
        "over_a_window_with_a_pattern",
        """SELECT ts, path(price) OVER w, weighted(price, ts) OVER w, s OVER w, count(*) OVER w FROM ticks WHERE sym = 'B'
             WINDOW w AS (ORDER BY ts MEASURES path(b.price) AS s ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (a b+)
               DEFINE b AS price <> PREV(price) + 1)""",
        [(1, None, None, None, 0), (2, "6-4-7", 52 / 9, "4-7", 3), (3, None, None, None, 0), (4, None, None, None, 0)],
    ),
    Case("classifiers", falls("path(CLASSIFIER()) AS p, path(MATCH_NUMBER()) AS n"), [("a-a-b", f"{i}-{i}-{i}") for i in (1, 2, 3)] + [("a-a", "4-4")]),
]  # fmt: skip


@parametrize(CASES)
def test_user_aggregates(spark: SparkSession, case: Case) -> None:
    check(spark, case)


REFUSED = {
    "weighted(a.price, b.ts) AS w": "CEP_ANALYSIS_MIXED_VARIABLES",
    "path(weighted(a.price, a.ts)) AS w": "CEP_ANALYSIS_NESTED_NAVIGATION",
    "path(sum(a.price)) AS w": "CEP_ANALYSIS_NESTED_NAVIGATION",
    "path(a.price) FILTER (WHERE a.ts > 1) AS w": "CEP_ANALYSIS_EXPRESSION",
}


@pytest.mark.parametrize(("measure", "code"), REFUSED.items(), ids=list(REFUSED))
def test_refused(spark: SparkSession, measure: str, code: str) -> None:
    with pytest.raises(CepError) as raised:
        spark.sql(falls(measure))
    assert raised.value.code == code


def test_refused_in_define(spark: SparkSession) -> None:
    with pytest.raises(CepError, match="the aggregate path in DEFINE") as raised:
        spark.sql("SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b) DEFINE b AS path(a.price) > '')")
    assert raised.value.code == "CEP_UNSUPPORTED_AGGREGATE"


def test_a_function_that_becomes_an_aggregate(spark: SparkSession) -> None:
    """A statement that is kept is looked at again where the function is another one."""
    text = falls("turncoat(a.price) AS t")
    spark.udf.register("turncoat", lambda x: str(x), "string")
    try:
        assert sorted(row.t for row in spark.sql(text).collect()) == ["10", "10", "13", "4"]
        spark.sql("DROP TEMPORARY FUNCTION turncoat")
        spark.udf.register("turncoat", _joined())
        assert sorted(row.t for row in spark.sql(text).collect()) == ["11+13", "12+10", "6+4", "8+10"]
    finally:
        spark.sql("DROP TEMPORARY FUNCTION turncoat")


def _joined() -> object:
    @pandas_udf("string")  # type: ignore[call-overload]
    def joined(values: pd.Series) -> str:
        return "+".join(map(str, values))

    return joined
