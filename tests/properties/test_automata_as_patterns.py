"""Automata written for the forms of MATCH PATTERN and for row patterns find what those clauses find: their engines, and their references."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparkcep.spec.row import ColumnAt, Navigation, Output
from tests.adapters import event_matches as engine_matches
from tests.adapters import row_outputs
from tests.automata import found
from tests.corpus import EventCase, RowCase
from tests.draws import draws
from tests.reference.automaton import Automaton, arc, registers
from tests.reference.corpus import event_matches

Event = dict[str, Any]
DRAWN = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 3), st.integers(0, 4)), min_size=1, max_size=8)

FORMS = {
    "sequence": (
        EventCase("", "SEQ(A a, B b, C c)", (), within=8),
        ["s -> x WHEN type = 'A'", "x -> x", "x -> y WHEN type = 'B' SET at = ts", "y -> y", "y -> f WHEN type = 'C'"],
        "at INT",
        lambda m, e: (m[0], m[2], (e[m[1]]["ts"],)),
    ),
    "negation between": (
        EventCase("", "SEQ(A a, !B, C c)", (), within=8),
        ["s -> x WHEN type = 'A'", "x -> x WHEN type != 'B'", "x -> f WHEN type = 'C'"],
        "",
        lambda m, e: (m[0], m[1], ()),
    ),
    "closure with running aggregates": (
        EventCase("", "SEQ(A a, B+ b, C c)", (), within=8, where=("SUM(b[..i-1].x) < 5",)),
        [
            "s -> x WHEN type = 'A'",
            "x -> x",
            "x -> y WHEN type = 'B' SET n = n + 1, total = total + x",
            "y -> y",
            "y -> y WHEN type = 'B' AND total < 5 SET n = n + 1, total = total + x",
            "y -> f WHEN type = 'C'",
        ],
        "n INT DEFAULT 0, total INT DEFAULT 0",
        lambda m, e: (m[0], m[2], (len(m[1]), sum(e[one]["x"] for one in m[1]))),
    ),
    "contiguity": (
        EventCase("", "SEQ(A a, B+ b, C c)", (), strategy="partition_contiguity"),
        ["s -> x WHEN type = 'A'", "x -> y WHEN type = 'B'", "y -> y WHEN type = 'B'", "y -> f WHEN type = 'C'"],
        "",
        lambda m, e: (m[0], m[2], ()),
    ),
    "comparison with the first event": (
        EventCase("", "SEQ(A a, B b)", (), within=8, where=("b.x > a.x",)),
        ["s -> x WHEN type = 'A' SET first = x", "x -> x", "x -> f WHEN type = 'B' AND x > first"],
        "first INT",
        lambda m, e: (m[0], m[1], (e[m[0]]["x"],)),
    ),
    "negation at the end": (
        EventCase("", "SEQ(A a, !B)", (), within=5),
        ["s -> x WHEN type = 'A'", "x -> x WHEN type != 'B'", "x -> f ON WINDOW END"],
        "",
        lambda m, e: (m[0], None, ()),
    ),
}


def stream(drawn: list[tuple[str, int, int]]) -> list[Event]:
    """Events at different times."""
    events, time = [], 0
    for i, (letter, gap, x) in enumerate(drawn):
        time += gap
        events.append({"id": f"{letter}{i}", "type": letter.upper(), "ts": time, "x": x})
    return events


@pytest.mark.parametrize("name", FORMS)
@draws(60)
@given(drawn=DRAWN)
def test_a_form_of_match_pattern(name: str, drawn: list[tuple[str, int, int]]) -> None:
    case, arcs, text, answer = FORMS[name]
    events = stream(drawn)
    by_id = {event["id"]: event for event in events}
    wanted = EventCase("", case.pattern, tuple(events), case.strategy, case.within, where=case.where)
    automaton = Automaton("s", ("f",), tuple(map(arc, arcs)), registers(text), case.within)
    expected = {answer(match, by_id) for match in event_matches(wanted)}
    (lines,) = found(automaton, [events])
    ends = name != "negation at the end"  # which ends with the window, not with an event
    assert {answer(match, by_id) for match in engine_matches(wanted)} == expected
    assert {(events[a]["id"], events[b]["id"] if ends else None, values) for a, b, _, values in lines} == expected


SHAPES = {
    "S D+ U+": ["down -> down D", "down -> up U", "up -> up U"],
    "S D+ U+ D+ U+": ["down -> down D", "down -> a U", "a -> a U", "a -> b D", "b -> b D", "b -> up U", "up -> up U"],
}
"""The V-shape and the double bottom of the corpus: D falls, U rises."""


@pytest.mark.parametrize("pattern", SHAPES)
@draws(100)
@example([5, 3, 2, 4, 6, 5, 7, 7])
@example([9, 5, 7, 4, 8, 8, 1])
@given(st.lists(st.integers(0, 4), min_size=1, max_size=10))
def test_row_patterns(pattern: str, prices: list[int]) -> None:
    """From every row, every length: substrings of falls and rises. The row pattern's match is the longest from a row."""
    signs = "".join(
        "U" if new > old else "D" if new < old else "=" for old, new in zip(prices, prices[1:], strict=False)
    )
    shape = pattern.removeprefix("S ").replace(" ", "")
    expected = {(i, j) for i in range(len(prices)) for j in range(i, len(prices)) if re.fullmatch(shape, signs[i:j])}
    lines = spans(["start -> down D", *SHAPES[pattern]], prices)
    assert lines == expected
    case = RowCase("", pattern, ((frozenset(),) * len(prices),), labelled=False, columns={"x": tuple(prices)})
    case = replace(case, define={"D": "x < PREV(x)", "U": "x > PREV(x)"}, skip=("next_row", None))
    outputs = [Output("first", ColumnAt("id", Navigation(last=False))), Output("last", ColumnAt("id", Navigation()))]
    longest = {(i + 1, max(last for first, last in lines if first == i) + 1) for i, _ in lines}
    assert set(row_outputs(case, outputs)) == longest


def spans(steps: list[str], prices: list[int]) -> set[tuple[int, int]]:
    """First and last row of what an automaton finds, whose arcs compare with the price before."""
    arcs = ["s -> start SET last = x"]
    for step in steps:
        arcs.append(f"{step[:-1]} WHEN x {'<' if step[-1] == 'D' else '>'} last SET last = x")
    automaton = Automaton("s", ("up",), tuple(map(arc, arcs)), registers("last INT"))
    (lines,) = found(automaton, [[{"ts": i, "x": price} for i, price in enumerate(prices)]])
    return {(a, b) for a, b, _, _ in lines}
