"""Sequences compiled into one program for the counting kernel: what several of them have in common is counted once.

In: sequences, each with the event to weight and the slot of its result. Out: a ``Program`` of flat arrays. Nothing is counted here.

An entry is a sub-pattern: the events from one position of a sequence to a later one, with the negated events and loops among them. Its value is the
number of ways to take them from a segment of the stream. Entries with equal spellings in two sequences are one: a shared prefix makes a PreTree
(A-Seq section 4.1), a shared sub-pattern is what Chop-Connect shares (section 4.2). In the front part of the window, each START event keeps a
snapshot of the prefixes that begin with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.aseq.sequences import Marked
from sparkcep.engines.aseq.spelling import Key, Spelled

Places = NDArray[np.uint64]
"""Unsigned, so that kernels skip the check for negative indexes."""
MAX_PADDED = 12
"""Events are padded to the same number of steps up to this many."""
Side = tuple[tuple[Places, ...], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Counted:
    """One sequence to count: its matches are added to result ``out``."""

    marked: Marked
    out: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """``tests``: variables; test t is bit t of a row's word. All arrays but the units are flat lists of slots, partitioned by an ``at`` array.

    ``push``, ``pull``: how an event, appended to a segment or prepended to it, updates the segment's entries. Per test, from ``at[t]`` to ``at[t +
    1]``: steps (``target`` grows by ``source``, times the event's weight where ``weighed``), ordered so that no step reads what an earlier one wrote;
    then, laid out alike, the entries to clear; last the units: entries that start at one.
    ``finals``: per test, the matches that end with it: the slot of the result, the number of their START's snapshots, whether the event is weighted,
    the entry of the matches that lie wholly in the back part, and terms: a slot in the snapshot and the entry that continues it.
    ``snapshots``: per test the number of its snapshots (one past the last if it starts none); per number the prefixes it keeps.
    """

    tests: tuple[str, ...]
    push: Side
    pull: Side
    finals: tuple[Places, ...]
    snapshots: tuple[Places, Places]


@dataclass(frozen=True, slots=True)
class Step:
    """``target`` (a sub-pattern of ``-order`` events) grows by ``source``; in a loop, by itself."""

    order: int
    target: int
    source: int
    weighed: bool


@dataclass(slots=True)
class _Side:
    """One direction: the entries by spelling, and per test how its events update them."""

    entries: dict[Key, int] = field(default_factory=dict)
    units: list[int] = field(default_factory=list)
    steps: dict[tuple[int, int, bool], Step] = field(default_factory=dict)
    clear: set[tuple[int, int]] = field(default_factory=set)

    def entry(self, key: Key, *, unit: bool) -> int:
        if key not in self.entries:
            self.units.append(int(unit))
        return self.entries.setdefault(key, len(self.entries))

    def step(self, test: int, length: int, target: int, source: int, *, weighed: bool = False) -> None:
        self.steps.setdefault((test, target, target == source), Step(-length, target, source, weighed))

    def arrays(self, tests: int) -> Side:
        """Updates are in place, so longer entries come first: no step may read what an earlier one wrote."""
        steps = self._padded([self._steps(test) for test in range(tests)])
        clear = [sorted(entry for t, entry in self.clear if t == test) for test in range(tests)]
        flat = [step for some in steps for step in some]
        columns = [_array([getattr(step, name) for step in flat]) for name in ("target", "source", "weighed")]
        places = _at(steps), *columns, _at(clear), _array([entry for some in clear for entry in some])
        return places, np.array(self.units, np.int64)

    def _padded(self, steps: list[list[Step]]) -> list[list[Step]]:
        """The same number of steps for every test that has any: no-op steps cost less than a mispredicted branch."""
        most = max(map(len, steps))
        if most > MAX_PADDED:
            return steps
        spare = [self.entry(("spare", i), unit=False) for i in range(most + 1)]
        nothing = [Step(0, target, spare[-1], weighed=False) for target in spare]
        return [some + nothing[len(some) : most] if some else some for some in steps]

    def _steps(self, test: int) -> list[Step]:
        mine = [(step.order, not loop, step.target, step) for (t, _, loop), step in self.steps.items() if t == test]
        return [step for *_, step in sorted(mine, key=lambda one: one[:3])]


@dataclass(slots=True)
class _Snapshots:
    """Per START variable, the prefixes that its events snapshot, and their slots."""

    kept: dict[str, dict[int, int]] = field(default_factory=dict)

    def of(self, variable: str) -> tuple[int, dict[int, int]]:
        """The number of a START variable's snapshots, and the slot of each prefix."""
        places = self.kept.setdefault(variable, {})
        return list(self.kept).index(variable), places

    def arrays(self, tests: tuple[str, ...]) -> tuple[Places, Places]:
        names = list(self.kept)
        numbers = [names.index(name) if name in names else len(names) for name in tests]
        kept = np.zeros((len(names) + 1, max(map(len, self.kept.values()), default=0)), np.uint64)
        for number, entries in enumerate(self.kept.values()):
            kept[number, : len(entries)] = list(entries)
        return _array(numbers), kept


@dataclass(frozen=True, slots=True)
class _Final:
    """The matches that end with an event. ``numbers``: result, snapshots, weighed, entry."""

    numbers: tuple[int, int, int, int]
    terms: list[tuple[int, int]]


@lru_cache(maxsize=64)
def compile_program(counted: tuple[Counted, ...], tests: tuple[str, ...], *, windowed: bool) -> Program:
    """The program of ``counted``, whose variables are among ``tests``; without windows only prefixes have entries."""
    push, pull, snapshots = _Side(), _Side(), _Snapshots()
    finals: list[list[_Final]] = [[] for _ in tests]
    for one in counted:
        spelled = Spelled(one.marked)
        _fill(push, spelled, tests, windowed=windowed, forward=True)
        if windowed:
            _fill(pull, spelled, tests, windowed=True, forward=False)
        last = tests.index(spelled.sequence.variables[-1])
        finals[last] += _finals(one, spelled, push, pull, snapshots, windowed=windowed)
    every = [final for some in finals for final in some]
    columns = [_array([final.numbers[i] for final in every]) for i in range(4)]
    terms = [_array([term[i] for final in every for term in final.terms]) for i in range(2)]
    arrays = _at(finals), *columns, _at([final.terms for final in every]), *terms
    return Program(tests, push.arrays(len(tests)), pull.arrays(len(tests)), arrays, snapshots.arrays(tests))


def _fill(side: _Side, spelled: Spelled, tests: tuple[str, ...], *, windowed: bool, forward: bool) -> None:
    """All entries of a sequence; forward column by column, the order of the runs, backward row by row."""
    bits = [tests.index(name) for name in spelled.sequence.variables]
    position, states = spelled.marked.position, range(spelled.states + 1)
    if forward:
        pairs = [(i, k) for k in states for i in (range(k + 1) if windowed else (0,))]
    else:
        pairs = [(i, k) for i in states for k in range(i, len(states))]
    index = {(i, k): side.entry(spelled.key(i, k), unit=i == k) for i, k in pairs}
    for (i, k), entry in index.items():
        moved = k if forward else i
        if k > i:
            at, source = (k, index[i, k - 1]) if forward else (i + 1, index[i + 1, k])
            side.step(bits[at - 1], k - i, entry, source, weighed=at == position)
        if spelled.loops(moved):
            side.step(bits[moved - 1], k - i, entry, entry)
        side.clear |= {(tests.index(name), entry) for name in spelled.resets(moved)}


def _finals(
    counted: Counted, spelled: Spelled, push: _Side, pull: _Side, snapshots: _Snapshots, *, windowed: bool
) -> Iterator[_Final]:
    length = len(spelled.sequence.variables)
    start, places = snapshots.of(spelled.sequence.variables[0])
    for state in range(length - 1, spelled.states + 1):
        weighed = int(spelled.marked.position == length and state == length - 1)
        terms = []
        for m in range(1, state + 1 if windowed else 1):
            place = places.setdefault(pull.entries[spelled.key(0, m)], len(places))
            terms.append((place, push.entries[spelled.key(m, state)]))
        yield _Final((counted.out, start, weighed, push.entries[spelled.key(0, state)]), terms)


def _at(parts: Items[Items[object]]) -> Places:
    """Where each part begins, and where the last one ends."""
    return _array([0, *accumulate(len(part) for part in parts)])


def _array(places: Items[int]) -> Places:
    return np.array(places, np.uint64)
