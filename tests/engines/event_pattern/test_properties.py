"""Random patterns over random streams: the engine equals the brute-force matcher, whatever the chunk size."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.pattern.event import And, Element, EventItem, EventPattern, Not, Or, Seq, elements
from sparkcep.spec.event import Predicate
from tests.draws import draws
from tests.engines.event_pattern.oracle import matches
from tests.engines.event_pattern.streams import Clause, Row, answer, call, where

TYPES = "ABC"
GROUPS: list[type[Seq] | type[And] | type[Or]] = [Seq, And, Or]
COLUMNS = {"x": pa.int64(), "y": pa.int64()}


@st.composite
def patterns(draw: st.DrawFn) -> EventPattern:
    """Trees of depth two with up to four positive and two negated elements."""
    counter = iter(range(100))

    def element() -> Element:
        return Element(f"v{next(counter)}", draw(st.sampled_from([(), ("A",), ("B",), ("C",), ("A", "B")])))

    def leaf() -> EventItem:
        return Not(element()) if draw(st.integers(0, 4)) == 0 else element()

    def group(size: int) -> EventItem:
        kind = draw(st.sampled_from(GROUPS))
        return kind((element(), *(leaf() for _ in range(size - 1)))) if size > 1 else leaf()

    kind = draw(st.sampled_from(GROUPS[:2]))
    parts = tuple(group(size) for size in draw(st.sampled_from([(1, 1), (1, 1, 1), (2, 1), (1, 2), (1, 2, 1), (2, 2)])))
    return kind((element(), *parts) if all(_may_be_empty(part) for part in parts) else parts)


def _may_be_empty(item: EventItem) -> bool:
    """Whether the item can be satisfied without an event; a pattern that can is refused."""
    if isinstance(item, Or):
        return any(_may_be_empty(part) for part in item.items)
    return isinstance(item, Not)


@st.composite
def predicates(draw: st.DrawFn, pattern: EventPattern) -> tuple[Predicate, ...]:
    names = [part.variable for part in elements(pattern)]
    negated = {part.variable for part in elements(pattern, negated=True)}
    pairs = [(x, y) for x in names for y in names if x < y and not {x, y} <= negated]
    if not pairs:
        return ()
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=3, unique=True))
    forms = [
        lambda x, y: call("eq", f"{x}.x", f"{y}.x"),
        lambda x, y: call("eq", f"{y}.y", f"{x}.x"),
        lambda x, y: call("lt", f"{x}.x", f"{y}.y"),
        lambda x, y: call("or", call("ne", f"{x}.x", f"{y}.x"), call("eq", f"{x}.y", f"{y}.y")),
        lambda x, y: call("lt", call("add", f"{x}.x", f"{y}.y"), f"{y}.x"),
    ]
    return where(*(draw(st.sampled_from(forms))(x, y) for x, y in chosen))


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    pattern = draw(patterns())
    window = draw(st.sampled_from(["time", "events", "none"]))
    has_negation = bool(elements(pattern, negated=True))
    size = draw(st.integers(1, 6))
    conditions = draw(predicates(pattern))
    if window == "time" or (window == "none" and has_negation):
        return Clause(pattern, within=size, predicates=conditions)
    return Clause(pattern, events=size if window == "events" else None, predicates=conditions)


@st.composite
def streams(draw: st.DrawFn) -> list[Row]:
    cell = st.one_of(st.none(), st.integers(0, 2))
    count = draw(st.integers(0, 9))
    return [
        {
            "id": f"e{i}",
            "type": draw(st.sampled_from(TYPES)),
            "time": draw(st.integers(0, 8)),
            "key": draw(st.integers(0, 1)),
            "x": draw(cell),
            "y": draw(cell),
        }
        for i in range(count)
    ]


@draws(300)
@given(clauses(), streams(), st.lists(st.integers(0, 3), min_size=9, max_size=9))
def test_deadlines_may_fall(clause: Clause, rows: list[Row], late: list[int]) -> None:
    """Calendar windows: an event may have an earlier deadline than an event before it."""
    dated = [{**row, "deadline": row["time"] + (clause.within or 0) + late[row["time"]]} for row in rows]
    assert answer(clause, dated, COLUMNS) == matches(clause, dated)


@draws(300)
@given(clauses(), streams())
def test_engine_equals_brute_force(clause: Clause, rows: list[Row]) -> None:
    expected = matches(clause, rows)
    for chunk in (1, 2, 1 << 18):
        assert answer(clause, rows, COLUMNS, chunk=chunk, output_rows=chunk) == expected
