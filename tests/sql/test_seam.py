"""What the rewriter meets at its edge to Spark: forms that only vendors have, streams, and Spark's own complaints."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from rewrites.guard import REPORT
from sparkcep.errors import CepInternalError
from sql_functions.catalog import ClassicDescribe
from tests.sql.cases import Case, check, parametrize

pytestmark = pytest.mark.spark

ONE = "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts"
CASES = [
    Case(
        "count() is count(*)",
        f"{ONE} MEASURES count() AS n, count() FILTER (WHERE a.price > 9) AS m PATTERN (a+) DEFINE a AS count() <= 4)",
        [("A", 4, 3), ("A", 4, 3), ("B", 4, 0)],
    ),
    Case(
        "count() runs",
        f"{ONE} MEASURES count() AS n, FINAL count() AS f ALL ROWS PER MATCH PATTERN (a b) DEFINE a AS price = 4)",
        [("B", 3, 1, 2, 4), ("B", 4, 2, 2, 7)],
    ),
    Case(
        "a query of one string",
        f"{ONE} MEASURES count_if(sym IN (SELECT 'A')) AS n, count(*) FILTER (WHERE 'X' IN (SELECT ('X'))) AS m PATTERN (a+) "
        "DEFINE a AS sym IN (SELECT 'A') OR sym IN (SELECT 'B'))",
        [("A", 8, 8), ("B", 0, 4)],
    ),
    Case(
        "an empty branch",
        f"{ONE} MEASURES count(*) AS n PATTERN (a b (c |)) DEFINE a AS price = 9, b AS TRUE, c AS price > 13)",
        [("A", 2)],
    ),
    Case(
        "an empty branch first",
        f"{ONE} MEASURES count(*) AS n PATTERN (a (| b)) DEFINE a AS price = 9)",
        [("A", 1)],
    ),
    Case(
        "conditions over whole events",
        "SELECT v.ts, b.ts FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user AS u ORDER BY ts "
        "WHERE to_json(v) <> to_json(b) AND length(u) = 2 AND match_end - match_start > 2 AND b.ts IN (SELECT 9))",
        [(1, 9), (4, 9)],
    ),
    Case(
        "a condition over whole events needs all of their columns",
        "SELECT v.item, b.item FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts "
        "WHERE to_json(v) <> to_json(b))",
        [("x", "x"), ("x", "y"), ("y", "y"), ("x", "z")],
    ),
    Case(
        "whole events in conditions and measures",
        "SELECT * FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts "
        "WHERE to_json(v) <> to_json(b) MEASURES COUNT(v.item) AS n)",
        [("u1", 3), ("u2", 1)],
    ),
]


@parametrize(CASES)
def test_answers(spark: SparkSession, case: Case) -> None:
    check(spark, case)


def test_a_stream_beside_the_clause_is_sparks(spark: SparkSession) -> None:
    spark.readStream.format("rate").load().createOrReplaceTempView("rates")
    joined = spark.sql(f"SELECT r.value FROM rates r JOIN ({ONE} PATTERN (a))) m ON m.sym = r.value")
    assert joined.isStreaming


def test_spark_names_the_place_of_what_stands_behind_a_clause(spark: SparkSession) -> None:
    clause = "(\n  SELECT * FROM ticks MATCH_RECOGNIZE (\n    PARTITION BY sym ORDER BY ts\n    MEASURES a.price AS p\n    PATTERN (a b))\n)"
    outer = f"SELECT n OVER w AS n FROM {clause} WINDOW w AS (\n ORDER BY p MEASURES count(*) AS n\n ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (a b))"
    for query, line, column in (
        (f"SELECT p FROM ticks JOIN {clause} m\n ON nope = 1", 7, 4),
        (f"SELECT p FROM {clause} m WHERE nope = 1", 6, 10),
        (
            f"SELECT p FROM {clause} MATCH_RECOGNIZE (\n  ORDER BY p MEASURES a.p AS p\n  PATTERN (a)) m\nWHERE nope = 1",
            9,
            6,
        ),
        (f"SELECT * FROM (\n{outer}\n)\nWHERE nope = 1", 11, 6),
    ):
        with pytest.raises(AnalysisException, match=f"`nope`.*; line {line} pos {column}"):
            spark.sql(query)


def test_a_fault_of_ours_crosses_the_jvm(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("no such state")

    monkeypatch.setattr(ClassicDescribe, "streaming", broken)
    with pytest.raises(CepInternalError) as caught:
        spark.sql(f"{ONE} PATTERN (a b a))")
    assert str(caught.value).splitlines()[::3] == ["[CEP_INTERNAL] KeyError: 'no such state'", f"Hint: {REPORT}"]
    assert isinstance(caught.value.__cause__, KeyError)
