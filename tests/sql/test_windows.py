"""Row patterns in windows inside everything that may stand around them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepSyntaxError, CepUnsupportedError
from tests.sql.cases import Case, assert_rows, check, parametrize
from tests.sql.test_aseq import setting

FRAME = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
V = "PATTERN (strt down+ up+) DEFINE down AS price < PREV(price), up AS price > PREV(price)"
MEASURES = "MEASURES LAST(down.price) AS low, COUNT(*) AS n"
W = f"(PARTITION BY sym ORDER BY ts {MEASURES} {FRAME} {V})"
"""A: 12 10 9 11 13 | 12 8 10; B: 5 | 6 4 7."""
FALLING = f"{FRAME} AFTER MATCH SKIP TO NEXT ROW PATTERN (a down*) DEFINE down AS price < PREV(price)"
"""Of every row the falling rows from it on."""

CASES = [
    Case(
        "measures and functions",
        f"""SELECT sym, ts, low OVER w, n OVER w, count(*) OVER w, sum(price) OVER w, first_value(price) OVER w, array_agg(price) OVER w
            FROM ticks WHERE sym = 'B' WINDOW w AS {W}""",
        [
            ("B", 1, None, None, 0, None, None, []),
            ("B", 2, 4, 3, 3, 17, 6, [6, 4, 7]),
            ("B", 3, None, None, 0, None, None, []),
            ("B", 4, None, None, 0, None, None, []),
        ],
    ),
    Case(
        "before a pipe",
        f"SELECT ts, n OVER w AS n FROM ticks WINDOW w AS {W} |> WHERE n > 0",
        [(1, 5), (6, 3), (2, 3)],
    ),
    Case(
        "all columns but some, before a pipe of one character",
        f"SELECT * EXCEPT (sym, price), n OVER w AS n FROM ticks WINDOW w AS {W} | WHERE n | 0 > 0",
        [(1, 5), (6, 3), (2, 3)],
    ),
    Case(
        "before a clause behind a pipe",
        f"""SELECT ts, n OVER w AS n FROM ticks WHERE sym = 'B' WINDOW w AS {W}
            |> MATCH_RECOGNIZE (ORDER BY ts MEASURES a.n AS n PATTERN (a) DEFINE a AS n > 0)""",
        [(3,)],
    ),
    Case(
        "a parameter in a quantifier",
        f"SELECT ts, count(*) OVER (ORDER BY ts {FRAME} PATTERN (a{{:n}})) FROM ticks WHERE sym = 'B'",
        [(1, 2), (2, 0), (3, 2), (4, 0)],
        {"n": 2},
    ),
    Case(
        "subqueries with tables of their own",
        f"""SELECT ts, n OVER w FROM ticks WHERE ticks.sym = 'B' WINDOW w AS (ORDER BY ticks.ts MEASURES
            (SELECT max(k.ts) FROM ticks k WHERE k.price = b.price) AS n {FRAME}
            PATTERN (a b) DEFINE b AS EXISTS (SELECT 1 FROM ticks WHERE ticks.price = b.price + 1))""",
        [(1, 2), (2, None), (3, 4), (4, None)],
    ),
    Case(
        "to the next row",
        f"SELECT ts, count(*) OVER (ORDER BY ts {FALLING}) FROM ticks WHERE sym = 'A'",
        [(1, 3), (2, 2), (3, 1), (4, 1), (5, 3), (6, 2), (7, 1), (8, 1)],
    ),
    Case(
        "Spark's other aggregates",
        f"""SELECT ts, avg(price) OVER w, count(DISTINCT price) OVER w, sum(price) FILTER (WHERE price > 9) OVER w,
                   max_by(ts, price) OVER w, collect_set(sym) OVER w, any_value(price) OVER w, count_if(price > 9) OVER w
            FROM ticks WHERE sym = 'A' AND ts > 4 WINDOW w AS (ORDER BY ts {FALLING})""",
        [
            (5, 11.0, 3, 25, 5, ["A"], 13, 2), (6, 10.0, 2, 12, 6, ["A"], 12, 1),
            (7, 8.0, 1, None, 7, ["A"], 8, 0), (8, 10.0, 1, 10, 8, ["A"], 10, 1),
        ],
    ),
    Case(
        "values in a place, with NULLs and without",
        f"""SELECT ts, nth_value(x, 2) OVER w, first_value(x) OVER w, last_value(x) OVER w, first_value(x) IGNORE NULLS OVER w,
                   last_value(x, true) OVER w, first(x) OVER w, last(x) IGNORE NULLS OVER w, nth_value(x, 2) IGNORE NULLS OVER w
            FROM (SELECT ts, NULLIF(price, 10) AS x, price FROM ticks WHERE sym = 'A' AND ts < 4) WINDOW w AS (ORDER BY ts {FALLING})""",
        [(1, None, 12, 9, 12, 9, 12, 9, 9), (2, 9, None, 9, 9, 9, None, 9, None), (3, None, 9, 9, 9, 9, 9, 9, None)],
    ),
    Case(
        "functions of the row's place ignore the frame",
        f"""SELECT ts, row_number() OVER w, rank() OVER w, lag(price) OVER w, lead(price, 2, 0) OVER w, ntile(2) OVER w, count(*) OVER w
            FROM ticks WHERE sym = 'B' WINDOW w AS {W}""",
        [(1, 1, 1, None, 4, 1, 0), (2, 2, 2, 5, 7, 1, 3), (3, 3, 3, 6, 0, 2, 0), (4, 4, 4, 4, 0, 2, 0)],
    ),
    Case(
        "inside expressions, beside columns and ordinary windows",
        f"""SELECT ts, coalesce(low OVER w, -1) + price AS x, upper(sym) u, max(price) OVER (PARTITION BY sym) AS m, sum(price) OVER p AS s
            FROM ticks WHERE sym = 'B' WINDOW p AS (ORDER BY ts), w AS {W}""",
        [(1, 4, "B", 7, 5), (2, 10, "B", 7, 11), (3, 3, "B", 7, 15), (4, 6, "B", 7, 22)],
    ),
    Case(
        "several windows, one built on another",
        f"""SELECT ts, n OVER w, count(*) OVER v, count(*) OVER (p {FALLING}) FROM ticks WHERE sym = 'B'
            WINDOW p AS (PARTITION BY sym ORDER BY ts), w AS (p {MEASURES} {FRAME} {V}),
              v AS (PARTITION BY sym ORDER BY ts DESC ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP TO NEXT ROW SEEK
                    PATTERN (x+) DEFINE x AS price > 5)""",
        [(1, None, 0, 1), (2, 3, 1, 2), (3, None, 1, 1), (4, None, 1, 1)],
    ),
    Case(
        "the same inline window twice is one",
        f"SELECT ts, low OVER {W} + n OVER {W} FROM ticks WHERE sym = 'B'",
        [(1, None), (2, 7), (3, None), (4, None)],
    ),
    Case(
        "joined tables, qualified names, a name of both",
        f"""SELECT t.sym, n.name, t.price - first_value(t.price) OVER w AS d, count(n.name) OVER w
            FROM ticks t JOIN names n ON t.sym = n.sym WHERE t.sym = 'B'
            WINDOW w AS (PARTITION BY t.sym ORDER BY t.ts {MEASURES} {FRAME} PATTERN (strt down+ up+)
                         DEFINE down AS t.price < PREV(t.price), up AS up.price > PREV(price)) ORDER BY d NULLS LAST, t.ts LIMIT 2""",
        [("B", "Beta", 0, 3), ("B", "Beta", None, 0)],
    ),
    Case(
        "a star, of one table and of two",
        f"SELECT *, n OVER w AS n FROM ticks t JOIN names m ON t.sym = m.sym WHERE t.ts = 2 WINDOW w AS (ORDER BY t.sym MEASURES COUNT(*) AS n {FRAME} PATTERN (strt))",
        [("A", 2, 10, "A", "Alpha", 1), ("B", 2, 6, "B", "Beta", 1)],
    ),
    Case(
        "a table's star",
        f"SELECT m.*, n OVER w AS n FROM ticks t JOIN names m USING (sym) WHERE ts = 2 WINDOW w AS (ORDER BY ts, sym MEASURES COUNT(*) AS n {FRAME} PATTERN (a))",
        [("A", "Alpha", 1), ("B", "Beta", 1)],
    ),
    Case(
        "an alias that is a pattern variable's name",
        f"SELECT ts, sum(down.price) OVER w FROM ticks down WHERE sym = 'B' WINDOW w AS {W}",
        [(1, None), (2, 17), (3, None), (4, None)],
    ),
    Case(
        "DISTINCT, ORDER BY, LIMIT",
        f"SELECT DISTINCT sym, n OVER w > 0 AS found FROM ticks WINDOW w AS {W} ORDER BY found DESC NULLS LAST, sym DESC LIMIT 2",
        [("A", True), ("B", True)],
    ),
    Case(
        "only in ORDER BY",
        f"SELECT sym, ts FROM ticks WINDOW w AS {W} ORDER BY n OVER w DESC NULLS LAST, sym LIMIT 2",
        [("A", 1), ("A", 6)],
    ),
    Case(
        "WINDOW behind ORDER BY",
        f"SELECT sym, ts FROM ticks t ORDER BY n OVER w DESC NULLS LAST, t.sym DESC -- the best\n WINDOW w AS {W} -- falls\n LIMIT 2 OFFSET 1",
        [("B", 2), ("A", 6)],
    ),
    Case(
        "WINDOW behind ORDER BY, of groups and of other windows",
        f"""SELECT sym, ts DIV 2 AS d, n OVER w AS n, sum(sum(price)) OVER v AS s FROM ticks GROUP BY sym, d
            HAVING count(*) > 1 ORDER BY sum(price) DESC, n OVER w WINDOW v AS (PARTITION BY sym), w AS (PARTITION BY sym ORDER BY d MEASURES COUNT(*) AS n {FRAME} PATTERN (a b+) DEFINE b AS d > PREV(d)) LIMIT 3""",
        [("A", 2, None, 63), ("A", 3, None, 63), ("A", 1, 3, 63)],
    ),
    Case("over no call", f"SELECT count(*) AS c FROM (SELECT sym FROM ticks WINDOW w AS {W})", [(12,)]),
    Case(
        "lateral aliases below and above",
        f"SELECT price * 2 AS p, p + 1 AS q, p + n OVER w AS r, r + 1 AS s FROM ticks WHERE sym = 'B' AND ts = 2 WINDOW w AS (ORDER BY ts MEASURES COUNT(*) AS n {FRAME} PATTERN (a))",
        [(12, 13, 13, 14)],
    ),
    Case(
        "in a CTE, over another, in a union",
        f"""WITH b AS (SELECT * FROM ticks WHERE sym = 'B'), c AS (SELECT ts, n OVER w AS n FROM b WINDOW w AS {W})
            SELECT ts, n FROM c WHERE n > 0 UNION ALL SELECT ts, n OVER w FROM b WINDOW w AS {W} ORDER BY n NULLS FIRST, ts LIMIT 4""",
        [(1, None), (3, None), (4, None), (2, 3)],
    ),
    Case(
        "over MATCH_RECOGNIZE and under it",
        f"""SELECT sym, c FROM (SELECT sym, ts, n OVER w AS n FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts ALL ROWS PER MATCH PATTERN (a))
                                WINDOW w AS {W})
            MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS c PATTERN (a z+) DEFINE a AS n > 0, z AS n IS NULL)""",
        [("A", 5), ("A", 3), ("B", 3)],
    ),
    Case(
        "a window over a window",
        f"""SELECT ts, count(*) OVER (ORDER BY ts {FRAME} PATTERN (x y*) DEFINE x AS n > 0, y AS n IS NULL) AS c
            FROM (SELECT ts, n OVER w AS n FROM ticks WHERE sym = 'B' WINDOW w AS {W})""",
        [(1, 0), (2, 3), (3, 0), (4, 0)],
    ),
    Case(
        "over grouped rows",
        f"""SELECT ts, n OVER w FROM (SELECT ts, sum(price) AS price FROM ticks GROUP BY ts HAVING ts < 5)
            WINDOW w AS (ORDER BY ts {MEASURES} {FRAME} {V})""",
        [(1, 4), (2, None), (3, None), (4, None)],
    ),
    Case(
        "conditions over the match, in a bounded frame of a length of its own",
        f"""SELECT ts, count(*) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND ts % 3 FOLLOWING AFTER MATCH SKIP TO NEXT ROW
              PATTERN (a b*) DEFINE b AS price <= FIRST(price) AND COUNT(*) <= 3) FROM ticks WHERE sym = 'A'""",
        [(1, 2), (2, 2), (3, 1), (4, 1), (5, 3), (6, 1), (7, 1), (8, 1)],
    ),
    Case(
        "parameters, and a question mark that is none",
        f"SELECT ts, n OVER w FROM ticks WHERE sym = ? WINDOW w AS (ORDER BY ts {MEASURES} {FRAME} PATTERN (strt down? up) DEFINE down AS price < ?, up AS price > ?)",
        [(1, 3), (2, None), (3, None), (4, None)],
        args=["B", 7, 3],
    ),
    Case(
        "named parameters",
        f"SELECT ts, n OVER w FROM ticks WHERE sym = :s WINDOW w AS (ORDER BY ts MEASURES COUNT(*) AS n ROWS BETWEEN CURRENT ROW AND :n FOLLOWING PATTERN (a+))",
        [(1, 2), (2, None), (3, 2), (4, None)],
        args={"s": "B", "n": 1},
    ),
    Case(
        "WITHIN",
        f"SELECT ts, n OVER w FROM ticks WHERE sym = 'B' WINDOW w AS (ORDER BY ts MEASURES COUNT(*) AS n {FRAME} PATTERN (a+) WITHIN 2)",
        [(1, 2), (2, None), (3, 2), (4, None)],
    ),
    Case(
        "an argument that only a frame's first rows have",
        f"""SELECT ts, y OVER w FROM ticks WHERE sym = 'B' WINDOW w AS (ORDER BY ts MEASURES FIRST(a.price * 2) AS y {FRAME} PATTERN (a)
              DEFINE a AS PREV(price) IS NULL)""",
        [(1, 10), (2, 12), (3, 8), (4, 14)],
    ),
    Case(
        "over groups",
        f"""SELECT sym, ts DIV 2 AS d, sum(price) AS total, n OVER w AS n, max(sum(price)) OVER w AS m, sum(price) + n OVER w AS z, row_number() OVER w AS r
            FROM ticks GROUP BY sym, ts DIV 2 HAVING total > 7
            WINDOW w AS (PARTITION BY sym ORDER BY ts DIV 2 MEASURES COUNT(*) AS n {FRAME} PATTERN (a b+) DEFINE b AS total < PREV(total))""",
        [("A", 0, 12, None, None, None, 1), ("A", 1, 19, None, None, None, 2), ("A", 2, 24, 3, 24, 27, 3),
         ("A", 3, 20, None, None, None, 4), ("A", 4, 10, None, None, None, 5), ("B", 1, 10, None, None, None, 1)],
    ),
    Case(
        "groups by an alias and a number, ordered by an aggregate",
        f"""SELECT sym, ts DIV 2 AS d, n OVER w, lag(sum(price)) OVER w AS s, count(*) FILTER (WHERE price > 9) AS k FROM ticks t GROUP BY t.sym, 2
            WINDOW w AS (PARTITION BY t.sym ORDER BY sum(price) DESC MEASURES COUNT(*) AS n {FRAME} PATTERN (a b+) DEFINE b AS k <= PREV(k))
            ORDER BY sum(price) DESC, n OVER w LIMIT 3""",
        [("A", 2, 5, None, 2), ("A", 3, None, 24, 1), ("A", 1, None, 20, 1)],
    ),
    Case(
        "an inline window over groups, and another aggregate in it",
        f"""SELECT sym, ts DIV 3 AS day, count(*) OVER (PARTITION BY sym ORDER BY min(ts) {FRAME} PATTERN (a+) DEFINE a AS sum(a.lo) < 19) AS n, min(price) AS lo
            FROM ticks GROUP BY sym, day""",
        [("A", 0, 1, 10), ("A", 1, 2, 9), ("A", 2, 0, 8), ("B", 0, 2, 5), ("B", 1, 0, 4)],
    ),
    Case(
        "QUALIFY by names, measures and aggregates",
        f"""SELECT sym, ts DIV 2 AS d, sum(price) AS s, n OVER w AS n FROM ticks GROUP BY sym, d QUALIFY n >= 2 AND k OVER w < 12 AND sum(price) > 9 AND d < 3
            WINDOW w AS (PARTITION BY sym ORDER BY d MEASURES COUNT(*) AS n, LAST(b.s) AS k {FRAME} PATTERN (a b+) DEFINE b AS s < PREV(s))""",
        [("A", 2, 24, 3), ("B", 1, 10, 2)],
    ),
]  # fmt: skip


@pytest.mark.spark
@parametrize(CASES)
def test_windows(spark: SparkSession, case: Case) -> None:
    check(spark, case)


@pytest.mark.spark
def test_names_and_types(spark: SparkSession) -> None:
    query = f"""SELECT sym, SYM AS s, price + 1, low OVER w, count(*)  OVER w, avg(price) OVER w AS a, first_value(sym) OVER w f
                FROM ticks WINDOW w AS {W}"""
    found = spark.sql(query).schema
    assert found.names == ["sym", "s", "(price + 1)", "low", "count(*) OVER w", "a", "f"]
    assert [field.dataType.simpleString() for field in found] == [
        "string",
        "string",
        "int",
        "int",
        "bigint",
        "double",
        "string",
    ]


@pytest.mark.spark
def test_views_and_tables(spark: SparkSession) -> None:
    query = f"SELECT sym, ts, n OVER w AS n FROM ticks WINDOW w AS {W}"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW falls AS {query}")
    spark.sql(f"CREATE TABLE fallen USING parquet AS {query}")
    try:
        expected: list[tuple[Any, ...]] = [("A", 1, 5), ("A", 6, 3), ("B", 2, 3)]
        assert_rows(spark.sql("SELECT * FROM falls WHERE n > 0").collect(), expected)
        assert_rows(spark.sql("SELECT * FROM fallen WHERE n > 0").collect(), expected)
    finally:
        spark.sql("DROP VIEW falls")
        spark.sql("DROP TABLE fallen")


@pytest.mark.spark
def test_a_section_in_a_variable(spark: SparkSession) -> None:
    """What ``${…}`` stands for is seen before the query is cut into sections."""
    query = f"SELECT ts, n OVER w FROM ticks WHERE sym = 'B' WINDOW w AS {W}"
    with setting(spark, "rest", "ORDER BY ts DESC LIMIT 1"):
        assert_rows(spark.sql(f"{query} ${{rest}}").collect(), [(4, None)])
        with pytest.raises(CepSyntaxError, match="WINDOW ends with a comma"):
            spark.sql(f"{query}, ${{rest}}")


@pytest.mark.spark
def test_one_shuffle_a_partitioning(spark: SparkSession) -> None:
    """Windows over the same keys and order are sorted once, and the place of a row costs no shuffle of its own."""
    plan = spark.sql(f"EXPLAIN SELECT ts, n OVER w, row_number() OVER w FROM ticks WINDOW w AS {W}").collect()[0][0]
    assert plan.count("Exchange hashpartitioning") == 1
    assert plan.count("Sort [") == 1


@pytest.mark.spark
def test_explained(spark: SparkSession) -> None:
    query = f"SELECT n OVER w FROM ticks WINDOW w AS {W}"
    report = "\n".join(row[0] for row in spark.sql(f"EXPLAIN PATTERN {query}").collect())
    assert "== WINDOW in line 1 ==" in report
    assert "one row for each row, with the match in its frame: to the end of its partition" in report
    assert "AFTER MATCH SKIP PAST LAST ROW" in report
    assert "down: in row 1 of a frame: price < (CASE WHEN FALSE" in report
    assert str(sparkcep.explain(query, spark))
    with pytest.raises(CepUnsupportedError, match="EXPLAIN ANALYZE PATTERN"):
        spark.sql(f"EXPLAIN ANALYZE PATTERN {query}")
