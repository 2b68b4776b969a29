"""The engine's two functions: compile a clause once, run it over tables of whole partitions.

In: an ``AggregateSpec``; Arrow tables as ``EventPatternSpec`` describes them. Out: per pattern an Arrow table with one row
per partition that has a match of it. Spark is unknown here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkcep.engines.aseq.changes import run_changes
from sparkcep.engines.aseq.events import read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.results import aggregate
from sparkcep.engines.aseq.sequences import Sequence, sequences
from sparkcep.engines.aseq.sharing import plan_sharing
from sparkcep.engines.aseq.work import Work
from sparkcep.spec.aggregate import AggregateSpec, GroupColumn, MatchAggregate, PatternName
from sparkcep.spec.neighbours import linked


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled clause. ``patterns``: the only one, or those of MATCH PATTERNS, each with its name and sequences."""

    spec: AggregateSpec
    patterns: tuple[tuple[str, tuple[Sequence, ...]], ...]
    passes: tuple[tuple[int, ...], ...]

    @property
    def sequences(self) -> tuple[Sequence, ...]:
        """The sequences of the only (or the first) pattern."""
        return self.patterns[0][1]


def compile(spec: AggregateSpec) -> Plan:
    """The plan of a clause. Raises what ``sequences.sequences`` raises."""
    patterns = tuple((one.name, sequences(one.pattern)) for one in spec.patterns) or (("", sequences(spec.pattern)),)
    return Plan(spec, patterns, plan_sharing(patterns, windowed=spec.within is not None).passes)


def run(plan: Plan, table: pa.Table) -> Iterator[pa.Table]:
    """The aggregates of every partition of ``table`` that has a match, one table per pattern; nothing for an empty table.

    With ``emit``: the aggregates over the matches alive, at each event time at which one of the aggregates changes.

    Raises CepDataError where a value overflows BIGINT or DECIMAL; CepUnsupportedError for types that cannot be summed and for windows whose deadlines
    are not monotone in time.
    """
    if not table.num_rows:
        return
    if plan.spec.emit is not None:
        yield from run_changes(plan.spec, plan.patterns, table)
        return
    data = read(table, plan.spec)
    every = tuple(every for _, every in plan.patterns)
    work = Work(data, plan.spec.variables, every, plan.passes, linked(plan.spec.neighbours))
    for number, (name, own) in enumerate(plan.patterns):
        yield _aggregates(plan.spec, Passes(data, plan.spec.variables, own, work, number), name)


def _aggregates(spec: AggregateSpec, passes: Passes, pattern: str) -> pa.Table:
    matched = np.flatnonzero(passes.integers(Weighing()) > 0)
    rows = pa.array(passes.table.starts[matched])
    arrays = []
    for output in spec.outputs:
        if isinstance(output.source, GroupColumn):
            arrays.append(_one_array(passes.table.arrow.column(output.source.column).take(rows)))
        elif isinstance(output.source, PatternName):
            arrays.append(pa.array([pattern] * len(matched), pa.string()))
        elif isinstance(output.source, MatchAggregate):
            arrays.append(aggregate(passes, output.source, matched))
    return pa.Table.from_arrays(arrays, names=[output.name for output in spec.outputs])


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
