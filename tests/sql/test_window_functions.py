"""Window functions in DEFINE: inside the partition and the clause's order, beside all that conditions may hold."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.sql.cases import Case, check, parametrize


def hits(condition: str, order: str = "ts", pattern: str = "a+", more: str = "") -> str:
    return f"""SELECT * FROM ticks t MATCH_RECOGNIZE (PARTITION BY t.sym ORDER BY {order} MEASURES array_agg(ts) AS w PATTERN ({pattern})
      DEFINE a AS {condition}{more})"""


def by_hand(column: str, condition: str) -> str:
    """The same from a column of the input."""
    return f"""SELECT * FROM (SELECT *, {column} AS c FROM ticks) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES array_agg(ts) AS w
      PATTERN (a+) DEFINE a AS {condition})"""


CASES = [
    Case("whole_partition", hits("price > avg(price) OVER ()"), [("A", [1]), ("A", [4, 5, 6]), ("B", [2]), ("B", [4])]),
    Case(
        "rows_in_the_clause_s_order",
        hits("a.price > avg(a.price) OVER (ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AND row_number() OVER () > 1", "ts DESC"),
        [("A", [6, 5]), ("A", [1]), ("B", [2])],
    ),
    Case(
        "beside_another_variable_and_inside_prev",
        hits("avg(price) OVER (ROWS 1 PRECEDING) > b.price - 2 AND PREV(count(*) OVER (ROWS UNBOUNDED PRECEDING)) < 6", pattern="b a+"),
        [("A", [1, 2]), ("A", [3, 4, 5, 6]), ("B", [1, 2, 3, 4])],
    ),
    Case(
        "filter_ignore_nulls_first_on_the_slow_path",
        hits("sum(price) FILTER (WHERE ts < 3) OVER () = 22 AND lag(price) IGNORE NULLS OVER () >= first(price) OVER () - 2 "
             "AND concat(max(price) OVER (), b.price) = '1312'", pattern="b a+"),
        [("A", [1, 2, 3]), ("A", [6, 7])],
    ),
    Case("of_an_expression", hits("(SELECT 1) = 1 AND ts = max(ts * 2) OVER (ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) / 2"), [("A", [8]), ("B", [4])]),
]  # fmt: skip


@parametrize(CASES)
def test_window_functions(spark: SparkSession, case: Case) -> None:
    check(spark, case)


def test_as_a_column_of_the_input(spark: SparkSession) -> None:
    frame = "ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING"
    inside = spark.sql(hits(f"price >= avg(price) OVER ({frame})")).collect()
    column = f"avg(price) OVER (PARTITION BY sym ORDER BY ts {frame})"
    assert sorted(inside) == sorted(spark.sql(by_hand(column, "price >= c")).collect())
