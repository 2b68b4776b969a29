"""What queries of other engines bring along: their functions, parameters in quantifiers, pipes; subqueries and outer columns in MEASURES."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepError
from tests.sql.cases import Case, check, parametrize

FALLS = "MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a b+) DEFINE b AS price < PREV(price))"


def measures(text: str, pattern: str = "a b{2}") -> str:
    return f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES {text} PATTERN ({pattern}))"


def counted(pattern: str, condition: str = "price <= LAG(price)") -> str:
    return f"""SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS s, COUNT(*) AS n PATTERN ({pattern})
      DEFINE b AS {condition})"""


FUNCTIONS = [
    Case("lag_and_lead", counted("a b+", "price <= LAG(b.price) AND LEAD(price, 1) > 0"), [("A", 1, 3), ("A", 5, 3), ("B", 2, 2)]),
    Case("lag_in_measures", measures("LAG(FIRST(ts, 1)) AS f, LEAD(ts) AS n, LAG(ts, 2) AS b"), [("A", 1, 4, 1), ("A", 4, 7, 4), ("B", 1, 4, 1)]),
    Case(
        "lag_over_a_window_is_spark_s", counted("a b+", "price < LAG(price) OVER () AND LAG(price) > 10"), [("A", 1, 2), ("A", 5, 3)]
    ),
    Case("row_time", measures("MATCH_ROWTIME() AS t, MATCH_ROWTIME(a.price) AS p"), [("A", 3, 12), ("A", 6, 11), ("B", 3, 5)]),
    Case(
        "row_time_of_all_rows",
        "SELECT ts, t FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES MATCH_ROWTIME() AS t ALL ROWS PER MATCH PATTERN (a{3})) WHERE sym = 'B'",
        [(1, 3), (2, 3), (3, 3)],
    ),
    Case("row_number", measures("array_agg(MATCH_ROW_NUMBER()) AS n, MATCH_ROW_NUMBER() AS l"), [("A", [1, 2, 3], 3), ("A", [1, 2, 3], 3), ("B", [1, 2, 3], 3)]),
    Case(
        "aggregates",
        measures("COUNTIF(price > 10) AS c, LOGICAL_AND(price > 4) AS e, LOGICAL_OR(b.price > 12) AS o, APPROX_DISTINCT(sym) AS d"),
        [("A", 1, True, False, 1), ("A", 3, True, True, 1), ("B", 0, False, False, 1)],
    ),
    Case("arbitrary", measures("ARBITRARY(a.price) AS x, STRING_AGG(CLASSIFIER(), '') AS s"), [("A", 12, "abb"), ("A", 11, "abb"), ("B", 5, "abb")]),
]  # fmt: skip
PARAMETERS = [
    Case("named", counted("a b{:n,}"), [("A", 1, 3), ("A", 5, 3)], {"n": 2}),
    Case("positional", counted("a? b{?,5}? c{1,?}", "price <= ?"), [("A", 1, 4), ("A", 6, 3), ("B", 1, 4)], [1, 2, 10]),
    Case("both_bounds", counted("a b{:n, :n}"), [("A", 1, 2), ("A", 5, 2), ("B", 2, 2)], {"n": 1}),
    Case(
        "of_an_event_pattern",
        "SELECT match_end, size(k) FROM clicks MATCH PATTERN (SEQ(View v, ANY{:k} k) PARTITION BY user ORDER BY ts WHERE v.ts = 1 WITHIN 5)",
        [(3, 2), (4, 2), (4, 2)],
        {"k": 2},
    ),
]  # fmt: skip
PIPES = [
    Case("a_table", f"FROM ticks |> {FALLS} AS m |> WHERE m.n > 2 |> EXTEND n + 1 AS k", [("A", 3, 4), ("A", 3, 4)]),
    Case("of_one_character", f"FROM ticks | {FALLS} AS m | WHERE m.n | 1 > 2 | EXTEND n + 1 AS k", [("A", 3, 4), ("A", 3, 4), ("B", 2, 3)]),
    Case("a_query", f"FROM ticks t |> WHERE ts > 2 |> {FALLS} |> AGGREGATE sum(n) AS s GROUP BY sym", [("A", 3)]),
    Case("one_after_the_other", f"FROM ticks AS x |> {FALLS} |> MATCH_RECOGNIZE (ORDER BY sym, n MEASURES COUNT(*) AS c PATTERN (q q q))", [(3,)]),
    Case("behind_with", f"WITH c AS (SELECT * FROM ticks WHERE ts < 4) FROM c |> {FALLS}", [("A", 3), ("B", 2)]),
    Case("in_a_subquery", f"SELECT max(n) FROM (SELECT * FROM ticks WHERE sym = 'A' |> {FALLS}) z", [(3,)]),
    Case(
        "a_union",
        "SELECT * FROM ticks WHERE ts < 3 UNION ALL SELECT * FROM ticks WHERE ts > 6 |> MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts "
        "MEASURES COUNT(*) AS n PATTERN (a+ $))",
        [("A", 4), ("B", 2)],
    ),
    Case("events", "FROM clicks |> MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts) |> SELECT user, v.item, b.amount",
         [("u1", "x", 30), ("u1", "x", 50), ("u1", "y", 50), ("u2", "x", 8)]),
    Case("events_counted", "FROM clicks |> MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts) |> AGGREGATE COUNT(*) AS n GROUP BY user", [("u1", 3), ("u2", 1)]),
]  # fmt: skip
QUERIES = [
    Case("own_columns", measures("(SELECT max(price) FROM ticks) AS v, ts - (SELECT min(x.ts) FROM ticks x) AS d"), [("A", 13, 2), ("A", 13, 5), ("B", 13, 2)]),
    Case(
        "columns_of_the_match",
        measures("(SELECT max(name) FROM names n WHERE n.sym = a.sym) AS n, (SELECT max(name) FROM (SELECT sym AS s, name FROM names) z WHERE s = sym AND ts > 0) AS m"),
        [("A", "Alpha", "Alpha"), ("A", "Alpha", "Alpha"), ("B", "Beta", "Beta")],
    ),
    Case(
        "a_table_of_a_variable_s_name",
        measures("EXISTS (SELECT 1 FROM names a WHERE a.sym = 'C') AS e, (SELECT count(*) FROM names WHERE names.sym = sym) AS k"),
        [("A", True, 3), ("A", True, 3), ("B", True, 3)],
    ),
    Case("inside_aggregates", measures("stddev_pop((SELECT max(ts) FROM ticks) + b.price) AS s, max((SELECT max(ts) FROM ticks)) AS m"), [("A", 0.5, 8), ("A", 0.5, 8), ("B", 1.0, 8)]),
    Case(
        "outer_columns_of_a_lateral_join",
        "SELECT n.sym, m.sym, w FROM names n, LATERAL (SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts "
        "MEASURES a.price + length(n.name) AS w PATTERN (a{4}))) m WHERE m.sym = 'B'",
        [("A", "B", 12), ("B", "B", 11), ("C", "B", 12)],
    ),
    Case(
        "outer_columns_of_a_scalar_subquery",
        "SELECT name, (SELECT max(k) FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES concat(n.sym, LAST(ts)) AS k PATTERN (a{4})) m "
        "WHERE m.sym = n.sym) FROM names n",
        [("Alpha", "A8"), ("Beta", "B4"), ("Gamma", None)],
    ),
]  # fmt: skip


@parametrize(FUNCTIONS + PARAMETERS + PIPES + QUERIES)
def test_vendors(spark: SparkSession, case: Case) -> None:
    check(spark, case)


@pytest.fixture
def own_arbitrary(spark: SparkSession) -> Iterator[None]:
    spark.sql("CREATE TEMPORARY FUNCTION arbitrary(x INT) RETURNS INT RETURN x * 100")
    yield
    spark.sql("DROP TEMPORARY FUNCTION arbitrary")


def test_a_function_of_the_user_s_own(spark: SparkSession, own_arbitrary: None) -> None:
    assert [row.x for row in spark.sql(measures("arbitrary(LAST(price)) AS x", "a{4} $")).collect()] == [1000, 700]


def test_another_parameter(spark: SparkSession) -> None:
    """A kept rewrite is for one value only."""
    text = counted("a b{:n}")
    assert [spark.sql(text, {"n": n}).count() for n in (1, 2, 1, 3)] == [3, 2, 3, 0]


@pytest.mark.parametrize(
    ("value", "message"),
    [("x", "is 'x'"), (None, "is None"), (-1, "whole number, zero or more"), (1.5, "whole number")],
)
def test_no_number(spark: SparkSession, value: object, message: str) -> None:
    with pytest.raises(CepError, match=message) as raised:
        spark.sql(counted("a b{:n}"), {"n": value})
    assert raised.value.code == "CEP_ANALYSIS_PARAMETER"


def test_explained(spark: SparkSession) -> None:
    text = str(sparkcep.explain(measures("MATCH_ROWTIME() AS t, LAG(ts) AS l"), spark))
    assert "MATCH_ROWTIME() as FINAL LAST(ts) (Flink)" in text
    assert "LAG(ts) as PREV (Snowflake)" in text
