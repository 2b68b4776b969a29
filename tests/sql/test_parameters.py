"""Parameter markers, variables and formatting: values that come from outside of the statement's text."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import CepError
from tests.sql.cases import EVENT, ROW, ROW_ANSWER, Case, assert_rows, check, parametrize
from tests.sql.tables import TABLES

CASES = [
    Case(
        "named_in_define",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a) DEFINE a AS price > :p)",
        [("A", 5)],
        {"p": 12},
    ),
    Case(
        "named_in_measure",
        "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES LAST(a.ts) + :p AS t, MAX(a.price * :p) AS m PATTERN (a{2}) DEFINE a AS price > 11)",
        [(106, 1300)],
        {"p": 100},
    ),
    Case(
        "named_in_measure_and_outside",
        "SELECT :q, m.* FROM ticks MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES LAST(a.ts) + :p AS t, MAX(a.price * :p) AS m PATTERN (a{2}) DEFINE a AS price > :q) m",
        [(11, 106, 1300)],
        {"p": 100, "q": 11},
    ),
    Case(
        "question_marks_and_quantifiers",
        """SELECT ?, r.* FROM (SELECT * FROM ticks WHERE sym = ?)
           MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) + ? AS t, COUNT(*) AS n PATTERN (x? a+? b) DEFINE x AS price = ?, a AS price < ?, b AS price > ?) r
           WHERE r.n < ?""",
        [("out", 1005, 4)],
        ["out", "A", 1000, 10, 12, 12, 5],
    ),
    Case(
        "named_in_where",
        "SELECT v.ts, b.ts FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE b.amount > :p AND b.amount > v.amount * :q)",
        [(1, 9), (1, 3), (4, 9)],
        {"p": 8, "q": 2},
    ),
    Case(
        "question_marks_in_where_and_within",
        "SELECT v.ts + ?, b.ts FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE b.amount > ? AND b.ts - v.ts < ? WITHIN ?) WHERE user = ?",
        [(101, 3)],
        [100, 8, 5, 6, "u1"],
    ),
    Case(
        "parameter_in_engine_condition",
        "SELECT v.ts, b.ts FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE b.amount - v.amount > ?)",
        [(1, 9), (4, 9)],
        [20],
    ),
    Case(
        "parameter_in_residual",
        "SELECT v.ts, b.ts FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE concat(v.item, b.item) = ?)",
        [(1, 2)],
        ["xz"],
    ),
    Case(
        "interval",
        "SELECT COUNT(*) FROM (SELECT *, timestamp_seconds(ts) AS at FROM clicks) MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY at WITHIN :w)",
        [(2,)],
        {"w": timedelta(seconds=5)},
    ),
    Case(
        "date_value",
        "SELECT COUNT(*) FROM (SELECT date_add(DATE'2024-01-01', ts) AS d, * FROM ticks) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY d PATTERN (a) DEFINE a AS d = :d)",
        [(2,)],
        {"d": date(2024, 1, 3)},
    ),
    Case(
        "named_offsets",
        """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES PREV(a.ts, :n) AS p, FIRST(b.ts, :k) AS f, LAST(a.ts, :far) AS l
           PATTERN (a b+) DEFINE a AS ts > 1, b AS price < PREV(price, :n) AND NEXT(ts, :far) IS NULL)""",
        [("A", 1, None, None), ("A", 4, 7, None), ("B", 1, None, None)],
        {"n": 1, "k": 1, "far": 1 << 40},
    ),
    Case(
        "question_marks_as_offsets",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES PREV(a.ts, ?) AS p PATTERN (a b{?}) DEFINE b AS price < PREV(price, ?))",
        [("A", None), ("A", 4)],
        [1, 2, 1],
    ),
    Case("identifier", f"SELECT * FROM IDENTIFIER(:t) {ROW}", ROW_ANSWER, {"t": "ticks"}),
]


@parametrize(CASES)
def test_parameters(spark: SparkSession, case: Case) -> None:
    check(spark, case)


def test_parameters_in_two_clauses(spark: SparkSession) -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a) DEFINE a AS price > ?)"
    text = (
        f"SELECT a.t, b.t FROM ticks {clause} a JOIN ticks {clause} b ON a.t < b.t AND a.sym <> b.sym WHERE a.sym = ?"
    )
    assert_rows(spark.sql(text, [11, 6, "A"]).collect(), [(1, 4)])


def test_variable_substitution(spark: SparkSession) -> None:
    for session, limit, rows in ((spark, 12, [("A", 5)]), (spark.newSession(), 11, [("A", 1), ("A", 5), ("A", 6)])):
        session.sql(TABLES["ticks"]).createOrReplaceTempView("ticks")
        session.conf.set("my.limit", str(limit))
        session.conf.set("most", "2")
        text = """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(ts) AS t
          AFTER MATCH SKIP TO NEXT ROW PATTERN (a b{0,${most}}?) WITHIN ${most} DEFINE a AS price > ${my.limit})"""
        assert_rows(session.sql(text).collect(), rows)
        with pytest.raises(CepError, match="WITHIN needs a length"):
            session.sql("SELECT * FROM ticks MATCH PATTERN (SEQ(A a, B b) EVENT TYPE sym ORDER BY ts WITHIN ${none})")


def test_session_variable(spark: SparkSession) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE most INT DEFAULT 12")
    for name in ("most", "session.most", "system.session.most"):
        text = f"""SELECT t, m FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(ts) AS t,
          {name} + COUNT({name}) + MEDIAN(a.price - {name}) - FIRST(a.price - {name}) + MAX({name}) - LAST({name}) AS m
          PATTERN (a) DEFINE a AS price > {name})"""
        assert_rows(spark.sql(text).collect(), [(5, 13)])
        text = f"SELECT v.ts, b.ts FROM clicks {EVENT.replace('WITHIN', f'WHERE v.ts < {name} - 10 AND b.ts > v.ts + {name} - 11 WITHIN')}"
        assert_rows(spark.sql(text).collect(), [(1, 3)])


@pytest.mark.parametrize(
    ("marker", "using"),
    [
        *((":p", "USING 12 AS p"), ("?", "USING 12"), ("12", "")),
        *((":most", "USING most"), (":p", "USING most AS p"), ("?", "USING most"), ("?", "USING session.most")),
    ],
)
def test_execute_immediate(spark: SparkSession, marker: str, using: str) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE most INT DEFAULT 12")
    inner = f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a) DEFINE a AS price > {marker})"
    assert_rows(spark.sql(f"EXECUTE IMMEDIATE '{inner}' {using}").collect(), [("A", 5)])


def test_execute_immediate_with_event_pattern(spark: SparkSession) -> None:
    inner = f"SELECT user, v.ts FROM clicks {EVENT} WHERE user = ?"
    assert_rows(spark.sql(f"EXECUTE IMMEDIATE '{inner}' USING 'u2'").collect(), [("u2", 1)])


def test_a_script_by_execute_immediate(spark: SparkSession) -> None:
    """A clause over what the script has made, with its variable."""
    inner = (
        "SELECT max(x) AS m FROM made MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(x) AS x PATTERN (a) DEFINE a AS x < ?)"
    )
    script = f"""BEGIN DECLARE most INT DEFAULT 101; CREATE OR REPLACE TEMP VIEW made AS SELECT id AS ts, CAST(id * 10 AS INT) AS x FROM range(20);
        EXECUTE IMMEDIATE '{inner}' USING most; END"""
    spark.sql("CREATE OR REPLACE TEMP VIEW made AS SELECT 1 AS ts, 'text' AS x")
    assert_rows(spark.sql(script).collect(), [(100,)])
    spark.sql("DROP VIEW made")


def test_formatted_data_frame(spark: SparkSession) -> None:
    frame = spark.table("ticks").where("sym = 'A'")
    text = """SELECT * FROM {df} MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a{{2}} b) DEFINE a AS price < {most}, b AS price > {most})"""
    found = spark.sql(text, df=frame, most=12)
    assert_rows(found.collect(), [(5,)])
    assert_rows(found.where("t > 1").collect(), [(5,)])


@pytest.mark.parametrize("args", [{"p": 12}, [12]])
def test_missing_parameter_is_sparks_error(spark: SparkSession, args: Any) -> None:
    marker = ":other" if isinstance(args, dict) else "? AND price < ?"
    text = f"SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a) DEFINE a AS price > {marker})"
    with pytest.raises(Exception, match="UNBOUND_SQL_PARAMETER"):
        spark.sql(text, args).collect()
