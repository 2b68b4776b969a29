"""MATCH PATTERNS: several patterns in one pass give the rows of each alone, with a column that names the pattern."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepError
from tests.sql.cases import plain
from tests.sql.test_aseq import setting

EVENTS = """CREATE OR REPLACE TEMP VIEW several_events AS
SELECT concat('u', id % 5) AS user, element_at(array('A', 'B', 'C', 'D'), CAST(pmod(hash(id), 4) AS INT) + 1) AS type,
  CAST(id AS INT) AS ts, IF(id % 5 = 0, NULL, CAST(pmod(hash(id, 1), 100) AS INT) - 40) AS x
FROM range(120)"""

PATTERNS = {
    "abc": "SEQ(A a, B b, C c)",
    "abd": "SEQ(A a, B b, D d)",
    "closure": "SEQ(A a, B b, C c, D+ many)",
    "without": "SEQ(A a, !E e, C c)",
    "never": "SEQ(A a, E f)",
}
MEASURES = "MEASURES COUNT(*) AS n, SUM(b.x) AS s, MIN(c.x) AS low, AVG(a.x) AS mean"
CLAUSES = {
    "users": "PARTITION BY user ORDER BY ts WHERE a.x > -30 WITHIN 40",
    "together": "ORDER BY ts WHERE [user] WITHIN 50",
    "unbounded": "PARTITION BY user ORDER BY ts",
}


@pytest.fixture(scope="module", autouse=True)
def events(spark: SparkSession) -> None:
    spark.sql(EVENTS).createOrReplaceTempView("aseq_events")


def several(clauses: str) -> str:
    names = ", ".join(f"{name} AS {pattern}" for name, pattern in PATTERNS.items())
    return f"SELECT * FROM several_events MATCH PATTERNS ({names} {clauses} {MEASURES})"


def alone(name: str, clauses: str) -> str:
    """The same by MATCH PATTERN; a variable that the pattern has not gives NULL."""
    measures = MEASURES.replace("SUM(b.x)", "SUM(b.x)" if "B b" in PATTERNS[name] else "SUM(CAST(NULL AS INT))")
    measures = measures.replace("MIN(c.x)", "MIN(c.x)" if "C c" in PATTERNS[name] else "MIN(CAST(NULL AS INT))")
    keys = "user, " if "PARTITION" in clauses else ""
    return f"""SELECT {keys} '{name}' AS pattern, n, s, low, mean
        FROM several_events MATCH PATTERN ({PATTERNS[name]} {clauses} {measures})"""


@pytest.mark.parametrize("clauses", CLAUSES.values(), ids=CLAUSES)
def test_together_as_alone(spark: SparkSession, clauses: str) -> None:
    found = spark.sql(several(clauses))
    expected = spark.sql(" UNION ALL ".join(alone(name, clauses) for name in PATTERNS))
    assert found.schema.simpleString() == expected.schema.simpleString()
    assert sorted(map(plain, found.collect()), key=repr) == sorted(map(plain, expected.collect()), key=repr)


CHANGES = {
    "users": "PARTITION BY user ORDER BY ts WHERE a.x > -30 WITHIN 40",
    "together": "ORDER BY ts WITHIN 20",
    "counted": "PARTITION BY user ORDER BY ts WITHIN 9 EVENTS",
    "classes": "ORDER BY ts WHERE [user] WITHIN 30",
}


@pytest.mark.parametrize("clauses", CHANGES.values(), ids=CHANGES)
def test_changes_together_as_alone(spark: SparkSession, clauses: str) -> None:
    """Each pattern's changes are those of the pattern alone, which are followed from its matches here."""
    found = spark.sql(followed(several(clauses)))
    each = (followed(alone(name, clauses)).replace("AS pattern,", "AS pattern, emit_time,") for name in PATTERNS)
    with setting(spark, "sparkcep.rules.disable", "aggregate_pushdown"):
        expected = spark.sql(" UNION ALL ".join(each))
    assert found.schema.simpleString() == expected.schema.simpleString()
    rows = sorted(map(plain, found.collect()), key=repr)
    assert rows == sorted(map(plain, expected.collect()), key=repr)
    assert len(rows) > 20


def followed(query: str) -> str:
    """Of variables that all patterns have: measures of nothing are not followed from matches."""
    measures = "COUNT(*) AS n, SUM(a.x) AS s, MIN(a.x) AS low, AVG(a.x) AS mean"
    return re.sub(r"MEASURES .*\)", f"MEASURES {measures} EMIT CHANGES)", query)


def test_one_pass(spark: SparkSession) -> None:
    assert sparkcep.rewrite(several(CLAUSES["users"]), spark).count("cep_match") == 1
    lines = [row[0] for row in spark.sql(f"EXPLAIN PATTERN {several(CLAUSES['users'])}").collect()]
    report = "\n".join(lines)
    assert "abc AS SEQ(A a, B b, C c)" in report
    assert "in one pass: abc, abd, closure, without, never" in report
    assert "prefix (a, b) of abc, abd, closure" in report


REFUSED = {
    "no_measures": ("MATCH PATTERNS (p AS SEQ(A a, B b) ORDER BY ts)", "needs MEASURES"),
    "two_names": ("MATCH PATTERNS (p AS A a, P AS B b ORDER BY ts MEASURES COUNT(*) AS n)", "two patterns are named P"),
    "no_name": ("MATCH PATTERNS (SEQ(A a, B b) ORDER BY ts MEASURES COUNT(*) AS n)", "expected"),
    "other_type": ("MATCH PATTERNS (p AS A a, q AS B a ORDER BY ts MEASURES COUNT(*) AS n)", "of another type"),
    "closure": ("MATCH PATTERNS (p AS A a, q AS A+ a ORDER BY ts MEASURES COUNT(*) AS n)", "a closure in one pattern"),
    "negated": (
        "MATCH PATTERNS (p AS SEQ(A a, !B b, C c), q AS B b ORDER BY ts MEASURES COUNT(*) AS n)",
        "negated in one pattern",
    ),
    "compared": (
        "MATCH PATTERNS (p AS SEQ(A a, B b), q AS C c ORDER BY ts WHERE a.x < b.x MEASURES COUNT(*) AS n)",
        "a.x < b.x compares events",
    ),
    "strategy": ("MATCH PATTERNS (p AS A a ORDER BY ts SKIP TILL NEXT MATCH MEASURES COUNT(*) AS n)", "ALL MATCHES"),
    "changes_name": (
        "MATCH PATTERNS (p AS A a, q AS B b ORDER BY ts MEASURES COUNT(*) AS emit_time EMIT CHANGES)",
        "the result column emit_time",
    ),
    "open_end": ("MATCH PATTERNS (p AS SEQ(!B b, A a) ORDER BY ts MEASURES COUNT(*) AS n)", "WITHIN"),
    "any_order": ("MATCH PATTERNS (p AS AND(A+ a, B b) ORDER BY ts MEASURES COUNT(*) AS n)", "in any order"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(spark: SparkSession, name: str) -> None:
    clause, message = REFUSED[name]
    with pytest.raises(CepError, match=message) as raised:
        sparkcep.rewrite(f"SELECT * FROM several_events {clause}", spark)
    assert raised.value.span is not None
