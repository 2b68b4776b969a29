"""Equality conjuncts that partition the events: the same matches with the rule and without it, and where it applies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sparkcep

RULE = "inferred_equalities"
APPLIES = {
    "transitive": "SEQ(A a, B b, C c) ORDER BY t WHERE a.x = b.x AND c.x = b.x",
    "other columns": "SEQ(A a, B b, C c) ORDER BY t WHERE a.x = b.x AND b.x = c.y WITHIN 9",
    "negated too": "SEQ(A a, NOT B n, C c) ORDER BY t WHERE a.x = c.x AND n.x = a.x AND n.y > a.y WITHIN 20",
    "closure": "SEQ(A a, B+ b) PARTITION BY k ORDER BY t WHERE b[i].x = a.x WITHIN 9",
    "floats and two classes": "SEQ(A a, B b) ORDER BY t WHERE a.f = b.f AND a.y = b.y AND a.t + 1 < b.t",
    "two columns of one variable": "SEQ(A a, B b) ORDER BY t WHERE a.x = b.x AND a.y = b.x",
}
STAYS = {
    "one positive variable, which may be NULL": "SEQ(A a, NOT B n) ORDER BY t WHERE n.x = a.x WITHIN 7",
    "a negated event without it": "SEQ(A a, NOT B n, C c) ORDER BY t WHERE a.x = c.x",
    "tied by a negated event only": "SEQ(A a, NOT B n, C c) ORDER BY t WHERE n.x = a.x AND n.x = c.x",
    "one variable left out": "AND(A a, B b, C c) ORDER BY t WHERE a.x = b.x WITHIN 5",
    "optional": "SEQ(A a, B? b, C c) ORDER BY t WHERE a.x = b.x AND b.x = c.x WITHIN 5",
    "disjunction": "OR(SEQ(A a, B b), SEQ(A a2, C c)) ORDER BY t WHERE a.x = b.x AND a2.x = c.x",
    "two keys of one event": "SEQ(A a, A b) ORDER BY t WHERE a.x = b.y",
    "ranks": "SEQ(A a, B b) ORDER BY t WHERE a.x = b.x WITHIN 7 EVENTS",
}


@pytest.fixture(scope="module")
def keyed(spark: SparkSession) -> Iterator[SparkSession]:
    """``keyed``: 80 events with small domains, NULLs, NaN and both zeros."""
    source = random.Random(3)
    floats = [0.0, -0.0, float("nan"), 1.5, None]
    rows = [
        (source.choice("AABBC"), source.randrange(50), source.choice([0, 1, 2, None]), source.randrange(3), i % 2)
        for i in range(80)
    ]
    rows = [(*row, source.choice(floats)) for row in rows]
    session = spark.newSession()
    schema = "type STRING, t INT, x INT, y INT, k INT, f DOUBLE"
    session.createDataFrame(rows, schema).createOrReplaceTempView("keyed")
    yield session


def answers(session: SparkSession, queries: dict[str, str]) -> dict[str, Counter]:
    parts = [
        f"SELECT '{name}' AS name, TO_JSON(STRUCT(m.*)) AS row FROM keyed MATCH PATTERN ({query}) AS m"
        for name, query in queries.items()
    ]
    found: dict[str, Counter] = {name: Counter() for name in queries}
    for name, row in session.sql(" UNION ALL ".join(parts)).collect():
        found[name][row] += 1
    return found


def test_the_answer_stays(keyed: SparkSession) -> None:
    keyed.conf.unset("sparkcep.rules.disable")
    inferred = answers(keyed, APPLIES)
    keyed.conf.set("sparkcep.rules.disable", RULE)
    try:
        plain = answers(keyed, APPLIES)
    finally:
        keyed.conf.unset("sparkcep.rules.disable")
    for name in APPLIES:
        assert plain[name], name
        assert inferred[name] == plain[name], name


@pytest.mark.parametrize("query", APPLIES.values(), ids=APPLIES)
def test_applies(keyed: SparkSession, query: str) -> None:
    lines = [row[0] for row in keyed.sql(f"EXPLAIN PATTERN SELECT * FROM keyed MATCH PATTERN ({query})").collect()]
    assert any(line.startswith("partition") and line.endswith("(inferred)") for line in lines)


@pytest.mark.parametrize("query", STAYS.values(), ids=STAYS)
def test_stays(keyed: SparkSession, query: str) -> None:
    plan = keyed.sql(f"EXPLAIN PATTERN SELECT * FROM keyed MATCH PATTERN ({query})").collect()
    assert not any("(inferred)" in row[0] for row in plan)


def test_a_count_needs_no_match(keyed: SparkSession) -> None:
    text = "SELECT COUNT(*) FROM keyed MATCH PATTERN (SEQ(A a, B b) ORDER BY t WHERE a.x = b.x WITHIN 9)"
    assert "AggregateSpec" in sparkcep.rewrite(text, keyed)
    counted = keyed.sql(text).collect()
    keyed.conf.set("sparkcep.rules.disable", f"{RULE}, aggregate_pushdown")
    try:
        assert "AggregateSpec" not in sparkcep.rewrite(text, keyed)
        assert keyed.sql(text).collect() == counted
    finally:
        keyed.conf.unset("sparkcep.rules.disable")
