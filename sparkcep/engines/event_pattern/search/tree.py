"""The lazy Tree NFA (paper, section 7): the order is chosen at every node, from the actual contents of the input buffers.

In: a branch and the events of a table. Out: complete combinations of positive events, as ``chain.combinations`` gives
them, in another order.

A node is the set of variables bound so far. For the partial matches at a node, the ranges of all input buffers still to be searched are known (order,
window, equality). A partial match with an empty range is dropped at once (the paper's condition that all counters are greater than zero). The
variable with the fewest events in these ranges goes next, counting only the share of them expected to satisfy its predicates with the bound
variables. So that the first choice adapts to the stream too, the table is processed in blocks of time: a match belongs to the block of the event that
one fixed variable, the pivot, takes, so it is found exactly once whatever the order within a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

import numpy as np

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import Buffers, OrderedBuffer
from sparkcep.engines.event_pattern.candidates.pairs import Ranges
from sparkcep.engines.event_pattern.planner.branches import extremes
from sparkcep.engines.event_pattern.planner.plan import BranchPlan
from sparkcep.engines.event_pattern.planner.states import state
from sparkcep.engines.event_pattern.search.chain import Chain, Refute, Step, admitted, completed, prepared_step, taken
from sparkcep.engines.event_pattern.search.order import MIN_EVENTS, selectivities
from sparkcep.engines.event_pattern.values.closures import Frame, gathered, length
from sparkcep.spec.expression import variables

MIN_BLOCK = 1 << 13
"""The least candidates of a block: below this, overhead exceeds what a better order saves."""

WINDOWS = 4
"""The least windows of a block: what adjacent blocks share is processed twice."""


@dataclass(frozen=True, slots=True)
class Block:
    """Candidates ``[low, high)`` for the pivot, ``[begin, end)`` for the others: everything that shares a window with them."""

    low: int
    high: int
    begin: int
    end: int


@dataclass(slots=True)
class Tree:
    """The nodes of one branch over one table, made when first reached (the paper's lazy instantiation)."""

    plan: BranchPlan
    indexes: Mapping[str, int]
    buffers: Buffers
    refute: Refute | None = None
    min_block: int = field(default_factory=lambda: MIN_BLOCK)
    _steps: dict[tuple[tuple[str, ...], str], Step] = field(default_factory=dict)
    _shares: dict[tuple[str, str], float] = field(default_factory=dict)

    def step(self, bound: tuple[str, ...], name: str) -> Step:
        """Taking ``name`` when ``bound`` are bound."""
        known = tuple(other for other in self.plan.branch.variables if other in bound)
        if (known, name) not in self._steps:
            self._steps[known, name] = prepared_step(state(self.plan, known, name), self.indexes, self.buffers)
        return self._steps[known, name]

    def share(self, bound: tuple[str, ...], name: str) -> float:
        """The selectivity of the predicates between ``name`` and ``bound``, on the events that order, window and equalities admit."""
        return prod(self._satisfied(other, name) for other in bound)

    def _satisfied(self, given: str, name: str) -> float:
        if (given, name) not in self._shares:
            self._shares[given, name] = self._measured(given, name)
        return self._shares[given, name]

    def _measured(self, given: str, name: str) -> float:
        pair = {given, name}
        closure = self.plan.branch.closure
        if closure(given) or closure(name) or not any(pair == {*variables(p.condition)} for p in self.plan.filters):
            return 1.0
        found = {one: self.buffers.fill(self.indexes[one]) for one in pair}
        ordered = {one: buffer for one, buffer in found.items() if isinstance(buffer, OrderedBuffer)}
        measured, _ = selectivities(self.plan, given, name, ordered, self.buffers.events, self.buffers.payload)
        return measured.ranged * measured.satisfied

    def chain(self, path: tuple[str, ...]) -> Chain:
        """The nodes on one path, root first."""
        branch = self.plan.branch
        steps = tuple(self.step(path[:at], name) for at, name in enumerate(path))
        return Chain(self.buffers.events, self.buffers.payload, steps, *extremes(branch.variables, branch.precedes))


def combinations(tree: Tree, budget: Budget) -> Iterator[Frame]:
    """All combinations of positive events, block after block. Raises as ``chain.combinations`` does."""
    branch = tree.plan.branch
    pivot = next((name for name in branch.variables if branch.closure(name) is None), None)
    for block in _blocks(tree) if pivot is not None else [_whole(tree)]:
        for frame, suspect, path in _extended(tree, {}, (), pivot, block, False, budget):
            yield completed(tree.chain(path), frame, suspect, budget)


def _extended(
    tree: Tree, frame: Frame, path: tuple[str, ...], pivot: str | None, block: Block, suspect: bool, budget: Budget
) -> Iterator[tuple[Frame, bool, tuple[str, ...]]]:
    left = [name for name in tree.plan.branch.variables if name not in path]
    if not left or not length(frame):
        if not left:
            yield frame, suspect, path
        return
    steps = {name: tree.step(path, name) for name in left}
    events = tree.buffers.events
    ranges = {name: admitted(events, step, frame, _side(block, name == pivot)) for name, step in steps.items()}
    frame, ranges = _alive(frame, ranges)
    if not length(frame) or not len(ranges[left[0]].begin):
        return
    name = _next(tree, path, ranges)
    chain = Chain(events, tree.buffers.payload, (steps[name],), (), ())
    for extended, faulty in taken(chain, steps[name], frame, ranges[name], budget):
        if tree.refute is not None:
            rest = partial(_rest, replace(tree, refute=None), (*path, name), pivot, block)
            extended = tree.refute(extended, name, budget, rest)
        budget.counters.hold(length(extended))
        yield from _extended(tree, extended, (*path, name), pivot, block, suspect or faulty, budget)
        budget.counters.hold(-length(extended))


def _rest(
    tree: Tree, path: tuple[str, ...], pivot: str | None, block: Block, frame: Frame, budget: Budget
) -> Iterator[tuple[Frame, bool]]:
    for found, suspect, _ in _extended(tree, frame, path, pivot, block, False, budget):
        yield found, suspect


def _side(block: Block, is_pivot: bool) -> tuple[int, int]:
    return (block.low, block.high) if is_pivot else (block.begin, block.end)


def _alive(frame: Frame, ranges: Mapping[str, Ranges]) -> tuple[Frame, dict[str, Ranges]]:
    """The partial matches for which no range is empty."""
    alive = np.logical_and.reduce([part.begin < part.end for part in ranges.values()])
    if alive.all():
        return frame, dict(ranges)
    kept = {name: Ranges(part.begin[alive], part.end[alive], part.high[alive]) for name, part in ranges.items()}
    return gathered(frame, alive), kept


def _next(tree: Tree, path: tuple[str, ...], ranges: Mapping[str, Ranges]) -> str:
    """The variable with the fewest events expected for these partial matches, Kleene variables last."""
    closure = tree.plan.branch.closure
    counts = {name: int((part.end - part.begin).sum()) for name, part in ranges.items()}
    if sum(counts.values()) < MIN_EVENTS:
        return min(counts, key=lambda name: (closure(name) is not None, counts[name]))
    return min(counts, key=lambda name: (closure(name) is not None, counts[name] * tree.share(path, name)))


def _whole(tree: Tree) -> Block:
    count = len(tree.buffers.events)
    return Block(0, count, 0, count)


def _blocks(tree: Tree) -> Iterator[Block]:
    """Blocks of a few windows each; a single block if no window bounds the span of a match."""
    events = tree.buffers.events
    count, window = len(events), events.window
    if window is None or not count:
        yield _whole(tree)
        return
    span = int(np.median(window.end - np.arange(count)))
    size = max(tree.min_block, WINDOWS * span)
    for low in range(0, count, size):
        high = min(low + size, count)
        yield Block(low, high, int(window.begin[low]), int(window.end[high - 1]))
