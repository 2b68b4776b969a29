"""MATCH PATTERN by enumeration: every assignment of events to variables, then the tests, one after another.

In: a ``Query`` (pattern IR, conditions as callables) and events as dicts in input order. Out: the set of matches.
Sources: the project's semantics page; SASE section 2, SASE+ sections 2 and 3.2 (skip till next match is in ``nfa``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkcep.pattern import event as ir
from tests.reference.branches import UndefinedError, branches, negations

Event = Mapping[str, Any]
"""Attributes by name; ``type`` is the event type."""

Placement = dict[str, tuple[int, ...]]
"""Variable → positions of its events (one, or the elements of a closure); variables without an event are absent."""

Match = tuple[tuple[str, int | tuple[int, ...] | None], ...]
"""(variable, event position; closure: positions; None: no event) for each positive variable, in pattern order."""

Use = Literal["whole", "first", "element"]
"""How a condition looks at a variable: all of it, ``v[1]`` alone, or once per element (``v[i]``)."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct of WHERE. ``holds`` gets lists of events by variable; for an ``element`` use the list ends with
    ``v[i]``.

    It constrains only matches in which all its variables took events.
    """

    uses: Mapping[str, Use]
    holds: Callable[[Mapping[str, list[Event]]], bool]


@dataclass(frozen=True, slots=True)
class Query:
    """A MATCH PATTERN clause. ``within`` is in units of the first ``order`` column; ``within_events`` counts ranks."""

    pattern: ir.EventPattern
    strategy: Literal["any", "next", "partition_contiguity", "strict_contiguity"] = "any"
    conditions: tuple[Condition, ...] = ()
    within: float | None = None
    within_events: int | None = None
    partition: tuple[str, ...] = ()
    equivalence: tuple[str, ...] = ()
    order: tuple[str, ...] = ("ts",)
    non_overlapping: bool = False

    @property
    def positive(self) -> tuple[ir.Element, ...]:
        """The elements that are part of the result."""
        return ir.elements(self.pattern, negated=False)


def match_events(query: Query, events: Sequence[Event]) -> frozenset[Match]:
    """All matches, or with ``non_overlapping`` the chosen ones. Raises UndefinedError."""
    _readings(query)
    found: set[Match] = set()
    for stream in streams(query, events):
        matches = stream_matches(query, stream)
        found |= {stream.match(query, placement) for placement in matches}
    return frozenset(found)


def _readings(query: Query) -> list[ir.EventPattern]:
    """The pattern's branches. Raises UndefinedError for one whose negations cannot be told, unless another one takes the same variables and has
    none: then it adds nothing."""
    within = query.within is not None or query.within_events is not None
    found = branches(query.pattern)
    free = {_taken(branch) for branch in found if not any(negations(branch))}
    told = [branch for branch in found if within or all(before and after for _, before, after in negations(branch))]
    if any(branch not in told and _taken(branch) not in free for branch in found):
        raise UndefinedError("a NOT at the start, at the end or in an AND needs WITHIN")
    return told


def _taken(branch: ir.EventPattern) -> frozenset[str]:
    return frozenset(element.variable for element in ir.elements(branch, negated=False))


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of one partition (``members``, input positions in ORDER BY order) among all events of the input."""

    query: Query
    events: Sequence[Event]
    members: tuple[int, ...]
    places: Mapping[int, int] = field(default_factory=dict)
    """For strategies that need a total order: the place of each event among its neighbours."""

    def key(self, event: int) -> Any:
        """What "strictly before" compares: the ORDER BY tuple under ANY, the place in the total order otherwise."""
        return order_key(self.query, self.events[event]) if self.query.strategy == "any" else self.places[event]

    def time(self, event: int) -> Any:
        """The first ORDER BY column."""
        return self.events[event][self.query.order[0]]

    def rank(self, event: int) -> int:
        """The number of events strictly earlier in the partition."""
        mine = order_key(self.query, self.events[event])
        return sum(order_key(self.query, self.events[other]) < mine for other in self.members)

    def match(self, query: Query, placement: Placement) -> Match:
        """The result of a placement: NULL for what was not taken, () for ``*`` outside an OR."""
        branch_free = not any(isinstance(node, ir.Or) for node in ir.walk(query.pattern))
        nothing = {element.variable: () if element.kleene and branch_free else None for element in query.positive}
        values = {
            element.variable: placement[element.variable] if element.kleene else placement[element.variable][0]
            for element in query.positive
            if element.variable in placement
        }
        return tuple((nothing | values).items())


def order_key(query: Query, event: Event) -> tuple[Any, ...]:
    """The ORDER BY tuple (ascending, no NULLs)."""
    return tuple(event[column] for column in query.order)


def streams(query: Query, events: Sequence[Event]) -> Iterator[Stream]:
    """One stream per PARTITION BY and ``[attr]`` value; NULL is a PARTITION BY value but satisfies no ``[attr]``."""
    in_order = sorted(range(len(events)), key=lambda event: order_key(query, events[event]))
    groups: dict[tuple[Any, ...], list[int]] = {}
    for event in in_order:
        if any(events[event].get(attr) is None for attr in query.equivalence):
            continue
        key = tuple(events[event].get(column) for column in query.partition + query.equivalence)
        groups.setdefault(key, []).append(event)
    for members in groups.values():
        line = in_order if query.strategy == "strict_contiguity" else members
        yield Stream(query, events, tuple(members), {event: place for place, event in enumerate(line)})


def stream_matches(query: Query, stream: Stream) -> list[Placement]:
    """The placements of one partition that are matches, without duplicates."""
    from tests.reference.nfa import next_placements  # nfa builds on this module

    found: dict[tuple[Any, ...], Placement] = {}
    for branch in _readings(query):
        candidates = (
            next_placements(branch, query, stream) if query.strategy == "next" else placements(branch, query, stream)
        )
        for placement in candidates:
            if _accepted(branch, placement, query, stream):
                found[tuple(sorted(placement.items()))] = placement
    chosen = list(found.values())
    return non_overlapping(query, stream, chosen) if query.non_overlapping else chosen


def _accepted(branch: ir.EventPattern, placement: Placement, query: Query, stream: Stream) -> bool:
    return (
        in_window(query, stream, placement)
        and adjacent(query, stream, placement)
        and all(not occurs(negation, placement, query, stream) for negation in negations(branch))
    )


def in_window(query: Query, stream: Stream, placement: Placement) -> bool:
    """``last.ts - first.ts < W`` and ``rank(last) - rank(first) < n``."""
    taken = [event for events in placement.values() for event in events]
    times = [stream.time(event) for event in taken]
    ranks = [stream.rank(event) for event in taken]
    in_time = query.within is None or max(times) - min(times) < query.within
    return in_time and (query.within_events is None or max(ranks) - min(ranks) < query.within_events)


def adjacent(query: Query, stream: Stream, placement: Placement) -> bool:
    """The contiguity strategies: the selected events are neighbours in the partition, or in the whole input."""
    if not query.strategy.endswith("contiguity"):
        return True
    places = sorted(stream.places[event] for events in placement.values() for event in events)
    return places == list(range(places[0], places[0] + len(places)))


def placements(
    node: ir.EventItem, query: Query, stream: Stream, given: Placement | None = None, among: Sequence[int] | None = None
) -> list[Placement]:
    """Every way to place the positive elements below ``node`` in order, conditions tested; ``given`` is fixed."""
    among = stream.members if among is None else among
    given = given or {}
    match node:
        case ir.Element():
            own = [{node.variable: chain} for chain in _chains(node, stream, among)]
        case ir.Seq(items=items) | ir.And(items=items):
            own = _combined(isinstance(node, ir.Seq), items, query, stream, given, among)
        case _:
            raise UndefinedError(f"no placements of {node}")
    return [placement for placement in own if consistent(query, stream, given | placement)]


def _combined(
    in_order: bool,
    items: tuple[ir.EventItem, ...],
    query: Query,
    stream: Stream,
    given: Placement,
    among: Sequence[int],
) -> list[Placement]:
    found: list[Placement] = [{}]
    for item in items:
        if not isinstance(item, ir.Not):
            parts = placements(item, query, stream, given, among)
            found = [left | right for left in found for right in parts if _fits(left, right, in_order, stream)]
            found = [placement for placement in found if consistent(query, stream, given | placement)]
    return found


def _fits(left: Placement, right: Placement, in_order: bool, stream: Stream) -> bool:
    """SEQ: all of ``left`` strictly before all of ``right``. AND: no event twice."""
    lefts = [event for events in left.values() for event in events]
    rights = [event for events in right.values() for event in events]
    if in_order:
        return all(stream.key(one) < stream.key(other) for one in lefts for other in rights)
    return not set(lefts) & set(rights)


def _chains(element: ir.Element, stream: Stream, among: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The non-empty, strictly ordered tuples of events that the element's type and bounds admit."""
    candidates = [event for event in among if takes(element, stream.events[event])]
    longest = len(candidates) if element.high is None else element.high

    def grow(chain: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(chain) >= max(element.low, 1):
            yield chain
        if len(chain) < longest:
            for event in candidates:
                if not chain or stream.key(chain[-1]) < stream.key(event):
                    yield from grow((*chain, event))

    return grow(())


def takes(element: ir.Element, event: Event) -> bool:
    """Whether the event's type is one of the element's (ANY takes every type, a NULL type too)."""
    return not element.types or event["type"] in element.types


def consistent(query: Query, stream: Stream, placement: Placement, open_variable: str | None = None) -> bool:
    """Whether every condition that can be judged holds; ``open_variable`` is a closure that may still grow."""
    return all(
        condition_holds(condition, stream, placement)
        for condition in query.conditions
        if all(
            variable in placement and (variable != open_variable or use != "whole")
            for variable, use in condition.uses.items()
        )
    )


def condition_holds(condition: Condition, stream: Stream, placement: Placement) -> bool:
    """The condition over one placement; with an ``element`` use it must hold for each prefix of that closure."""
    return holds(condition, {name: [stream.events[event] for event in placement[name]] for name in condition.uses})


def holds(condition: Condition, bound: Mapping[str, list[Event]]) -> bool:
    """``condition_holds`` of the events themselves."""
    walked = [variable for variable, use in condition.uses.items() if use == "element"]
    if not walked:
        return condition.holds(bound)
    (variable,) = walked
    elements = bound[variable]
    return all(condition.holds({**bound, variable: elements[:length]}) for length in range(1, len(elements) + 1))


def occurs(
    negation: tuple[ir.Not, frozenset[str], frozenset[str]],
    placement: Placement,
    query: Query,
    stream: Stream,
) -> bool:
    """Whether a match of the negated item lies in the interval that its place names."""
    item, before, after = negation
    inside = [event for event in stream.members if _inside(event, before, after, placement, query, stream)]
    for branch in branches(item.item):
        for inner in placements(branch, query, stream, placement, inside):
            if all(not occurs(nested, placement | inner, query, stream) for nested in negations(branch)):
                return True
    return False


def _inside(
    event: int,
    before: frozenset[str],
    after: frozenset[str],
    placement: Placement,
    query: Query,
    stream: Stream,
) -> bool:
    """After what precedes, before what follows, and not an event of the match itself (it has its variable)."""
    if any(event in events for events in placement.values()):
        return False
    lower = [stream.key(taken) for variable in before & placement.keys() for taken in placement[variable]]
    upper = [stream.key(taken) for variable in after & placement.keys() for taken in placement[variable]]
    behind = stream.key(event) > max(lower) if lower else _in_reach(event, placement, query, stream, True)
    ahead = stream.key(event) < min(upper) if upper else _in_reach(event, placement, query, stream, False)
    return behind and ahead


def _in_reach(event: int, placement: Placement, query: Query, stream: Stream, backwards: bool) -> bool:
    """``> match_end - W`` (backwards) or ``< match_start + W``."""
    taken = [other for events in placement.values() for other in events]
    measure: Callable[[int], Any] = stream.rank if query.within is None else stream.time
    width: Any = query.within_events if query.within is None else query.within
    if backwards:
        return bool(measure(event) > max(measure(other) for other in taken) - width)
    return bool(measure(event) < min(measure(other) for other in taken) + width)


def non_overlapping(query: Query, stream: Stream, matches: list[Placement]) -> list[Placement]:
    """NON OVERLAPPING MATCHES: ends first, starts first, earliest events; the next starts after that end."""

    def preference(placement: Placement) -> tuple[Any, ...]:
        ranks = sorted(stream.key(event) for events in placement.values() for event in events)
        order = [element.variable for element in query.positive]
        by_variable = [[stream.key(event) for event in placement.get(variable, ())] for variable in order]
        return ranks[-1], ranks[0], ranks, by_variable

    chosen: list[Placement] = []
    for placement in sorted(matches, key=preference):
        if not chosen or preference(placement)[1] > preference(chosen[-1])[0]:
            chosen.append(placement)
    return chosen
