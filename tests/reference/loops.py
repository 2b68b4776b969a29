"""MATCH PATTERN with loops, ``SEQ(B b, C c)+ rounds``, by enumeration: the rounds of each loop, their chains, then the tests, one after another.

In: a ``Query`` whose outermost SEQ has loops, and the conditions within the rounds. Out: the set of matches. Source: the project's semantics page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkcep.pattern import event as ir
from tests.reference.branches import branches, negations
from tests.reference.events import (
    Condition,
    Event,
    Placement,
    Query,
    Stream,
    holds,
    in_window,
    occurs,
    placements,
    streams,
)

Value = tuple[Any, ...]
"""Of a variable the positions of its events; of a loop its rounds, each a match of the body."""

Found = dict[str, Value]

Inside = Mapping[str, tuple[Condition, ...]]
"""Loop → the conditions within one of its rounds."""


def match_loops(query: Query, inside: Inside, events: Sequence[Event]) -> frozenset[Any]:
    """All matches: (variable, what it took) for each positive variable."""
    return frozenset(
        _shown(query.pattern, found) for stream in streams(query, events) for found in _matches(query, inside, stream)
    )


def _shown(pattern: ir.EventPattern, found: Found) -> Any:
    """A match, and a round, with what its variables took: a position (of a loop a round), several, or None."""

    def value(element: ir.Element) -> Any:
        taken: Any = found.get(element.variable, ())
        if isinstance(element, ir.Loop):
            taken = tuple(_shown(element.body, dict(each)) for each in taken)
        return taken if element.kleene else next(iter(taken), None)

    return tuple((element.variable, value(element)) for element in ir.elements(pattern, negated=False))


def _matches(query: Query, inside: Inside, stream: Stream) -> list[Found]:
    found = {
        tuple(sorted(one.items()))
        for branch in branches(query.pattern)
        for one in _in_order(branch, query, inside, stream)
        if _accepted(branch, one, query, stream)
    }
    return [dict(one) for one in found]


def _in_order(branch: ir.EventPattern, query: Query, inside: Inside, stream: Stream) -> list[Found]:
    """What the items of the outermost SEQ can take, each behind the one before it."""
    found: list[Found] = [{}]
    for item in branch.items if isinstance(branch, ir.Seq) else (branch,):
        if isinstance(item, ir.Not):
            continue
        if isinstance(item, ir.Loop):
            parts: list[Found] = [{item.variable: chain} for chain in _chains(item, query, inside, stream)]
        else:
            parts = [dict(one) for one in placements(item, replace(query, conditions=()), stream)]
        found = [left | right for left in found for right in parts if _before(left, right, stream)]
    return found


def _chains(loop: ir.Loop, query: Query, inside: Inside, stream: Stream) -> Iterator[Value]:
    """The sequences of rounds that the bounds admit, each round behind the one before it."""
    body = replace(query, pattern=loop.body, conditions=inside.get(loop.variable, ()))
    rounds = [tuple(sorted(one.items())) for one in _matches(body, inside, stream)]

    def grow(chain: Value) -> Iterator[Value]:
        if len(chain) >= max(loop.low, 1):
            yield chain
        if loop.high is None or len(chain) < loop.high:
            for each in rounds:
                if not chain or _before({"": (chain[-1],)}, {"": (each,)}, stream):
                    yield from grow((*chain, each))

    return grow(())


def _before(left: Found, right: Found, stream: Stream) -> bool:
    lefts, rights = ([stream.key(event) for event in _events(tuple(one.values()))] for one in (left, right))
    return not lefts or not rights or max(lefts) < min(rights)


def _events(taken: Any) -> Iterator[int]:
    """The positions of all events, also those in rounds."""
    if isinstance(taken, int):
        yield taken
    elif not isinstance(taken, str):
        for each in taken:
            yield from _events(each)


def _accepted(branch: ir.EventPattern, found: Found, query: Query, stream: Stream) -> bool:
    flat: Placement = {variable: tuple(_events(taken)) for variable, taken in found.items()}
    loops = {loop.variable for loop in ir.loops(query.pattern)}
    asked = replace(query, conditions=tuple(one for one in query.conditions if loops.isdisjoint(one.uses)))
    return (
        in_window(query, stream, flat)
        and all(
            _holds(one, query.pattern, found, stream) for one in query.conditions if one.uses.keys() <= found.keys()
        )
        and all(not occurs(negation, flat, asked, stream) for negation in negations(branch))
    )


def _holds(condition: Condition, pattern: ir.EventPattern, found: Found, stream: Stream) -> bool:
    known = {element.variable: element for element in ir.elements(pattern)}
    return holds(
        condition, {name: [_event(known[name], one, stream) for one in found[name]] for name in condition.uses}
    )


def _event(element: ir.Element, taken: Any, stream: Stream) -> Event:
    """An event; of a loop a round, as its events by variable."""
    if not isinstance(element, ir.Loop):
        return stream.events[taken]
    parts = {part.variable: part for part in ir.elements(element.body)}
    events = {name: [_event(parts[name], one, stream) for one in values] for name, values in taken}
    return {name: each if parts[name].kleene else each[0] for name, each in events.items()}
