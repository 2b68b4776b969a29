"""Sequences as one program for the counting kernel: what several of them have in common is counted once.

In: sequences, each with the event to weigh and the place of its result. Out: a ``Program`` of flat arrays. Nothing is counted here.

An entry is a sub-pattern: the events from one position of a sequence to a later one, with the negated events and loops
among them. Its value is the number of ways to take them from some segment of the stream. Entries that two sequences spell
alike are one: a shared prefix makes a PreTree (A-Seq section 4.1), a shared sub-pattern is what Chop-Connect shares
(section 4.2); the front of the window keeps a snapshot of every prefix at each START event.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Items
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.aseq.sequences import Marked
from sparkcep.engines.aseq.spelling import Key, Spelled

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Counted:
    """One sequence to count: its matches are added to result ``out``."""

    marked: Marked
    out: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """``tests``: variables; test t is bit t of a row's word.

    ``push``, ``pull``: what an event does to the entries of a segment that it follows, or leads. Both begin with a place
    per test, where the numbers of runs and of entries to clear stand, the runs (target, source, length, weighed) and the
    entries. Either numbers entries in its own way, so that the runs are long; ``pull`` numbers prefixes first.
    ``finals``: begins likewise; at each place the number of finals, and for each the result, whether the event is weighed,
    the number of runs of products that add up to it, and those: a prefix, the entry behind it, length.
    ``push_units``, ``pull_units``: entries that start at one. ``starts``, ``ends``: words of first and last events.
    """

    tests: tuple[str, ...]
    push: Ints
    pull: Ints
    finals: Ints
    push_units: Ints
    pull_units: Ints
    prefixes: int
    starts: int
    ends: int


@dataclass(frozen=True, slots=True)
class Step:
    """``target`` (of ``-order`` events) grows by ``source``; by itself in a loop."""

    order: int
    target: int
    source: int
    weighed: bool


@dataclass(slots=True)
class _Side:
    """One direction: entries by what they spell, and per test what its events do to them."""

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


def compile_program(counted: Items[Counted], tests: tuple[str, ...], *, windowed: bool) -> Program:
    """The program of ``counted``, whose variables are among ``tests``; without windows only prefixes have entries."""
    push, pull = _Side(), _Side()
    for one in counted:
        spelled = Spelled(one.marked)
        for k in range(spelled.states + 1):
            pull.entry(spelled.key(0, k), unit=k == 0)
    prefixes = len(pull.entries)
    finals: list[list[tuple[int, ...]]] = [[] for _ in tests]
    starts = 0
    for one in counted:
        spelled = Spelled(one.marked)
        _fill(push, spelled, tests, windowed=windowed, forward=True)
        if windowed:
            _fill(pull, spelled, tests, windowed=True, forward=False)
        starts |= 1 << tests.index(spelled.sequence.variables[0])
        finals[tests.index(spelled.sequence.variables[-1])] += _finals(one, spelled, push, pull, windowed=windowed)
    ends = sum(1 << test for test, some in enumerate(finals) if some)
    flat = _flat([[len(some), *(number for final in some for number in final)] for some in finals])
    forward, backward = (_flat([_runs(side, test) for test in range(len(tests))]) for side in (push, pull))
    push_units, pull_units = (np.array(side.units, np.int64) for side in (push, pull))
    return Program(tests, forward, backward, flat, push_units, pull_units, prefixes, starts, ends)


def _fill(side: _Side, spelled: Spelled, tests: tuple[str, ...], *, windowed: bool, forward: bool) -> None:
    """All entries of a sequence; forward column by column, as runs go, backward row by row."""
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
    counted: Counted, spelled: Spelled, push: _Side, pull: _Side, *, windowed: bool
) -> Iterator[tuple[int, ...]]:
    length = len(spelled.sequence.variables)
    for state in range(length - 1, spelled.states + 1):
        weighed = int(spelled.marked.position == length and state == length - 1)
        rows = range(state + 1) if windowed else (0,)
        pairs = [(pull.entries[spelled.key(0, m)], push.entries[spelled.key(m, state)]) for m in rows]
        runs = list(_joined([(place, entry, 0) for place, entry in pairs]))
        yield counted.out, weighed, len(runs), *(number for run in runs for number in run[:3])


def _runs(side: _Side, test: int) -> list[int]:
    """The runs of one test. In place, a step may read only what no earlier one has changed: longer entries first.

    Where no step reads what another changes any order will do, and the longest runs are taken.
    """
    mine = [(loop, step) for (t, _, loop), step in side.steps.items() if t == test]
    changed = {step.target for _, step in mine}
    if any(step.source in changed for loop, step in mine if not loop):
        mine.sort(key=lambda one: (one[1].order, not one[0], one[1].target))
    else:
        mine.sort(key=lambda one: (not one[0], one[1].target))
    runs = list(_joined([(step.target, step.source, int(step.weighed)) for _, step in mine]))
    clear = sorted(entry for t, entry in side.clear if t == test)
    return [len(runs), len(clear), *(number for run in runs for number in run), *clear]


def _joined(pairs: Items[tuple[int, int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """(target, source, flag) that follow one another → (first target, first source, length, flag)."""
    length = 0
    for at, (target, source, flag) in enumerate(pairs):
        length += 1
        if at + 1 == len(pairs) or pairs[at + 1] != (target + 1, source + 1, flag):
            yield target - length + 1, source - length + 1, length, flag
            length = 0


def _flat(parts: list[list[int]]) -> Ints:
    flat = list(range(len(parts)))
    for test, part in enumerate(parts):
        flat[test] = len(flat)
        flat += part
    return np.array(flat, np.int64)
