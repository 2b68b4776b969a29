"""The arcs of an automaton as arrays, without the ε-arcs that need not be taken.

In: an AutomatonSpec and its ``Conditions``. Out: ``Graph``. An ε-arc without condition, SET and times to a state that does not accept is as if its
source had the arcs of its target: a run that stands in the source need not become two. Where arcs change, it becomes two: the ε-arc may go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sparkcep.engines.automaton import codes
from sparkcep.engines.automaton.comparisons import Fence
from sparkcep.engines.automaton.conditions import Conditions
from sparkcep.engines.automaton.structures import Flags, Graph, Longs
from sparkcep.spec.automaton import Arc, AutomatonSpec, Period
from sparkcep.spec.row import MASK_BITS

ALWAYS = -(1 << 63)
"""The time since which a first period holds."""
_KINDS = {"event": codes.EVENT, "epsilon": codes.EPSILON, "window_end": codes.WINDOW}


@dataclass(frozen=True, slots=True)
class Step:
    """An arc as seen from ``source``: its own source, or a state from which ε-arcs lead there."""

    source: int
    arc: Arc
    number: int


def build(spec: AutomatonSpec, conditions: Conditions, *, whole: bool = False) -> Graph:
    """The graph; ``whole``: with every ε-arc, so that each can be counted."""
    rows, periods = _Rows(spec, conditions), periods_of(spec)
    first: list[Longs] = []
    traits: list[Flags] = []
    blocks: dict[tuple[tuple[int, ...], tuple[str, ...]], int] = {}
    for period in periods:
        block = blocks.setdefault((period.arcs, period.finals), len(blocks))
        if block == len(first):
            steps = _every_step(spec, period) if whole else list(steps_of(spec, period))
            first.append(rows.add(steps))
            traits.append(_traits(spec, period, first[-1]))
    return Graph(
        np.array([period.since for period in periods], np.int64),
        np.array([blocks[period.arcs, period.finals] for period in periods], np.int64),
        np.concatenate(first),
        np.array(rows.arcs, np.int64).reshape(-1, 11),
        np.array(rows.moves, np.int64).reshape(-1, 6),
        np.array(rows.tests, np.int64).reshape(-1, 7),
        np.concatenate(traits),
    )


def periods_of(spec: AutomatonSpec) -> tuple[Period, ...]:
    """The periods; of an automaton that does not change the one that there is."""
    return spec.periods or (Period(ALWAYS, tuple(range(len(spec.arcs))), spec.finals),)


class _Rows:
    """The rows of ``Graph``, which grow with each block. What arcs do and ask is written once for all of them."""

    def __init__(self, spec: AutomatonSpec, conditions: Conditions) -> None:
        self.place = {name: number for number, name in enumerate(spec.states)}
        self.arcs: list[tuple[int, ...]] = []
        self.moves: list[tuple[int, ...]] = []
        self.tests: list[tuple[int, ...]] = []
        self._parts = [self._part(*parts) for parts in zip(conditions.fences, conditions.moves, strict=True)]

    def _part(self, fenced: tuple[Fence, int], own: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
        """Of an arc CONDITION, MOVE, MOVE_END, EARLY, TEST, TEST_END."""
        fence, condition = fenced
        move, early = len(self.moves), len(self.tests)
        self.moves += own
        self.tests += (*fence.early, *fence.tests)
        return condition, move, len(self.moves), early, early + len(fence.early), len(self.tests)

    def add(self, steps: list[Step]) -> Longs:
        """The arcs of a period; where those of each kind and state begin [KINDS, states + 1]."""
        steps = sorted(steps, key=lambda step: (_KINDS[step.arc.kind], step.source, step.number))
        begin = len(self.arcs)
        self.arcs += map(self._row, steps)
        found = np.zeros((codes.KINDS, len(self.place) + 1), np.int64)
        kinds = np.array([(_KINDS[step.arc.kind], step.source) for step in steps], np.int64).reshape(-1, 2)
        for kind in range(codes.KINDS):
            before = np.searchsorted(kinds[:, 0], kind)
            sources = kinds[kinds[:, 0] == kind, 1]
            found[kind] = begin + before + np.searchsorted(sources, np.arange(len(self.place) + 1))
        return found

    def _row(self, step: Step) -> tuple[int, ...]:
        arc, target = step.arc, self.place[step.arc.target]
        word, bit = (0, -1) if arc.bit is None else divmod(1 + arc.bit, MASK_BITS)
        condition, move, move_end, *tests = self._parts[step.number]
        ignorable = arc.ignorable and target == step.source
        return target, word, bit, condition, move, move_end, int(ignorable), step.number, *tests


def _every_step(spec: AutomatonSpec, period: Period) -> list[Step]:
    place = {name: number for number, name in enumerate(spec.states)}
    return [Step(place[spec.arcs[i].source], spec.arcs[i], i) for i in period.arcs]


def steps_of(spec: AutomatonSpec, period: Period) -> Iterator[Step]:
    """The arcs of a period, each seen from every state that it leaves as if from its own."""
    silent: dict[str, list[str]] = defaultdict(list)
    leaving: dict[str, list[int]] = defaultdict(list)
    for number in period.arcs:
        arc = spec.arcs[number]
        if _is_silent(arc, period) and not spec.periods:
            silent[arc.source].append(arc.target)
        else:
            leaving[arc.source].append(number)
    for place, name in enumerate(spec.states):
        for state in _together(silent, name):
            for number in leaving[state]:
                yield Step(place, spec.arcs[number], number)


def _together(silent: Mapping[str, list[str]], state: str) -> list[str]:
    """The state, and those that silent arcs lead to."""
    found = {state: None}
    waiting = [state]
    while waiting:
        here = waiting.pop()
        for target in silent.get(here, ()):
            if target not in found:
                found[target] = None
                waiting.append(target)
    return list(found)


def _is_silent(arc: Arc, period: Period) -> bool:
    plain = arc.bit is None and arc.condition is None and not arc.sets
    return arc.kind == "epsilon" and plain and arc.target not in period.finals


def _traits(spec: AutomatonSpec, period: Period, first: Longs) -> Flags:
    """[states, 3]. Where arcs change, one that is yet to come may take a run on from any state."""
    found = np.zeros((len(spec.states), 3), np.bool_)
    leaves = np.diff(first, axis=1) > 0
    found[:, codes.FINAL] = [name in period.finals for name in spec.states]
    found[:, codes.LIVES] = leaves[codes.EVENT] | leaves[codes.WINDOW] | bool(spec.periods)
    if leaves[codes.WINDOW].any():  # what comes to a final state at the window's end may stand there already
        found[:, codes.LIVES] |= found[:, codes.FINAL]
    found[:, codes.LEAPS] = leaves[codes.EPSILON]
    return found
