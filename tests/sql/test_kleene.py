"""Kleene closures and optional events end to end: SQL in, arrays of structs out."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import CepError
from tests.sql.cases import Case, check, parametrize

pytestmark = pytest.mark.spark

TRADES = """(VALUES (1, 'A', 10, 1.0D), (2, 'B', 5, 2.0D), (3, 'B', 7, 1.5D), (4, 'B', 6, NULL), (5, 'C', 12, 9.0D))
  AS t(ts, type, x, p)"""


def query(select: str, pattern: str, where: str = "") -> str:
    condition = f"WHERE {where}" if where else ""
    return f"SELECT {select} FROM (SELECT * FROM {TRADES}) MATCH PATTERN ({pattern} ORDER BY ts {condition}) m"


IDS = "transform(b, e -> e.ts)"

CASES = [
    Case(
        "power set",
        query(IDS, "SEQ(A a, B+ b, C c)"),
        [([2],), ([3],), ([4],), ([2, 3],), ([2, 4],), ([3, 4],), ([2, 3, 4],)],
    ),
    Case(
        "array functions on the closure",
        query("size(b), b[0].x, element_at(b, -1).x, c.x", "SEQ(A a, B{2} b, C c)"),
        [(2, 5, 7, 12), (2, 5, 6, 12), (2, 7, 6, 12)],
    ),
    Case(
        "star takes none too", query("size(b), match_end", "SEQ(A a, B{0,2} b, C c)"), [(0, 5)] + [(1, 5), (2, 5)] * 3
    ),
    Case("an optional event is NULL", query("d.x, c.x", "SEQ(A a, D? d, C c)"), [(None, 12)]),
    Case("rising", query(IDS, "SEQ(A a, B{2,} b, C c)", "b[i].x > b[i-1].x"), [([2, 3],), ([2, 4],)]),
    Case("each element alone", query(IDS, "SEQ(A a, B+ b)", "b[i].x > 5"), [([3],), ([4],), ([3, 4],)]),
    Case(
        "each element against another event",
        query(IDS, "SEQ(A a, B+ b)", "b[i].x + 4 <= a.x"),
        [([2],), ([4],), ([2, 4],)],
    ),
    Case("sum and last", query(IDS, "SEQ(A a, B+ b, C c)", "SUM(b.x) = c.x AND b[LAST].x = 7"), [([2, 3],)]),
    Case("a product of one element", query(IDS, "SEQ(A a, B{2} b)", "b[i].x > 1.3 * b[i-1].x"), [([2, 3],)]),
    Case(
        "running average against integers",
        query(IDS, "SEQ(A a, B{2,} b)", "b[i].x >= 0.9 * AVG(b[..i-1].x)"),
        [([2, 3],), ([2, 4],), ([2, 3, 4],)],
    ),
    Case("count of what is not NULL", query(IDS, "SEQ(A a, B{2,} b)", "COUNT(b.p) = COUNT(b.*)"), [([2, 3],)]),
    Case("functions inside an aggregate", query(IDS, "B+ b", "MAX(abs(b.x - 6)) < 1"), [([4],)]),
    Case("NOT of a sequence", query("a.ts, c.ts", "SEQ(A a, NOT SEQ(B x, B y), C c)", "y.x > x.x + 2"), [(1, 5)]),
    Case("NOT of a closure", query("a.ts, c.ts", "SEQ(A a, NOT B{3} n, C c)"), []),
]


@parametrize(CASES)
def test_kleene(spark: SparkSession, case: Case) -> None:
    check(spark, case)


def test_the_schema_is_an_array_of_structs(spark: SparkSession) -> None:
    schema = spark.sql(query("*", "SEQ(A a, B* b)")).schema
    assert schema["b"].dataType.simpleString() == "array<struct<ts:int,type:string,x:int,p:double>>"
    assert schema["a"].dataType.simpleString() == "struct<ts:int,type:string,x:int,p:double>"


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("b.x > 5", "CEP_ANALYSIS_KLEENE_REFERENCE"),
        ("a[i].x > 5", "CEP_ANALYSIS_KLEENE_REFERENCE"),
        ("SUM(a.x) > 5", "CEP_ANALYSIS_KLEENE_REFERENCE"),
        ("b[2].x > 5", "CEP_UNSUPPORTED_KLEENE_INDEX"),
        ("b[1].x % 2 = a.x % 3 AND b[1].x * a.x IN (SELECT 1)", "CEP_UNSUPPORTED_CONDITION"),
    ],
)
def test_refusals(spark: SparkSession, where: str, code: str) -> None:
    with pytest.raises(CepError, match=code):
        spark.sql(query("*", "SEQ(A a, B+ b)", where)).collect()
