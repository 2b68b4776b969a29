"""EMIT CHANGES: aggregates over the matches alive at every event time, and the times at which they change.

In: a compiled clause with ``emit``, a table of whole partitions with all their events. Out: one row per pattern, partition and time at which an
aggregate differs from what it was before. The aggregates are partial ones: whether the measure made of them changed is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.aseq import change_kernels, open_change_kernels, semiring
from sparkcep.engines.aseq.events import Table, read
from sparkcep.engines.aseq.moments import Moments, Reach, moments, reach
from sparkcep.engines.aseq.passes import PRIMES, Passes
from sparkcep.engines.aseq.results import aggregate, nothing
from sparkcep.engines.aseq.sequences import Marked, Sequence
from sparkcep.engines.aseq.sharing import Pattern
from sparkcep.engines.aseq.values import Ints
from sparkcep.engines.aseq.work import Weighing, Weight, Work
from sparkcep.spec.aggregate import AggregateSpec, EmitTime, GroupColumn, MatchAggregate, PatternName

EXACT = 2.0**62
"""Counts below this are exact and are rounded only once."""


class ChangeWork(Work):
    """``Work`` with one number per moment instead of one per partition; a pass per pattern."""

    def __init__(
        self, table: Table, variables: tuple[str, ...], patterns: tuple[tuple[Sequence, ...], ...], at: Moments
    ) -> None:
        super().__init__(table, variables, patterns, tuple((number,) for number in range(len(patterns))))
        self.moments = at
        self._reach: dict[Sequence, Reach] = {}

    def _run(self, group: tuple[int, ...], weighing: Weighing, mode: int) -> NDArray:
        kind = np.float64 if mode == semiring.FLOAT else np.int64
        nothing = semiring.MAX if mode == semiring.LEAST else 0
        out = np.full(len(self.moments.row), nothing, kind)
        for one in self.marked(group[0], weighing.variable):
            coded, near = self.code(one.sequence), self._near(one.sequence)
            if not len(coded.part):
                continue
            if near.turns is None:
                self._alive(one, near, weighing, mode, out)
                continue
            turns, values = near.turns, np.full(len(near.low), out.dtype.type(nothing))
            self._alive(one, near, weighing, mode, values)
            change_kernels.merged(
                mode,
                turns.moment,
                turns.leaf,
                semiring.words(values[turns.order]),
                self.moments.part,
                turns.leaves,
                semiring.words(out),
            )
        return out[np.newaxis]

    def _alive(self, one: Marked, near: Reach, weighing: Weighing, mode: int, out: NDArray) -> None:
        coded = self.code(one.sequence)
        weights = self.weights(weighing, mode)[coded.row] if one.position else np.zeros(1, out.dtype)
        weights, out = semiring.words(weights), semiring.words(out)
        rows = mode, coded.code, coded.first, near.low, near.high
        if near.borders is None:
            change_kernels.alive(*rows, weights, coded.gaps, one.position, near.widest, out)
        else:
            borders = near.borders
            open_change_kernels.alive_between(*rows, *borders, weights, coded.gaps, one.position, near.widest, out)

    def _near(self, sequence: Sequence) -> Reach:
        if sequence not in self._reach:
            coded = self.code(sequence)
            self._reach[sequence] = reach(coded, self.table, self.moments, open_ended=sequence.open_ended)
        return self._reach[sequence]


def run_changes(spec: AggregateSpec, patterns: tuple[Pattern, ...], arrow: pa.Table) -> Iterator[pa.Table]:
    """The rows of all partitions of ``arrow``, each in order of time; a table per pattern. Raises what ``AseqEngine.run`` raises."""
    table = read(arrow, spec)
    partitions = np.flatnonzero(arrow.column(spec.masks[0]).to_numpy() & 1)
    at = moments(table, arrow.column(str(spec.emit)).to_numpy(), partitions)
    work = ChangeWork(table, spec.variables, tuple(every for _, every in patterns), at)
    for number, (name, own) in enumerate(patterns):
        yield _changes(spec, Passes(table, spec.variables, own, work, number), at, name)


def _changes(spec: AggregateSpec, passes: Passes, at: Moments, pattern: str) -> pa.Table:
    arrow = passes.table.arrow
    every = np.arange(len(at.row), dtype=np.int64)
    values = {source: _settled(aggregate(passes, source, every), passes, source, at) for source in _aggregates(spec)}
    changed = [_differs(column, at.part, nothing(source, column.type)) for source, column in values.items()]
    kept = np.flatnonzero(np.logical_or.reduce(changed))
    rows, places = pa.array(at.row[kept]), pa.array(kept)
    arrays = []
    for output in spec.outputs:
        if isinstance(output.source, GroupColumn | EmitTime):
            arrays.append(arrow.column(output.source.column).take(rows).combine_chunks())
        elif isinstance(output.source, PatternName):
            arrays.append(pa.array([pattern] * len(kept), pa.string()))
        elif isinstance(output.source, MatchAggregate):
            arrays.append(values[output.source].take(places))
    return pa.Table.from_arrays(arrays, names=[output.name for output in spec.outputs])


def _aggregates(spec: AggregateSpec) -> list[MatchAggregate]:
    return [output.source for output in spec.outputs if isinstance(output.source, MatchAggregate)]


def _settled(column: pa.Array, passes: Passes, source: MatchAggregate, at: Moments) -> pa.Array:
    """Sums of doubles, each as the one before it where the exact sum is the same: in another order they would be rounded otherwise.

    Exact sums that two primes do not tell apart are taken for the same: one pair in 10^18.
    """
    if not pa.types.is_floating(column.type) or source.function not in ("count", "sum"):
        return column
    exact = source.function == "count" or not passes.column(str(source.column)).floating
    if exact and not (np.abs(column.fill_null(0).to_numpy(zero_copy_only=False)) >= EXACT).any():
        return column
    weight: Weight = "value" if source.function == "sum" else "counted" if source.column else "one"
    way = Weighing(weight, source.variable or "", source.column or "")
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    same = np.zeros(len(column), bool)
    same[1:] = (at.part[1:] == at.part[:-1]) & (valid[1:] == valid[:-1])
    for prime in PRIMES[:2]:
        remainders = passes.remainders(way, prime)
        same[1:] &= remainders[1:] == remainders[:-1]
    return column.take(pa.array(np.maximum.accumulate(np.where(same, 0, np.arange(len(same))))))


def _differs(column: pa.Array, part: Ints, start: pa.Scalar) -> NDArray[np.bool_]:
    """Whether each value differs from the one before it in its partition; before the first there is ``start``."""
    first = np.ones(len(column), bool)
    first[1:] = part[1:] != part[:-1]
    shifted = column.take(pa.array(np.maximum(np.arange(len(column)) - 1, 0)))
    before = pc.if_else(pa.array(first), start, shifted)
    same = pc.fill_null(pc.equal(column, before), False)
    both_null = pc.and_(pc.is_null(column), pc.is_null(before))
    changed: NDArray[np.bool_] = pc.invert(pc.or_(same, both_null)).to_numpy(zero_copy_only=False)
    return changed
