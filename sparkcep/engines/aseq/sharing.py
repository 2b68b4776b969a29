"""Which patterns of MATCH PATTERNS to count in one pass: the sharing plan (A-Seq section 4).

In: the sequences of each pattern. Out: groups of patterns, the lowest cost found, and what they share. Imports no numpy, so that the driver can plan
and EXPLAIN PATTERN can show it.

A pass reads every row, handles every event that one of its patterns names, and updates the entries (``programs``) that end or begin with it; entries
common to several patterns are updated once. So the patterns of one pass read the rows once, handle a common event type once, and pay once for a
common prefix (PreTree) or, with windows, for any common sub-pattern (Chop-Connect); each START event keeps a snapshot of the prefixes that begin with
it. Event types are assumed to be equally frequent.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass
from itertools import combinations

from sparkcep.engines.aseq.sequences import Marked, Sequence
from sparkcep.engines.aseq.spelling import Key, Spelled, countable

ROW, EVENT, STEP = 2.5, 8.0, 1.0
"""Nanoseconds measured on one core: to read a row, to handle an event, to update an entry or copy a prefix."""

MAX_TESTS = 62
"""The most variables of one pass: bits of a word."""

Pattern = tuple[str, tuple[Sequence, ...]]
"""A pattern's name and its sequences."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A sub-pattern common to several patterns. ``prefix``: it comes first in all of them."""

    variables: tuple[str, ...]
    patterns: tuple[str, ...]
    prefix: bool

    def __str__(self) -> str:
        kind = "prefix" if self.prefix else "sub-pattern"
        return f"{kind} ({', '.join(self.variables)}) of {', '.join(self.patterns)}"


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """``passes``: the numbers of the patterns counted together. ``cost``, ``alone``: ns per row as planned, and with one pass per pattern."""

    passes: tuple[tuple[int, ...], ...]
    cost: float
    alone: float
    shared: tuple[Shared, ...]


def plan_sharing(patterns: Items[Pattern], *, windowed: bool) -> SharingPlan:
    """The passes over ``patterns``: greedily, from one pass each, merge the two whose union saves most until no merge saves anything."""
    tests = {name for _, every in patterns for sequence in every for name in _names(sequence)}
    costs = _Costs(patterns, 1 / max(len(tests), 1), windowed)
    passes: list[tuple[int, ...]] = [(number,) for number in range(len(patterns))]
    alone = sum(map(costs.of, passes))
    while len(passes) > 1:
        saved, one, other = max(
            ((costs.of(a) + costs.of(b) - costs.of(a + b), a, b) for a, b in combinations(passes, 2)),
            key=lambda saving: saving[0],
        )
        if saved <= 0:
            break
        passes = [group for group in passes if group not in (one, other)] + [tuple(sorted(one + other))]
    passes.sort()
    shared = tuple(found for group in passes for found in _shared([patterns[i] for i in group], windowed=windowed))
    return SharingPlan(tuple(passes), sum(map(costs.of, passes)), alone, shared)


@dataclass(frozen=True, slots=True)
class _Costs:
    patterns: Items[Pattern]
    frequency: float
    windowed: bool

    def of(self, group: tuple[int, ...]) -> float:
        """Nanoseconds per row of one pass over the patterns ``group``; infinite if their variables exceed the bits of a word."""
        every = [sequence for number in group for sequence in self.patterns[number][1] if countable(sequence)]
        names = {name for sequence in every for name in _names(sequence)}
        if len(names) > MAX_TESTS:
            return float("inf")
        steps: set[tuple[str, str, Key]] = set()
        snapshots: set[tuple[str, Key]] = set()
        for sequence in every:
            spelled = Spelled(Marked(sequence))
            states = range(1, spelled.states + 1)
            snapshots |= {(sequence.variables[0], spelled.key(0, k)) for k in states if self.windowed}
            for last in states:
                for first in range(last if self.windowed else 1):
                    key = spelled.key(first, last)
                    steps.add(("push", sequence.variables[last - 1], key))
                    if self.windowed:
                        steps.add(("pull", sequence.variables[first], key))
        finals = sum(len(sequence.variables) if self.windowed else 1 for sequence in every)
        return ROW + self.frequency * (EVENT * len(names) + STEP * (len(steps) + len(snapshots) + finals))


def _names(sequence: Sequence) -> set[str]:
    return {*sequence.variables, *(name for part in sequence.between for name in part)}


def _shared(patterns: Items[Pattern], *, windowed: bool) -> list[Shared]:
    """The longest common sub-patterns of two or more events."""
    found: dict[Key, list[tuple[str, int, tuple[str, ...]]]] = {}
    for name, every in patterns:
        for sequence in every:
            spelled = Spelled(Marked(sequence))
            for last in range(2, spelled.states + 1):
                for first in range(last - 1 if windowed else 1):
                    part = sequence.variables[first:last]
                    found.setdefault(spelled.key(first, last), []).append((name, first, part))
    common = [
        Shared(places[0][2], names, all(first == 0 for _, first, _ in places))
        for places in found.values()
        if len(names := tuple(dict.fromkeys(name for name, _, _ in places))) > 1
    ]
    return [one for one in common if not any(_inside(one, other) for other in common)]


def _inside(one: Shared, other: Shared) -> bool:
    """Whether ``other`` subsumes ``one`` for the same patterns."""
    texts = (f" {' '.join(part.variables)} " for part in (one, other))
    inner, outer = texts
    return one != other and one.patterns == other.patterns and inner in outer
