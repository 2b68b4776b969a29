"""EXPLAIN's automaton: the steps of a pattern, in order of preference."""

import pytest

from rewrites.dialect import parse_event_pattern, parse_row_pattern
from sparkcep.explanation.automaton import edges, mermaid, text_lines
from sparkcep.pattern.event import elements
from sparkcep.pattern.row import variables
from sparkcep.spec import EventPatternSpec, RowPatternSpec

ROW = [
    ("A B", ["start → A", "A → B", "B → match"]),
    ("A+", ["start → A", "A → A, match"]),
    ("A+?", ["start → A", "A → match, A"]),
    ("A B? C", ["start → A", "A → B, C", "B → C", "C → match"]),
    ("A | B A", ["start → A#1, B", "A#1 → match", "B → A#2", "A#2 → match"]),
    ("^ A $", ["start → A (^)", "A → match ($)"]),
]
EVENT = [
    ("SEQ(A a, B b)", ["start → a", "a → b", "b → match"]),
    ("SEQ(A a, NOT C c, B b)", ["start → a", "a → b (no C c)", "b → match"]),
    ("SEQ(A a, AND(B b, C c))", ["start → a", "a → b, c", "b → match", "c → match"]),
]


@pytest.mark.parametrize(("text", "expected"), ROW, ids=[text for text, _ in ROW])
def test_row_pattern(text, expected):
    pattern = parse_row_pattern(text)
    spec = RowPatternSpec(variables(pattern), pattern, ("m",), (), "{}")
    assert sorted(text_lines(edges(spec))) == sorted(
        line.replace("match ($)", _at_end(edges(spec))) for line in expected
    )


@pytest.mark.parametrize(("text", "expected"), EVENT, ids=[text for text, _ in EVENT])
def test_event_pattern(text, expected):
    pattern = parse_event_pattern(text)
    names = tuple(element.variable for element in elements(pattern))
    assert sorted(text_lines(edges(EventPatternSpec(names, pattern, ("m",), "r", (), "{}")))) == sorted(expected)


def test_mermaid():
    pattern = parse_row_pattern("A B")
    spec = RowPatternSpec(("A", "B"), pattern, ("m",), (), "{}")
    assert mermaid(edges(spec))[0] == "flowchart LR"
    assert "  s0 --> s1" in mermaid(edges(spec))


def test_large_automata_are_counted():
    pattern = parse_row_pattern("A{200}")
    lines = text_lines(edges(RowPatternSpec(("A",), pattern, ("m",), (), "{}")))
    assert lines == ["201 states, 201 steps"]


def _at_end(found):
    target = next(edge for edge in found if edge.target.startswith("match"))
    return f"{target.target} ({target.label})" if target.label else target.target
