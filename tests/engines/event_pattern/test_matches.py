"""Exact matches of small streams: the numbered examples of the semantics, then one rule per case."""

from __future__ import annotations

import pytest

from sparkcep.pattern.event import And, Element, EventPattern, Not, Or, Seq
from tests.engines.event_pattern.oracle import matches
from tests.engines.event_pattern.streams import Clause, answer, call, stream, texts, where


def element(name: str) -> Element:
    """``A`` is type A, variable a; ``A2`` type A, variable a2; ``*1`` any type, variable any1."""
    if name.startswith("*"):
        return Element(f"any{name[1:]}", ())
    return Element(name.lower(), (name[0],))


def items(names: str) -> tuple[Element | Not, ...]:
    return tuple(Not(element(name[1:])) if name.startswith("!") else element(name) for name in names.split())


def seq(names: str) -> Seq:
    return Seq(items(names))


def conjunction(names: str) -> And:
    return And(items(names))


A, B, C, D, X = (element(name) for name in "ABCDX")

CASES = [
    ("E1 window is strict", Clause(seq("A B"), within=10), "a@0 b@9 b@10 b@11", ["a@0 b@9"]),
    ("E4 skip till any", Clause(seq("A B")), "a c b1 b2", ["a b1", "a b2"]),
    ("E7 negation in between", Clause(seq("A !B C")), "a1 b1 a2 c1 c2", ["a2 c1", "a2 c2"]),
    ("E8 negation before last", Clause(seq("A B !C D")), "a1 b2 c3 a4 b5 d6", ["a1 b5 d6", "a4 b5 d6"]),
    ("E9 one C", Clause(seq("A B C")), "a1 b1 a2 b2 c1", ["a1 b1 c1", "a1 b2 c1", "a2 b2 c1"]),
    ("E9 same type", Clause(seq("A A2")), "a1 a2 a3", ["a1 a2", "a1 a3", "a2 a3"]),
    ("single event", Clause(A), "a1 b1 a2", ["a1", "a2"]),
    ("single event, empty window", Clause(A, within=0), "a1 b1 a2", []),
    ("no event of a type", Clause(seq("A B C")), "a1 c1", []),
    ("ties do not follow", Clause(seq("A B")), "a1@0 b1@0 b2@1", ["a1@0 b2@1"]),
    ("AND takes any order", Clause(conjunction("A B")), "b1 a1 b2", ["a1 b1", "a1 b2"]),
    ("AND takes ties", Clause(conjunction("A B")), "b1@0 a1@0", ["a1@0 b1@0"]),
    ("AND of one type", Clause(conjunction("A A2")), "a1 a2", ["a1 a2", "a2 a1"]),
    ("AND of any and a type", Clause(conjunction("A *1")), "a1 b1", ["a1 b1"]),
    ("SEQ of any", Clause(seq("*1 *2")), "a1 b1@1 c1@1", ["a1 b1@1", "a1 c1@1"]),
    ("SEQ inside AND", Clause(And((seq("A B"), C))), "a1 c1 b1 c2 a2", ["a1 b1 c1", "a1 b1 c2"]),
    ("AND inside SEQ", Clause(Seq((A, And((B, C)), D))), "a1 c1 b1 d1 d2", ["a1 b1 c1 d1", "a1 b1 c1 d2"]),
    ("nested SEQ", Clause(Seq((A, seq("B C")))), "a1 b1 c1 b2", ["a1 b1 c1"]),
    ("window of events", Clause(seq("A B"), events=2), "a1 b1 b2", ["a1 b1"]),
    ("window of events over ties", Clause(seq("A B"), events=2), "a1@0 x@0 b1@1 b2@2", []),
    ("OR", Clause(Seq((A, Or((B, C)), D))), "a1 b1 c1 d1", ["a1 b1 d1", "a1 c1 d1"]),
    ("OR of negations is one match", Clause(Seq((A, Or((Not(B), Not(C))), D))), "a1 b1 d1 c1 d2", ["a1 d1"]),
    ("NOT of an OR", Clause(Seq((A, Not(Or((B, C))), D))), "a1 b1 a2 d1 c1 d2", ["a2 d1"]),
    ("NOT first", Clause(seq("!B A C"), within=3), "b@0 a@1 c@2 c@3", ["a@1 c@3"]),
    ("NOT first, tied with the start", Clause(seq("!B A"), within=3), "b@1 a@1", ["a@1"]),
    ("NOT last", Clause(seq("A !B"), within=3), "a1@0 b@3 a2@4 b@6", ["a1@0"]),
    ("NOT in AND, before", Clause(conjunction("A !B"), within=3), "b@0 a1@2 a2@3", ["a2@3"]),
    ("NOT in AND, after", Clause(conjunction("A !B"), within=3), "a1@0 a2@1 b@3", ["a1@0"]),
    ("NOT of the own type", Clause(conjunction("A !A2"), within=3), "a1@0 a2@2 a3@9", ["a3@9"]),
    ("NOT with two sides in AND", Clause(Seq((And((A, B)), Not(X), C))), "a1 x1 b1 c1", ["a1 b1 c1"]),
]


@pytest.mark.parametrize(("clause", "text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_matches(clause: Clause, text: str, expected: list[str]) -> None:
    found = answer(clause, stream(text))
    assert texts(found) == sorted(expected)
    assert found == matches(clause, stream(text))


def test_e9_eight_matches() -> None:
    assert len(answer(Clause(seq("A B C")), stream("a1 a2 b1 b2 c1 c2"))) == 8


def test_empty_table() -> None:
    clause = Clause(seq("A !X B"), within=5, predicates=where(call("lt", "a.time", "b.time")))
    assert answer(clause, []) == []


def test_partitions_do_not_mix() -> None:
    rows = stream("a1 b1 a2 b2", key=[0, 1, 1, 1])
    assert texts(answer(Clause(seq("A B")), rows)) == ["a2 b2"]
    assert texts(answer(Clause(seq("A B"), within=100), rows)) == ["a2 b2"]


def test_more_than_62_variables() -> None:
    pattern: EventPattern = Seq(tuple(Element(f"v{i}", (f"T{i}",)) for i in range(70)))
    rows = [{"id": f"e{i}", "type": f"T{i}", "time": i, "key": 0} for i in range(70)]
    assert len(answer(Clause(pattern), rows)) == 1
    assert answer(Clause(pattern), rows[:-1]) == []


def test_deadlines_that_fall() -> None:
    """``ts + 1 month`` across a clock change backwards: a1's window ends later than a2's, which starts later."""
    rows = stream("a1@0 a2@1 b1@3 b2@4")
    for row, deadline in zip(rows, [5, 4, 9, 9], strict=True):
        row["deadline"] = deadline
    clause = Clause(seq("A B"), within=1)
    assert texts(answer(clause, rows)) == ["a1@0 b1@3", "a1@0 b2@4", "a2@1 b1@3"]
    assert answer(clause, rows) == matches(clause, rows)


def test_equal_rows_are_distinct_events() -> None:
    rows = stream("a a b")
    assert len(answer(Clause(seq("A B")), rows)) == 2
