"""``sparkcep.match`` and ``sparkcep.match_recognize``: a clause over a DataFrame gives what SQL gives."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepAnalysisError
from tests.sql.cases import EVENT, EVENT_ANSWER, ROW, ROW_ANSWER, assert_rows


def body(clause: str) -> str:
    return clause[clause.index("(") + 1 : -1]


def test_match_recognize(spark: SparkSession) -> None:
    found = sparkcep.match_recognize(spark.table("ticks"), body(ROW))
    assert_rows(found.collect(), ROW_ANSWER)
    assert found.columns == ["sym", "s", "m", "e"]
    assert_rows(found.where("s > 1").select("sym").collect(), [("A",), ("B",)])


def test_match(spark: SparkSession) -> None:
    found = sparkcep.match(spark.table("clicks").where("amount > 0"), body(EVENT) + " -- a comment")
    assert_rows(found.select("user", "match_start", "match_end", "v.item", "b.item").collect(), EVENT_ANSWER)
    assert found.schema == spark.sql(f"SELECT * FROM clicks {EVENT}").schema


def test_braces_and_parameters(spark: SparkSession) -> None:
    frame = spark.table("ticks").where("sym = 'A'")
    found = sparkcep.match_recognize(
        frame, "ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a{2} b) DEFINE a AS price < :p, b AS price > :p", {"p": 12}
    )
    assert_rows(found.collect(), [(5,)])


def test_nothing_stays_behind(spark: SparkSession) -> None:
    before = _tables(spark)
    frame = spark.createDataFrame([(1, 5), (2, 3)], "ts int, price int")
    found = sparkcep.match_recognize(frame, "ORDER BY ts MEASURES LAST(price) AS p PATTERN (a b)")
    with pytest.raises(CepAnalysisError):
        sparkcep.match_recognize(frame, "ORDER BY ts MEASURES LAST(prize) AS p, c.x AS y PATTERN (a b)")
    assert _tables(spark) == before
    assert_rows(found.collect(), [(3,)])


def _tables(spark: SparkSession) -> set[str]:
    """The views too. (``spark.catalog.listTables`` is one of the few places where Spark needs generated code.)"""
    return {row.tableName for row in spark.sql("SHOW TABLES").collect()}


def test_error_shows_the_body(spark: SparkSession) -> None:
    with pytest.raises(CepAnalysisError) as caught:
        sparkcep.match(spark.table("clicks"), "SEQ(View v, Buy b) ORDER BY ts WHERE w.amount > 1")
    assert "line 2: SEQ(View v, Buy b) ORDER BY ts WHERE w.amount > 1\n" in str(caught.value)
