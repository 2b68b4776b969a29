"""The engine's two functions: compile a clause once, run it over tables of whole partitions.

In: an ``AggregateSpec``; Arrow tables as ``EventPatternSpec`` describes them. Out: an Arrow table with one row per
partition that has a match. Spark is unknown here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkcep.engines.aseq.events import read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.results import aggregate
from sparkcep.engines.aseq.sequences import Sequence, sequences
from sparkcep.spec.aggregate import AggregateSpec, GroupColumn


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled clause."""

    spec: AggregateSpec
    sequences: tuple[Sequence, ...]


def compile(spec: AggregateSpec) -> Plan:
    """The plan of a clause. Raises what ``sequences.sequences`` raises."""
    return Plan(spec, sequences(spec.pattern))


def run(plan: Plan, table: pa.Table) -> Iterator[pa.Table]:
    """The aggregates of every partition of ``table`` that has a match, as one table; nothing for an empty table.

    Raises CepDataError where a BIGINT, or a DECIMAL's digits, do not hold a value; CepUnsupportedError for types that
    cannot be summed and for windows whose ends fall with time.
    """
    if not table.num_rows:
        return
    passes = Passes(read(table, plan.spec), plan.spec.variables, plan.sequences)
    matched = np.flatnonzero(passes.integers(Weighing()) > 0)
    rows = pa.array(passes.table.starts[matched])
    arrays = []
    for output in plan.spec.outputs:
        if isinstance(output.source, GroupColumn):
            arrays.append(_one_array(table.column(output.source.column).take(rows)))
        else:
            arrays.append(aggregate(passes, output.source, matched))
    yield pa.Table.from_arrays(arrays, names=[output.name for output in plan.spec.outputs])


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
