"""The arcs of an automaton as arrays, without the ε-arcs that need not be taken.

In: an AutomatonSpec and its ``Conditions``. Out: ``Graph``. An ε-arc without condition, SET and times to a state that does not accept is as if its
source had the arcs of its target: a run that stands in the source need not become two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparkcep.engines.automaton import codes
from sparkcep.engines.automaton.conditions import Conditions
from sparkcep.engines.automaton.structures import Graph
from sparkcep.spec.automaton import Arc, AutomatonSpec
from sparkcep.spec.row import MASK_BITS

_KINDS = {"event": codes.EVENT, "epsilon": codes.EPSILON, "window_end": codes.WINDOW}


@dataclass(frozen=True, slots=True)
class Step:
    """An arc as seen from ``source``: its own source, or a state from which ε-arcs lead there."""

    source: int
    arc: Arc
    number: int


def build(spec: AutomatonSpec, conditions: Conditions, *, whole: bool = False) -> Graph:
    """The graph; ``whole``: with every ε-arc, so that each can be counted."""
    place = {name: number for number, name in enumerate(spec.states)}
    steps = [Step(place[arc.source], arc, i) for i, arc in enumerate(spec.arcs)] if whole else list(steps_of(spec))
    steps.sort(key=lambda step: (_KINDS[step.arc.kind], step.source, step.number))
    first = np.zeros((3, len(place) + 1), np.int64)
    arcs: list[tuple[int, ...]] = []
    moves: list[tuple[int, ...]] = []
    tests: list[tuple[int, ...]] = []
    for step in steps:
        own = conditions.moves[step.number]
        bit = -1 if step.arc.bit is None else 1 + step.arc.bit
        word, bit = (0, -1) if bit < 0 else divmod(bit, MASK_BITS)
        span = len(moves), len(moves) + len(own)
        ignorable = step.arc.ignorable and place[step.arc.target] == step.source
        fence = conditions.fences[step.number]
        asked = len(tests), len(tests) + len(conditions.tests[step.number])
        arcs.append((place[step.arc.target], word, bit, fence, *span, int(ignorable), step.number, *asked))
        moves += own
        tests += conditions.tests[step.number]
    kinds = np.array([(_KINDS[step.arc.kind], step.source) for step in steps], np.int64).reshape(-1, 2)
    for kind in range(3):
        before = np.searchsorted(kinds[:, 0], kind)
        sources = kinds[kinds[:, 0] == kind, 1]
        first[kind] = before + np.searchsorted(sources, np.arange(len(place) + 1))
    return Graph(
        first,
        np.array(arcs, np.int64).reshape(-1, 10),
        np.array(moves, np.int64).reshape(-1, 6),
        np.array(tests, np.int64).reshape(-1, 7),
        _traits(spec, first),
    )


def steps_of(spec: AutomatonSpec) -> Iterator[Step]:
    """The arcs, each seen from every state that it leaves as if from its own."""
    place = {name: number for number, name in enumerate(spec.states)}
    for name in spec.states:
        for state in _together(spec, name):
            for number, arc in enumerate(spec.arcs):
                if arc.source == state and not _is_silent(arc, spec):
                    yield Step(place[name], arc, number)


def _together(spec: AutomatonSpec, state: str) -> list[str]:
    """The state, and those that silent arcs lead to."""
    found = {state: None}
    waiting = [state]
    while waiting:
        here = waiting.pop()
        for arc in spec.arcs:
            if arc.source == here and _is_silent(arc, spec) and arc.target not in found:
                found[arc.target] = None
                waiting.append(arc.target)
    return list(found)


def _is_silent(arc: Arc, spec: AutomatonSpec) -> bool:
    plain = arc.bit is None and arc.condition is None and not arc.sets
    return arc.kind == "epsilon" and plain and arc.target not in spec.finals


def _traits(spec: AutomatonSpec, first: np.ndarray) -> np.ndarray:
    found = np.zeros((len(spec.states), 3), np.bool_)
    leaves = np.diff(first, axis=1) > 0
    found[:, codes.FINAL] = [name in spec.finals for name in spec.states]
    found[:, codes.LIVES] = leaves[codes.EVENT] | leaves[codes.WINDOW]
    if leaves[codes.WINDOW].any():  # what comes to a final state at the window's end may stand there already
        found[:, codes.LIVES] |= found[:, codes.FINAL]
    found[:, codes.LEAPS] = leaves[codes.EPSILON]
    return found
