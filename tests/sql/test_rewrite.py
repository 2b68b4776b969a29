"""What the rewrite leaves alone: statements without a clause, and the text around a clause."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

import sparkcep
from tests.sql.cases import EVENT, ROW

UNTOUCHED = [
    "SELECT 1",
    "",
    "   ;",
    "SELECT pattern, match, seq FROM VALUES (1, 2, 3) AS t(pattern, match, seq)",
    "SELECT match.pattern FROM VALUES (1) AS match(pattern)",
    "SELECT match_recognize FROM VALUES (1) AS t(match_recognize)",
    "SELECT match_recognize.x FROM VALUES (1) AS match_recognize (x)",
    "SELECT * FROM VALUES (1) match_recognize (x)",
    "SELECT match_recognize(a) FROM t",
    "SELECT seq(a, b), pattern(x), `MATCH_RECOGNIZE`(y) FROM t",
    "SELECT 'FROM t MATCH_RECOGNIZE (PATTERN (a))' AS s",
    "SELECT 1 -- FROM t MATCH_RECOGNIZE (PATTERN (a))",
    "SELECT 1 /* FROM t MATCH PATTERN (SEQ(A a) ORDER BY ts) */",
    'SELECT "FROM t MATCH PATTERN (SEQ(A a))"',
    "CREATE TABLE pattern (match INT, seq INT)",
    "SELECT x 'unclosed FROM t MATCH_",
    "this is no SQL at all, match_ ( pattern",
    "SELECT * FROM t WHERE match (pattern) > 1",
    "SELECT define, measures, within FROM VALUES (1, 2, 3) AS t(define, measures, within)",
]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_without_a_clause_nothing_changes(spark: SparkSession, text: str) -> None:
    assert sparkcep.rewrite(text, spark) == text


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT pattern, match, seq FROM VALUES (1, 2, 3) AS t(pattern, match, seq)", [(1, 2, 3)]),
        ("SELECT match_recognize.x FROM VALUES (1) AS match_recognize (x)", [(1,)]),
        ("SELECT * FROM VALUES (1) match_recognize (x)", [(1,)]),
        ("SELECT match.pattern FROM (SELECT 1 AS pattern) match", [(1,)]),
    ],
)
def test_words_of_the_language_stay_names(spark: SparkSession, sql: str, rows: list) -> None:
    assert spark.sql(sql).collect() == rows


AROUND = [
    ("/* a ‘comment’ */  SELECT\t* , 1.50e1 ,'it''s' \n FROM ", "ticks", ROW, "   --tail\n WHERE s>1 ;"),
    ('SELECT  `odd ``name` , r"raw\\n", x -> x+1 FROM names JOIN  ', "ticks", ROW, " AS `r x`  (k ,  a,b,c)  ON true"),
    ("WITH  c AS(SELECT 1 AS one),d AS (SELECT*FROM  ", "clicks", EVENT, ") SELECT  d.*  FROM c,d"),
    ("CREATE OR REPLACE TEMP VIEW made AS SELECT user FROM ", "clicks", EVENT, "\r\n\tWHERE 'é' <> '𝛑'"),
]


@pytest.mark.parametrize(("prefix", "table", "clause", "suffix"), AROUND)
def test_text_around_a_clause_stays(spark: SparkSession, prefix: str, table: str, clause: str, suffix: str) -> None:
    rewritten = sparkcep.rewrite(f"{prefix}{table} {clause}{suffix}", spark)
    assert rewritten.startswith(f"{prefix}(SELECT ")
    assert rewritten.endswith(suffix)
    assert rewritten.removesuffix(suffix).rstrip("\n ").endswith(")")
    assert "MATCH_RECOGNIZE (" not in rewritten.upper()


def test_text_between_two_clauses_stays(spark: SparkSession) -> None:
    between = "  a JOIN /* the other */ "
    rewritten = sparkcep.rewrite(f"SELECT a.s FROM ticks {ROW}{between}ticks {ROW}  b USING (sym)", spark)
    assert re.search(rf"\)\n* *{re.escape(between)}\(", rewritten)


def test_a_rewritten_statement_stays_as_it_is(spark: SparkSession) -> None:
    once = sparkcep.rewrite(f"SELECT * FROM ticks {ROW}", spark)
    assert sparkcep.rewrite(once, spark) == once
