"""Loops of MATCH PATTERN over several events, against the slow matcher."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sparkcep
from rewrites.dialect import parse_event_pattern
from rewrites.rewrite import RULES
from sparkcep.pattern import event as ir
from sparkcep.session.config import DISABLED_RULES
from tests.reference.events import Condition, Query
from tests.reference.loops import Inside, match_loops

pytestmark = pytest.mark.spark

COLUMNS = "n INT, k INT, ts INT, type STRING, x INT"


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern; ``where``: conditions as SQL and as the slow matcher has them; ``inside``: those within rounds."""

    pattern: str
    where: tuple[tuple[str, Condition], ...] = ()
    inside: tuple[tuple[str, str, Condition], ...] = ()
    within: int | None = None
    same: bool = False
    keyed: bool = True


def _condition(holds: Any, **uses: Any) -> Condition:
    return Condition(uses, holds)


RISES = (
    "g[i].b.x >= g[i-1].c.x",
    _condition(lambda e: len(e["g"]) < 2 or e["g"][-1]["b"]["x"] >= e["g"][-2]["c"]["x"], g="element"),
)
UPWARDS = ("g", "b.x <= c.x", _condition(lambda e: e["b"][0]["x"] <= e["c"][0]["x"], b="whole", c="whole"))
ABOVE = ("g[i].c.x >= a.x", _condition(lambda e: e["g"][-1]["c"]["x"] >= e["a"][0]["x"], g="element", a="whole"))
FIRST = ("g[1].b.x < d.x", _condition(lambda e: e["g"][0]["b"]["x"] < e["d"][0]["x"], g="first", d="whole"))
MANY = ("COUNT(g.*) > 1", _condition(lambda e: len(e["g"]) > 1, g="whole"))
TOTAL = ("SUM(g.b.x) < 4", _condition(lambda e: sum(one["b"]["x"] for one in e["g"]) < 4, g="whole"))
LIKE_X = ("n.x = d.x", _condition(lambda e: e["n"][0]["x"] == e["d"][0]["x"], n="whole", d="whole"))

CASES = {
    "between two events": Case("SEQ(A a, SEQ(B b, C c)+ g, D d)"),
    "alone": Case("SEQ(B b, C c)+ g", within=7),
    "conditions": Case("SEQ(A a, SEQ(B b, C c)+ g, D d)", (ABOVE,), (UPWARDS,)),
    "aggregates": Case("SEQ(A a, SEQ(B b, C c)+ g, D d)", (MANY,)),
    "between rounds": Case("SEQ(A a, SEQ(B b, C c)+ g)", (RISES, TOTAL)),
    "at the start": Case("SEQ(SEQ(B b, C c)+ g, D d)", (FIRST,), within=6),
    "at the end": Case("SEQ(A a, SEQ(B b, C c){2,3} g)", within=9),
    "may be absent": Case("SEQ(A? a, SEQ(B b, C c)* g, D d)", within=5),
    "one round or none": Case("SEQ(SEQ(B b, C c)? g, D d)", within=5),
    "one round": Case("SEQ(A a, SEQ(B b, C c){1} g, D d)", (("g.b.x < d.x", FIRST[1]),), within=9),
    "what must not come": Case("SEQ(A a, NOT X n, SEQ(B b, NOT X m, C c)+ g, NOT X o, D d)", (LIKE_X,)),
    "what must not come at the ends": Case("SEQ(NOT X n, SEQ(B b, C c)+ g, NOT D o)", within=5),
    "closures in rounds": Case("SEQ(A a, SEQ(B+ b, C? c)+ g, D d)", within=11),
    "AND in rounds": Case("SEQ(A a, AND(B b, C c)+ g, D d)", within=9),
    "OR in rounds": Case(
        "SEQ(A a, OR(B b, C c){2} g, D d)",
        (
            (
                "g[1].b.x < d.x",
                _condition(lambda e: "b" in e["g"][0] and e["g"][0]["b"]["x"] < e["d"][0]["x"], g="first", d="whole"),
            ),
        ),
    ),
    "SEQ in SEQ": Case("SEQ(A a, SEQ(SEQ(B b, C c)+ g, NOT X o), D d)", (MANY,)),
    "two loops": Case("SEQ(SEQ(A a, B b)+ g, SEQ(C c, D d)+ h)", within=10),
    "loops in rounds": Case("SEQ(SEQ(SEQ(B b, C c)+ h, X d)+ g, D a)", within=10),
    "equal attributes": Case("SEQ(A? a, SEQ(B b, C? c)+ g, D d)", same=True),
    "attributes of closures in rounds": Case("SEQ(A? a, SEQ(B* b, C c)+ g)", same=True, within=8),
    "no partitions": Case("SEQ(A a, SEQ(B b, C c)+ g, D d)", within=11, keyed=False),
    "ANY": Case("SEQ(ANY a, SEQ(ANY b, C c)+ g, X d)", within=7),
}


def events(seed: int, case: Case) -> list[dict[str, Any]]:
    """Small partitions with ties; A tends to be early and D to be late."""
    choice = random.Random(seed)
    rows = []
    for k in range(24 if case.keyed else 4):
        for i in range(choice.randrange(6, 12)):
            ts = choice.randrange(11)
            kind = (
                choice.choice("ABCDX")
                if choice.random() < 0.3
                else choice.choice(("AAB", "BCBCBCX", "CDD")[(ts > 2) + (ts > 7)])
            )
            rows.append(
                {
                    "n": 100 * k + i,
                    "k": k,
                    "ts": ts + (0 if case.keyed else 30 * k),
                    "type": kind,
                    "x": choice.randrange(3),
                }
            )
    return rows


def view(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    spark.createDataFrame([tuple(row.values()) for row in rows], COLUMNS).createOrReplaceTempView("loop_events")


def statement(case: Case, hint: str = "") -> str:
    where = [text for text, _ in case.where] + [text for _, text, _ in case.inside] + ["[x]"] * case.same
    parts = [f"/*+ {hint} */" * bool(hint), case.pattern, "PARTITION BY k" * case.keyed, "ORDER BY ts"]
    parts += [f"WHERE {' AND '.join(where)}"] if where else []
    parts += [f"WITHIN {case.within}"] if case.within else []
    return f"SELECT * FROM loop_events MATCH PATTERN ({' '.join(parts)})"


def expected(case: Case, rows: list[dict[str, Any]]) -> frozenset[Any]:
    inside: Inside = {name: tuple(one for owner, _, one in case.inside if owner == name) for name, _, _ in case.inside}
    query = Query(
        parse_event_pattern(case.pattern),
        conditions=tuple(condition for _, condition in case.where),
        within=case.within,
        partition=("k",) if case.keyed else (),
        equivalence=("x",) if case.same else (),
    )
    return match_loops(query, inside, rows)


def numbered(pattern: ir.EventPattern, row: Any) -> Any:
    """A row of the result as the slow matcher tells it, by the events' numbers."""

    def value(element: ir.Element) -> Any:
        taken = row[element.variable]
        one = (lambda each: numbered(element.body, each)) if isinstance(element, ir.Loop) else (lambda each: each["n"])
        if taken is None:
            return None
        return tuple(map(one, taken)) if element.kleene else one(taken)

    return tuple((element.variable, value(element)) for element in ir.elements(pattern, negated=False))


def by_number(found: Any, rows: list[dict[str, Any]]) -> Any:
    """Positions as numbers of events."""
    if isinstance(found, int):
        return rows[found]["n"]
    return tuple(by_number(one, rows) for one in found) if isinstance(found, tuple) else found


@pytest.mark.parametrize("name", CASES)
def test_the_matches(spark: SparkSession, name: str) -> None:
    case = CASES[name]
    rows = events(7, case)
    view(spark, rows)
    found = Counter(numbered(parse_event_pattern(case.pattern), row) for row in spark.sql(statement(case)).collect())
    wanted = Counter(by_number(one, rows) for one in expected(case, rows))
    assert wanted
    assert found == wanted


WHOLE = "SEQ(A? a, NOT X n, SEQ(B b, C c)* g, D d)"


def test_each_engine(spark: SparkSession) -> None:
    case = Case(WHOLE, (ABOVE, RISES), (UPWARDS,), within=9)
    rows = events(11, case)
    view(spark, rows)
    wanted = Counter(by_number(one, rows) for one in expected(case, rows))
    for hint in (*(f"CEP_ENGINE({name})" for name in ("chain", "tree", "eager", "stack")), "CEP_SHARDING(all)"):
        found = spark.sql(statement(case, hint)).collect()
        assert Counter(numbered(parse_event_pattern(WHOLE), row) for row in found) == wanted, hint


def test_without_a_rule(spark: SparkSession) -> None:
    case = Case(WHOLE, (ABOVE,), (UPWARDS,), within=9)
    view(spark, events(12, case))
    text = f"SELECT k, COUNT(*) AS n, MAX(size(g)) AS most FROM ({statement(case)}) WHERE k < 9 GROUP BY k"
    wanted = sorted(spark.sql(text).collect())
    assert wanted
    for rule in RULES:
        spark.conf.set(DISABLED_RULES, rule)
        try:
            assert sorted(spark.sql(text).collect()) == wanted, rule
        finally:
            spark.conf.unset(DISABLED_RULES)


def test_why_nothing_matched_is_told_of_the_rounds_too(spark: SparkSession) -> None:
    case = Case("SEQ(A a, SEQ(B b, C c)+ g, D d)", inside=(("g", "b.x > c.x + 9", UPWARDS[2]),))
    view(spark, events(13, case))
    rounds, matches = sparkcep.explain_analyze(statement(case)).clauses
    assert [one.taken for one in rounds.counts if one.item == "b.x > c.x + 9"] == [0]
    assert "g" in matches.why
