"""A-Seq as an engine: compile a clause once, run it over tables of whole partitions.

In: an ``AggregateSpec``; Arrow tables as ``EventPatternSpec`` describes them. Out: per pattern an Arrow table with one row
per partition that has a match of it. Spark is unknown here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkcep.engines.aseq.analyze import analyze
from sparkcep.engines.aseq.changes import run_changes
from sparkcep.engines.aseq.events import read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.plan import Plan, plan
from sparkcep.engines.aseq.results import aggregate
from sparkcep.engines.aseq.work import Work
from sparkcep.engines.counts import Counts
from sparkcep.spec.aggregate import AggregateSpec, GroupColumn, MatchAggregate, PatternName
from sparkcep.spec.neighbours import linked


@dataclass(frozen=True, slots=True)
class AseqEngine:
    """A compiled AggregateSpec."""

    plan: Plan

    def run(self, table: pa.Table) -> Iterator[pa.Table]:
        """The aggregates of every partition of ``table`` that has a match, a table per pattern; nothing for an empty table.

        With ``emit``: those over the matches alive at each event time at which one of them changes.

        Raises CepDataError where a BIGINT, or a DECIMAL's digits, do not hold a value; CepUnsupportedError for types that
        cannot be summed and for windows whose ends fall with time.
        """
        plan, spec = self.plan, self.plan.spec
        if not table.num_rows:
            return
        if spec.emit is not None:
            yield from run_changes(spec, plan.patterns, table)
            return
        data = read(table, spec)
        every = tuple(every for _, every in plan.patterns)
        work = Work(data, spec.variables, every, plan.passes, linked(spec.neighbours))
        for number, (name, own) in enumerate(plan.patterns):
            yield aggregates(spec, Passes(data, spec.variables, own, work, number), name)

    def analyze(self, table: pa.Table) -> Counts:
        """The matches of every prefix of the patterns; exact, whatever their number."""
        return analyze(self.plan, table)


def compile(spec: AggregateSpec) -> AseqEngine:
    """The engine for ``spec``. Raises what ``sequences.sequences`` raises."""
    return AseqEngine(plan(spec))


def aggregates(spec: AggregateSpec, passes: Passes, pattern: str) -> pa.Table:
    """The aggregates of every partition that has a match of ``pattern``."""
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
