"""Range predicates: comparisons of the event to take with bound events, decided by order-preserving codes.

In: the comparisons of a state, its input buffer, ranges of its slots. Out: pairs of a partial match and an event that
satisfy all of them, in bounded chunks. Values are compared as dense codes shared by all columns compared, so one kernel
serves numbers, strings and times alike.

There are three ways, chosen by the amount of work: few pairs are made and filtered with NumPy; many are scanned by a kernel; and once a buffer has
been scanned often enough to pay for sorting it, ranges are searched in blocks sorted by value (``range_kernels``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import Expansion, InputBuffer, expansions
from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.engines.event_pattern.planner.comparisons import Comparison
from sparkcep.engines.event_pattern.planner.plan import Point
from sparkcep.engines.event_pattern.values.closures import Frame, length, rows_of
from sparkcep.engines.event_pattern.values.values import Payload

KERNEL_PAIRS = 1 << 16
"""Below this many pairs NumPy filters: the kernels need numba, which takes a fresh worker 0.3 s to import."""

SORTED_AFTER = 64
"""A buffer is sorted once this multiple of its slots has been scanned, which costs as much as sorting it."""

SELECTIVE = 0.25
"""Sort only for an interval with a selectivity below this."""

BLOCK, FANOUT = 1 << 7, 1 << 3
"""The slots of the smallest sorted block, and how many blocks of a level make one of the next."""

MOST_TESTS = 1 << 26
"""A kernel returns after this many tests (and at least one range), so that limits are checked."""

EXAMINED_SHIFT = 6
"""2^this many tested slots cost as much as a partial match and count as one against the limit."""


@dataclass(frozen=True, slots=True)
class Bound:
    """``codes`` of the event of ``term``, shifted by ``step`` if the comparison is strict."""

    term: Point
    codes: IntArray
    step: int

    def ends(self, frame: Frame) -> tuple[IntArray, BoolArray]:
        """The code per partial match, and where there is none."""
        codes = self.codes[rows_of(frame, self.term)]
        return codes + self.step, codes < 0


class End(Protocol):
    """Where an interval begins or ends, per partial match."""

    def ends(self, frame: Frame) -> tuple[IntArray, BoolArray]:
        """The code per partial match, and where there is none."""


@dataclass(frozen=True, slots=True)
class Interval:
    """``own``: codes by candidate (-1: NULL, which is in no interval), between the greatest of ``lows`` and the least of ``highs``."""

    own: IntArray
    lows: tuple[End, ...]
    highs: tuple[End, ...]

    def ends(self, frame: Frame) -> tuple[IntArray, IntArray]:
        """The least and greatest code per partial match; an empty interval for a NULL."""
        count = length(frame)
        low, high = np.zeros(count, dtype=np.int64), np.full(count, np.iinfo(np.int64).max)
        null = np.zeros(count, dtype=np.bool_)
        for bound in self.lows:
            codes, none = bound.ends(frame)
            np.maximum(low, codes, out=low)
            null |= none
        for bound in self.highs:
            codes, none = bound.ends(frame)
            np.minimum(high, codes, out=high)
            null |= none
        high[null] = -1
        return low, high


def intervals(comparisons: Sequence[Comparison], buffer: InputBuffer, payload: Payload) -> tuple[Interval, ...]:
    """One interval per compared column, and one per equality that ``buffer`` is not searched by."""
    found: list[Interval] = []
    for group in _groups(comparisons):
        found += _intervals(group, buffer, payload)
    for part in buffer.compared:
        bound = (Bound(part.term, part.bound, 0),)
        found.append(Interval(part.own, bound, bound))
    return tuple(found)


def _groups(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Comparisons connected by shared columns, directly or transitively: their codes must be comparable."""
    groups: list[tuple[set[str], list[Comparison]]] = []
    for part in comparisons:
        columns = {part.column, part.term.column}
        touched = [group for group in groups if group[0] & columns]
        merged = [other for group in touched for other in group[1]] + [part]
        groups = [group for group in groups if group not in touched]
        groups.append((columns.union(*(group[0] for group in touched)), merged))
    return [group for _, group in groups]


def _intervals(group: list[Comparison], buffer: InputBuffer, payload: Payload) -> list[Interval]:
    codes, _ = payload.codes(tuple(dict.fromkeys(name for part in group for name in (part.column, part.term.column))))
    lows: dict[str, list[Bound]] = {part.column: [] for part in group}
    highs: dict[str, list[Bound]] = {part.column: [] for part in group}
    for part in group:
        side = lows if part.operator in ("gt", "ge") else highs
        step = {"gt": 1, "lt": -1}.get(part.operator, 0)
        side[part.column].append(Bound(part.term, codes[part.term.column], step))
    for lower, upper in permutations(lows, 2):
        shared = {bound.term for bound in highs[lower]} & {bound.term for bound in lows[upper]}
        width = _widest(codes[lower], codes[upper], buffer) if shared else 0
        lows[lower] += [Bound(term, codes[term.column], -width) for term in shared]
    return [Interval(codes[column], tuple(lows[column]), tuple(highs[column])) for column in lows]


def _widest(lower: IntArray, upper: IntArray, buffer: InputBuffer) -> int:
    """An upper bound of how far apart the columns of one event lie.

    Where ``v.lower <= a.x <= v.upper``, ``v.lower`` is at least ``a.x`` minus this bound: a band around v.x, written on the side of v, can be
    searched by one column.
    """
    low, high = lower[buffer.rows], upper[buffer.rows]
    known = (low >= 0) & (high >= 0)
    return int((high - low)[known].max(initial=0))


def comparable(comparison: Comparison, payload: Payload) -> bool:
    """Whether both sides have the same kind, and that kind has an order."""
    own, other = payload.kind(comparison.column), payload.kind(comparison.term.column)
    return own.name == other.name != "opaque" and own.scale == other.scale


@dataclass(slots=True)
class Sorted:
    """Blocks of an interval's codes: see ``range_kernels.search``."""

    chosen: int
    sizes: IntArray
    codes: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]


@dataclass(slots=True)
class Finder:
    """The pairs of one state over one table. ``tested``: the slots scanned so far, which decide when to sort."""

    buffer: InputBuffer
    intervals: tuple[Interval, ...]
    tested: int = 0
    _own: npt.NDArray[np.int64] | None = None
    _sorted: Sorted | None = None
    _admitted: list[int] = field(default_factory=list)
    _sampled: int = 0

    def pairs(self, begin: IntArray, end: IntArray, frame: Frame, budget: Budget) -> Iterator[Expansion]:
        """The pairs in slots ``[begin, end)`` per partial match of ``frame`` that all intervals admit.

        They follow the order of the partial matches; then, unless the buffer is sorted, that of the slots.
        """
        if not self.intervals:
            yield from expansions(self.buffer, begin, end, budget.chunk)
            return
        ends = [interval.ends(frame) for interval in self.intervals]
        low, high = (np.ascontiguousarray(np.stack(side)) for side in zip(*ends, strict=True))
        total = int(np.maximum(end - begin, 0).sum())
        if total < KERNEL_PAIRS:
            yield from self._filtered(begin, end, low, high, budget)
        else:
            yield from self._kernel(begin, end, low, high, total, budget)

    def _filtered(
        self, begin: IntArray, end: IntArray, low: IntArray, high: IntArray, budget: Budget
    ) -> Iterator[Expansion]:
        for part in expansions(self.buffer, begin, end, budget.chunk):
            parents, rows = part.parents, part.rows
            for at, interval in enumerate(self.intervals):
                self._count(len(rows), budget)
                kept = _between(interval.own[rows], low[at][parents], high[at][parents])
                parents, rows = parents[kept], rows[kept]
            yield Expansion(parents, rows)

    def _kernel(
        self, begin: IntArray, end: IntArray, low: IntArray, high: IntArray, total: int, budget: Budget
    ) -> Iterator[Expansion]:
        from sparkcep.engines.event_pattern.candidates import range_kernels

        begin, end = (np.ascontiguousarray(side, dtype=np.int64) for side in (begin, end))
        own = self._codes()
        blocks = self._blocks(begin, end, low, high, total)
        parent, slot, inner = 0, -1, -1
        while parent < len(begin):
            parents, rows = np.empty(budget.chunk, dtype=np.int64), np.empty(budget.chunk, dtype=np.int64)
            ranges = (begin, end, self.buffer.rows, own, low, high)
            if blocks is None:
                state = range_kernels.scan(*ranges, parent, slot, MOST_TESTS, parents, rows)
            else:
                place = (blocks.chosen, blocks.sizes, blocks.codes, blocks.order, parent, slot, inner)
                state = range_kernels.search(*ranges, *place, MOST_TESTS, parents, rows)
            found, parent, slot, inner, tested = state
            self._count(tested, budget)
            yield Expansion(parents[:found], rows[:found])

    def _count(self, tested: int, budget: Budget) -> None:
        self.tested += tested
        budget.counters.predicates += tested
        budget.left -= tested >> EXAMINED_SHIFT

    def _codes(self) -> npt.NDArray[np.int64]:
        """The intervals' codes by slot."""
        if self._own is None:
            self._own = np.stack([interval.own[self.buffer.rows] for interval in self.intervals])
        return self._own

    def _blocks(self, begin: IntArray, end: IntArray, low: IntArray, high: IntArray, total: int) -> Sorted | None:
        """The sorted blocks, once scanning has cost as much as building them and they are expected to visit fewer slots than a scan."""
        longest = int((end - begin).max(initial=0))
        if self._sorted is None and longest >= BLOCK:
            self._sample(begin, end, low, high)
            if self.tested + total >= SORTED_AFTER * len(self.buffer.rows):
                chosen = int(np.argmin(self._admitted))
                if self._admitted[chosen] < SELECTIVE * self._sampled:
                    self._sorted = _sorted_blocks(self._codes()[chosen], chosen, longest)
        return self._sorted

    def _sample(self, begin: IntArray, end: IntArray, low: IntArray, high: IntArray, size: int = 512) -> None:
        """Estimate the selectivity of each interval on a sample of the slots in the ranges."""
        parents = np.flatnonzero(begin < end)
        parents = parents[np.linspace(0, len(parents) - 1, size).astype(np.int64)]
        # Sample positions spread by the golden ratio: deterministic for the same ranges.
        places = (np.arange(size) * 0.6180339887) % 1.0
        slots = begin[parents] + (places * (end - begin)[parents]).astype(np.int64)
        own = self._codes()
        seen = self._admitted or [0] * len(own)
        self._admitted = [
            seen[at] + int(_between(own[at][slots], low[at][parents], high[at][parents]).sum())
            for at in range(len(own))
        ]
        self._sampled += size


def _between(values: IntArray, low: IntArray, high: IntArray) -> BoolArray:
    inside: BoolArray = (values >= low) & (values <= high)
    return inside


def _sorted_blocks(codes: IntArray, chosen: int, longest: int) -> Sorted:
    """Levels up to the ``longest`` range; slots past the last whole block of a level belong to no block."""
    sizes = [BLOCK]
    while sizes[-1] * FANOUT <= longest:
        sizes.append(sizes[-1] * FANOUT)
    slots, width = np.arange(len(codes)), int(codes.max(initial=0)) + 2
    values, order = [], []
    for size in sizes:
        by_block = np.argsort(slots // size * width + codes, kind="stable")
        order.append(by_block)
        values.append(codes[by_block])
    return Sorted(chosen, np.array(sizes, dtype=np.int64), np.stack(values), np.stack(order).astype(np.int64))
