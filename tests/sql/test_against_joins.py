"""Conditions over two events in every clause and form: the same pairs as Spark's joins find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.differential.conditions import table
from tests.differential.joins import EVENTS, FORMS, join
from tests.sql.cases import answers

pytestmark = pytest.mark.spark

ENGINE = [
    "b.c_string NOT IN (a.c_string, 'a')",
    "b.c_int IS DISTINCT FROM a.c_int AND (b.c_decimal < a.c_decimal) IS NOT FALSE",
    "(a.c_bigint > b.c_bigint) IS TRUE OR a.c_date IN (b.c_date)",
    "IF(a.c_boolean = b.c_boolean, a.c_double < b.c_double, a.c_string < b.c_string)",
    "NOT CASE WHEN a.c_int > b.c_int THEN a.c_boolean WHEN a.c_string = b.c_string THEN b.c_boolean ELSE a.c_date < b.c_date END",
    "(a.c_double - b.c_double) / NULLIF(b.c_int, 0) < 0.5 OR a.c_int / NULLIF(b.c_tinyint, 0) = 1",
    "-(a.c_double * 2) < a.c_int / NULLIF(b.c_double, 0)",
    "b.c_float - a.c_float > 1 OR b.c_float IN (a.c_float, 1.5F) AND -b.c_float < a.c_double",
    "ABS(b.c_float * 0.1F + a.c_float) < a.c_double",
    "(b.c_decimal - a.c_decimal) / NULLIF(a.c_decimal, 0) < 0.05",
    "ROUND(b.c_decimal / NULLIF(a.c_decimal, 0), 1) >= LEAST(a.c_decimal, b.c_int)",
    "COALESCE(CASE WHEN a.c_int > b.c_int THEN a.c_decimal END, b.c_decimal) > SQRT(ABS(b.c_double * a.c_double)) OR b.c_date - a.c_date > INTERVAL '9' DAY",
]
"""Without a function that only Python has."""
CONDITIONS = [
    "CASE WHEN b.c_boolean THEN a.c_int > 1 ELSE b.c_int = a.c_int END",
    "CASE WHEN a.c_boolean THEN 'a' ELSE b.c_string END = CASE b.c_int WHEN 7 THEN a.c_string ELSE 'b' END",
    "TIMESTAMPDIFF(SECOND, a.c_timestamp, b.c_timestamp) > 3",
    "TIMESTAMPDIFF(MONTH, a.c_timestamp, b.c_timestamp) < 3 OR DATEDIFF(DAY, a.c_date, b.c_date) > 30",
    "TIMESTAMPADD(HOUR, 1, a.c_timestamp) < b.c_timestamp",
    "DATEADD(MONTH, 1, a.c_date) >= b.c_date",
    "b.c_string LIKE ANY ('a%', a.c_string) OR b.c_string NOT LIKE ALL (a.c_string, '%')",
    "(a.c_int, b.c_string) IN ((b.c_int, a.c_string), (1, 'a'))",
    "a.c_struct < b.c_struct",
    "NOT (a.c_struct <=> b.c_struct)",
    "(a.c_interval + a.c_interval) <= (b.c_timestamp - TIMESTAMP'2024-03-10 01:30:00')",
    "(b.c_date - DATE'1969-12-31') <=> (-a.c_interval)",
    "CAST(a.c_ntz AS TIMESTAMP) < b.c_timestamp OR CAST(a.c_ntz AS DATE) = b.c_date",
    "a.c_timestamp + INTERVAL '13' MONTH > b.c_timestamp",
    "ROUND(a.c_double, 1) > b.c_double * IF(b.c_boolean, 1, a.c_double)",
    "a.c_double = b.c_double OR a.c_float > b.c_double",
    "COALESCE(a.c_decimal, 0) < COALESCE(b.c_decimal, a.c_decimal, 1)",
    "a.c_binary >= b.c_binary AND NOT a.c_array = b.c_array",
    "DATEDIFF(b.c_date, a.c_timestamp) > 30 OR DATE_DIFF(a.c_ntz, b.c_date) = -1",
    "exists(a.c_array, q -> q = b.c_int) IS NOT TRUE",
    "IF(a.c_boolean, 0.1F, a.c_float) IS DISTINCT FROM CASE WHEN b.c_boolean THEN a.c_float ELSE b.c_float END",
    "(CAST(b.c_decimal AS DECIMAL(38, 12)) - a.c_decimal) * CAST(a.c_decimal AS DECIMAL(38, 6)) > b.c_tinyint % NULLIF(a.c_tinyint, 0)",
    *ENGINE,
]


@pytest.fixture(scope="module", params=["America/New_York"])
def events(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    spark.sql(table(Random(4), EVENTS)).createOrReplaceTempView("events")
    yield
    spark.catalog.dropTempView("events")
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def pairs(spark: SparkSession, events: None) -> dict[str, list[tuple[int, int]]]:
    """By condition what Spark's join finds."""
    found = answers(spark, {condition: f"SELECT a.o AS x, b.o AS y {join(condition)[15:]}" for condition in CONDITIONS})
    return {condition: sorted((row["x"], row["y"]) for row in rows) for condition, rows in found.items()}


def test_the_events_tell_conditions_apart(pairs: dict[str, list[tuple[int, int]]]) -> None:
    assert all(0 < len(found) < EVENTS * (EVENTS - 1) // 2 for found in pairs.values())


@pytest.mark.parametrize("form", FORMS)
def test_forms(spark: SparkSession, pairs: dict[str, list[tuple[int, int]]], form: str) -> None:
    """Every third condition in every form, and every condition in every third; ``tests.differential.joins`` asks all, and others."""
    asked = CONDITIONS[list(FORMS).index(form) % 3 :: 3]
    got = answers(spark, {condition: _named(FORMS[form].statement(condition)) for condition in asked})
    wanted = {condition: FORMS[form].rows(pairs[condition]) for condition in asked}
    assert {condition: sorted(tuple(row.values()) for row in rows) for condition, rows in got.items()} == wanted


@pytest.mark.parametrize("condition", ENGINE)
def test_the_engine_needs_no_python(spark: SparkSession, events: None, condition: str) -> None:
    for form in ("rows", "next", "automaton"):
        report = spark.sql(f"EXPLAIN PATTERN {FORMS[form].statement(condition)}").collect()
        assert not any("slow path" in line[0].lower() for line in report)


def _named(statement: str) -> str:
    """The statement with names for what it selects, as JSON objects need them."""
    selected = re.match(r"SELECT (.*?) FROM", statement)
    assert selected is not None
    names = ", ".join(f"{part} AS r{number}" for number, part in enumerate(selected[1].split(", ")))
    return f"SELECT {names} {statement[selected.end() - 4 :]}"
