"""Augmented finite automata by definitions 1 and 2 of the AFA paper: every contiguous subsequence, every instantaneous description.

In: an ``Automaton`` whose conditions are trees of ``tests.reference.sql``, and the events of one partition in order. Out: the set of
(first event, last event, final state, register values). Written to be read against the definitions, not to be fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.reference.sql import Node, Ref, evaluate, parse

Event = Mapping[str, Any]
Values = tuple[Any, ...]
Description = tuple[str, Values]
"""State and register values: an instantaneous description, without what is still to be read."""
Found = tuple[int, int, str, Values]

MOST_DESCRIPTIONS = 2000
"""Of one event: more come of a cycle of ε-arcs only."""
FARTHEST = 1 << 256
"""What registers hold beyond it comes of such a cycle too: a square of a square … fills the memory long before there are as many descriptions."""


class EndlessError(Exception):
    """A cycle of ε-arcs makes new register values for ever."""


@dataclass(frozen=True, slots=True)
class Arc:
    """``on``: what the arc waits for. ``valid``: [from, to) of event times."""

    source: str
    target: str
    on: Literal["event", "epsilon", "window_end"] = "event"
    when: Node | None = None
    sets: tuple[tuple[str, Node], ...] = ()
    valid: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Automaton:
    """``registers``: the values before the first event, by name."""

    start: str
    finals: tuple[str, ...]
    arcs: tuple[Arc, ...]
    registers: Mapping[str, Any] = field(default_factory=dict)
    within: float | None = None


def match_automaton(automaton: Automaton, events: Sequence[Event]) -> frozenset[Found]:
    """All (first, last, final state, registers) that the automaton accepts in one partition's events."""
    return frozenset(found for first in range(len(events)) for found in _from(automaton, events, first))


def _from(automaton: Automaton, events: Sequence[Event], first: int) -> Iterator[Found]:
    """The accepted subsequences that begin at event ``first``."""
    ends = None if automaton.within is None else events[first]["ts"] + automaton.within
    before = (automaton.start, tuple(automaton.registers.values()))
    here = _closed(automaton, {before}, events[first]["ts"], ("epsilon",))
    last = first - 1
    while last + 1 < len(events) and (ends is None or events[last + 1]["ts"] < ends):
        last += 1
        event = events[last]
        taken = {new for old in here for new in _taken(automaton, old, event["ts"], ("event",), event)}
        here = _closed(automaton, taken, event["ts"], ("epsilon",))
        yield from ((first, last, state, values) for state, values in here if state in automaton.finals)
    if ends is not None and last >= first:
        over = {new for old in here for new in _taken(automaton, old, ends, ("window_end",), None)}
        for state, values in _closed(automaton, over, ends, ("window_end", "epsilon"), events[last]["ts"]):
            if state in automaton.finals:
                yield first, last, state, values


def _closed(
    automaton: Automaton,
    begin: set[Description],
    time: float,
    kinds: tuple[str, ...],
    epsilon_time: float | None = None,
) -> set[Description]:
    """``begin`` and all that arcs without an event lead to. ε-arcs are as old as the last event, arcs at the window's end as its end."""
    done, waiting = set(begin), list(begin)
    while waiting:
        old = waiting.pop()
        for kind in kinds:
            at = epsilon_time if kind == "epsilon" and epsilon_time is not None else time
            new = set(_taken(automaton, old, at, (kind,), None)) - done
            done |= new
            waiting += new
            if len(done) > MOST_DESCRIPTIONS or any(_far(value) for _, values in new for value in values):
                raise EndlessError
    return done


def _far(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > FARTHEST


def _taken(
    automaton: Automaton, old: Description, time: float, kinds: tuple[str, ...], event: Event | None
) -> Iterator[Description]:
    """What one arc of ``kinds`` leads to."""
    state, values = old
    registers = dict(zip(automaton.registers, values, strict=True))
    resolve = _resolver(registers, event)
    for arc in automaton.arcs:
        low, high = arc.valid
        valid = (low is None or low <= time) and (high is None or time < high)
        if arc.source != state or arc.on not in kinds or not valid:
            continue
        if arc.when is None or evaluate(arc.when, resolve) is True:
            new = {name: evaluate(value, resolve) for name, value in arc.sets}
            yield arc.target, tuple((registers | new).values())


def _resolver(registers: Mapping[str, Any], event: Event | None) -> Callable[[Node], Any]:
    def resolve(node: Node) -> Any:
        assert isinstance(node, Ref)
        if node.attribute in registers:
            return registers[node.attribute]
        assert event is not None, f"{node.attribute} is read where there is no event"
        return event.get(node.attribute)

    return resolve


_ARC = re.compile(
    r"(?:ARC )?(?P<source>\w+) -> (?P<target>\w+)(?: NAMED \w+)?(?: ON (?P<on>EPSILON|WINDOW END))?"
    r"(?: WHEN (?P<when>.+?))?(?: SET (?P<sets>.+?))?(?: VALID(?: FROM (?P<low>\S+))?(?: TO (?P<high>\S+))?)?"
)


def arc(text: str) -> Arc:
    """``q1 -> q2 WHEN type = 'A' SET r = r + 1``, as in the clause."""
    found = _ARC.fullmatch(" ".join(text.split()))
    if found is None:
        raise ValueError(f"cannot read the arc {text!r}")
    kinds: dict[str | None, Literal["event", "epsilon", "window_end"]] = {
        None: "event",
        "EPSILON": "epsilon",
        "WINDOW END": "window_end",
    }
    sets = [part.split("=", 1) for part in re.split(r",(?=\s*\w+\s*=)", found["sets"] or "") if part]
    return Arc(
        found["source"],
        found["target"],
        kinds[found["on"]],
        parse(found["when"]) if found["when"] else None,
        tuple((name.strip(), parse(value)) for name, value in sets),
        (_number(found["low"]), _number(found["high"])),
    )


def registers(text: str) -> dict[str, Any]:
    """``r INT DEFAULT 0, s STRING``: values before the first event."""
    found = {}
    for part in text.split(","):
        words = part.split()
        default = evaluate(parse(" ".join(words[3:])), _constant) if len(words) > 3 else None
        if words:
            found[words[0]] = float(default) if default is not None and words[1].upper() == "DOUBLE" else default
    return found


def _constant(node: Node) -> Any:
    """TRUE and FALSE, which the expression language reads as names."""
    assert isinstance(node, Ref)
    return {"TRUE": True, "FALSE": False}[node.attribute.upper()]


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
