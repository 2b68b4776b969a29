"""Conditions of MATCH PATTERN that compute Spark's functions of several events, where Spark cannot filter the matches: closures, negated and
optional events, OR, other strategies than skip till any match."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from tests.sql.cases import answers

pytestmark = pytest.mark.spark

EVENTS = """(SELECT * FROM VALUES
  (1, 'A', 1, 1.0BD, 'p', DATE'2024-01-01'), (2, 'B', 2, 2.5BD, 'q', DATE'2024-01-31'), (3, 'B', 3, NULL, 'p', DATE'2024-02-29'),
  (4, 'N', 2, 1.5BD, 'p', DATE'2024-02-29'), (5, 'B', 5, 5.0BD, 'r', NULL), (6, 'C', 6, 9.0BD, 'p', DATE'2024-03-01'),
  (7, 'N', 9, 1.0BD, 'q', DATE'2024-03-02'), (8, 'C', 2, 4.0BD, 'q', DATE'2024-03-03') AS t(ts, type, x, d, s, day))"""

ABC = "SEQ(A a, B+ b, C c)"
NOT_N = "SEQ(A a, NOT N n, C c)"
NEXT = "SKIP TILL NEXT MATCH"


def query(select: str, pattern: str, where: str, strategy: str = "", tail: str = "") -> str:
    return (
        f"SELECT {select} AS ids FROM {EVENTS} MATCH PATTERN ({pattern} ORDER BY ts {strategy} WHERE {where} {tail}) m"
    )


def closures(where: str, pattern: str = ABC, strategy: str = "", tail: str = "") -> str:
    return query("concat(transform(b, e -> e.ts), array(c.ts))", pattern, where, strategy, tail)


CASES: dict[str, tuple[str, list[Any]]] = {
    "each element with another event": (
        closures("abs(b[i].x - c.x) = 1 AND a.x = 1"),
        [[5, 6], [3, 8]],
    ),
    "neighbours": (
        closures("abs(b[i].x - b[i-1].x) > 1 AND c.ts = 6"),
        [[2, 6], [3, 6], [5, 6], [2, 5, 6], [3, 5, 6]],
    ),
    "an aggregate": (closures("sqrt(SUM(b.x)) > 2.3 AND c.x = 2"), [[2, 5, 8], [3, 5, 8], [2, 3, 5, 8]]),
    "an average of doubles": (
        closures("round(AVG(b.x)) = 3 AND c.ts = 6 AND COUNT(b.*) > 1"),
        [[2, 3, 6], [2, 3, 5, 6]],
    ),
    "IN": (
        closures("b[i].s IN (a.s, c.s) AND COUNT(b.*) = 2"),
        [[2, 3, 8]],
    ),
    "NOT IN with NULL": (closures("b[i].d NOT IN (a.d, c.d) AND c.ts = 6"), [[2, 6], [5, 6], [2, 5, 6]]),
    "%": (closures("(b[i].x + c.x) % 2 = 0"), [[2, 6], [2, 8]]),
    "a quotient of decimals": (closures("b[1].d / a.d > 2 AND COUNT(b.*) = 1 AND c.ts = 6"), [[2, 6], [5, 6]]),
    "months": (closures("b[LAST].day = add_months(b[1].day, 1) AND c.ts = 6"), [[2, 3, 6]]),
    "CASE, a lambda, strings": (
        closures(
            "CASE WHEN b[1].s = a.s THEN exists(array(c.s, b[LAST].s), v -> v = 'r') ELSE c.x < 3 AND concat(a.s, b[1].s) = 'pq' END"
        ),
        [[3, 5, 6], [3, 5, 8], [2, 8], [2, 3, 8], [2, 5, 8], [2, 3, 5, 8]],
    ),
    "OR of fast and slow": (
        closures("b[i].x > c.x OR abs(b[i].x - a.x) = 4"),
        [[5, 6], [3, 8], [5, 8], [3, 5, 8]],
    ),
    "a negated event": (query("array(a.ts, c.ts)", NOT_N, "abs(n.x - c.x) = 7"), [[1, 6]]),
    "a negated event and text": (query("array(a.ts, c.ts)", NOT_N, "concat(n.s, c.s) LIKE '_q'"), [[1, 6]]),
    "a negated closure": (
        query("array(a.ts, c.ts)", "SEQ(A a, NOT B{2,} n, C c)", "abs(n[i].x - n[i-1].x) = c.x - 2"),
        [[1, 6], [1, 8]],
    ),
    "a negated sequence": (
        query("array(a.ts, c.ts)", "SEQ(A a, NOT SEQ(B k, N n), C c)", "abs(k.x - n.x) * 2 = c.x"),
        [[1, 6]],
    ),
    "an optional event": (
        query("array(n.ts, c.ts)", "SEQ(A a, N? n, C c)", "abs(n.x - c.x) > 3"),
        [[4, 6], [7, 8], [None, 6], [None, 8]],
    ),
    "OR": (
        query("array(b.ts, c.ts)", "OR(SEQ(A a, B b), SEQ(N n, C c))", "abs(a.x - b.x) = 1 AND abs(n.x - c.x) = 4"),
        [[2, None], [None, 6]],
    ),
    "next": (query("array(a.ts, b.ts)", "SEQ(A a, B b)", "abs(b.x - a.x) > 1", NEXT), [[1, 3]]),
    "next: neighbours": (
        closures("abs(b[i].x - b[i-1].x) = 2", "SEQ(B+ b, C c)", NEXT),
        [[2, 6], [2, 8], [3, 5, 6], [3, 5, 8], [5, 6], [5, 8]],
    ),
    "next: an aggregate": (
        closures("sqrt(SUM(b.x)) > 2", "SEQ(B+ b, C c)", NEXT),
        [[2, 3, 5, 6], [2, 3, 5, 8], [3, 5, 6], [3, 5, 8], [5, 6], [5, 8]],
    ),
    "next: all of a closure against a later event": (
        closures("abs(b[i].x - c.x) > 1", "SEQ(B+ b, C c)", NEXT),
        [[5, 8]],
    ),
    "next: a negated event": (query("array(a.ts, c.ts)", NOT_N, "abs(n.x - c.x) > 3", NEXT), []),
    "partition contiguity": (
        query("array(n.ts, b.ts)", "SEQ(N n, B b)", "abs(b.x - n.x) = 3", "PARTITION CONTIGUITY"),
        [[4, 5]],
    ),
    "next: decimals of a closure": (
        closures("abs(b[i].d - c.d) < 4.125", "SEQ(B+ b, C c)", NEXT),
        [[5, 6], [5, 8]],
    ),
    "decimals": (
        query("array(a.ts, b.ts)", "SEQ(A a, B b)", "abs(b.d - a.d) < 3.999 AND b.d - a.d + b.x > 3.25", NEXT),
        [[1, 2]],
    ),
    "decimal products": (query("array(a.ts, b.ts)", "SEQ(A a, B b)", "abs(b.d * a.d - 5) < 0.01"), [[1, 5]]),
    "non overlapping": (
        query("array(a.ts, b.ts)", "SEQ(ANY a, ANY b)", "abs(b.x - a.x) > 2", tail="NON OVERLAPPING MATCHES"),
        [[1, 5], [6, 7]],
    ),
}


def slowly(sql: str, around: str = r"element_at(array(\1), 1)") -> str:
    """``sql`` with functions that no engine has an operator for."""
    return re.sub(r"abs\(([^()]*)\)", rf"abs({around})", sql)


def in_words(sql: str) -> str:
    """``sql`` with functions that engines compute where there is room."""
    return slowly(sql, r"negative(\1)")


def test_conditions(spark: SparkSession) -> None:
    texts = {name: sql for name, (sql, _) in CASES.items()}
    slow = {name: slowly(sql) for name, sql in texts.items()}
    words = {name: in_words(sql) for name, sql in texts.items()}
    for queries in (slow, *({name: one[name] for name in texts if one[name] != slow[name]} for one in (texts, words))):
        found = answers(spark, queries)
        got = {name: sorted((row["ids"] for row in rows), key=repr) for name, rows in found.items()}
        assert got == {name: sorted(CASES[name][1], key=repr) for name in queries}


@pytest.mark.parametrize("value", ["-2147483648", "-9223372036854775808", "-2147483647"])
def test_overflow_is_sparks(spark: SparkSession, value: str) -> None:
    """INT - INT is an INT, and its least value has no ABS; the comparisons that say the same raise nothing."""
    rows = f"(SELECT * FROM VALUES (1, 'A', 0), (2, 'B', {value}) AS t(ts, type, x))"
    for condition in ("abs(b.x - a.x) > 5", "a.x - b.x > 5"):
        sql = f"SELECT b.ts FROM {rows} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts SKIP TILL NEXT MATCH WHERE {condition}) m"
        if value.endswith("7"):
            assert spark.sql(sql).collect() == [(2,)]
        else:
            with pytest.raises(PythonException, match="CEP_DATA_ARITHMETIC_OVERFLOW"):
                spark.sql(sql).collect()


def test_an_error_stops_the_query_only_where_all_else_holds(spark: SparkSession) -> None:
    assert spark.sql(closures("100 % (b[i].x - c.x) >= 0 AND b[i].x > c.x")).count() == 3
    with pytest.raises(PythonException, match="CEP_DATA_DIVIDE_BY_ZERO"):
        spark.sql(closures("100 % (b[i].x - c.x) >= 0", "SEQ(B+ b, C c)")).collect()


def test_explain_says_so(spark: SparkSession) -> None:
    rows = spark.sql("EXPLAIN PATTERN " + slowly(closures("abs(b[i].x - c.x) = 1"))).collect()
    assert any("slow path (Python: " in row[0] for row in rows)
    rows = spark.sql("EXPLAIN PATTERN " + in_words(closures("abs(b[i].x - c.x) = 1"))).collect()
    assert not any("slow path" in row[0] for row in rows)


ORDERED = {
    "": ["b[i].x > b[i-1].x", "MAX(b.x) < c.x", "MIN(b[..i-1].x) <= b[i].x"],
    NEXT: [
        "COUNT(b.x) > 1 AND b[i].x > b[i-1].x",
        "b[1].x > a.x AND c.x <> a.x",
        "MIN(b.x) > a.x OR MAX(b.x) < c.x",
        "b[i].x < c.x",
    ],
    "PARTITION CONTIGUITY": ["b[i].x BETWEEN a.x AND b[i-1].x", "COALESCE(MAX(b[..i-1].x), a.x) < b[i].x"],
}
COMPUTED = {
    "": ["SUM(b.x) < c.x + 40", "AVG(b.x) > a.x", "b[i].x > AVG(b[..i-1].x) - 3"],
    NEXT: ["SUM(b[..i-1].x) < 60", "AVG(b.x) > a.x", "b[i].x > AVG(b[..i-1].x)", "a.x / c.x < SUM(b.x) - 30"],
    "STRICT CONTIGUITY": ["SUM(b.x) - c.x > a.x"],
}
"""By strategy. What is ORDERED has the same matches if a number is added to all."""


def test_decimals_of_many_digits(spark: SparkSession) -> None:
    drawn = Random(5)
    rows = ", ".join(f"({i}, '{chr(65 + (i % 5 + 2) // 3)}', {drawn.randrange(2500) / 100}BD)" for i in range(120))
    spark.sql(f"SELECT * FROM VALUES {rows} AS t(ts, type, x)").createOrReplaceTempView("cents")

    def matches(x: str, asked: dict[str, list[str]]) -> dict[str, list[Any]]:
        statement = """SELECT a.ts AS a, b.ts AS b, c.ts AS c FROM (SELECT ts, type, {} AS x FROM cents)
            MATCH PATTERN ({} ORDER BY ts {} WHERE {} WITHIN 7 EVENTS)"""
        texts = {
            f"{how} {where}": statement.format(x, ABC, how, where) for how, all_ in asked.items() for where in all_
        }
        return {
            name: sorted((tuple(row.values()) for row in found), key=repr)
            for name, found in answers(spark, texts).items()
        }

    narrow = matches("CAST(x AS DECIMAL(8, 2))", ORDERED)
    assert all(narrow.values())
    assert matches("CAST(x AS DECIMAL(38, 18))", ORDERED) == narrow
    assert matches("CAST(12345678901234567890BD + x / 1000000000000000BD AS DECIMAL(38, 18))", ORDERED) == narrow
    narrow = matches("CAST(x AS DECIMAL(8, 2))", COMPUTED)
    assert all(narrow.values())
    for kind in ("DECIMAL(20, 8)", "DECIMAL(38, 18)"):
        assert matches(f"CAST(x AS {kind})", COMPUTED) == narrow, kind


@pytest.mark.parametrize("kind", ["DECIMAL(8, 2)", "DECIMAL(38, 18)"])
def test_an_average_is_rounded_as_sparks(spark: SparkSession, kind: str) -> None:
    """The last digits of means of sevenths tell how they were rounded."""
    clause = "MATCH PATTERN (SEQ(A a, ANY+ b, C c) ORDER BY ts {} WHERE {} WITHIN 9 EVENTS)"
    rows = (
        f"(SELECT id AS ts, CHAR(65 + id % 3) AS type, CAST((id * 37 % 101 - 50) / 7BD AS {kind}) AS x FROM range(24))"
    )
    for strategy in ("", NEXT):
        every = spark.sql(f"SELECT b, c.ts FROM {rows} {clause.format(strategy, 'COUNT(b.*) > 0')}")
        every.createOrReplaceTempView("every_closure")
        wanted = spark.sql("SELECT (SELECT AVG(e.x) FROM explode(b) AS t(e)) AS mean FROM every_closure")
        means = sorted({row.mean for row in wanted.collect()})
        for mean in means[:: len(means) // 2]:
            found = spark.sql(f"SELECT b, c.ts FROM {rows} {clause.format(strategy, f'AVG(b.x) = {mean}BD')}")
            assert 0 < found.count() == wanted.where(f"mean = {mean}BD").count()


@pytest.mark.parametrize(("strategy", "most", "rising"), [("", "9e37", 2), (NEXT, "9e37", 2), (NEXT, "9e17", 120)])
def test_a_sum_of_more_digits_than_decimals_have_is_an_error(
    spark: SparkSession, strategy: str, most: str, rising: int
) -> None:
    """Also where later events leave fewer, as SUM in Spark, and where each value has room in a word."""
    kind = f"DECIMAL(38, {0 if rising == 2 else 18})"
    values = f"CAST(CAST({most} AS {kind}) * IF(id < {rising}, 1, -1) AS {kind})"
    rows = f"(SELECT id AS ts, IF(id < {2 * rising}, 'A', 'B') AS type, {values} AS x FROM range({2 * rising + 1}))"
    with pytest.raises(PythonException, match="more than 38 digits"):
        spark.sql(
            f"SELECT * FROM {rows} MATCH PATTERN (SEQ(A+ a, B b) ORDER BY ts {strategy} WHERE SUM(a.x) < 1)"
        ).collect()
