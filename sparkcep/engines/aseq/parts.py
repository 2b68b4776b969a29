"""Aggregates of a partition that is met part by part: those over all its matches, once, when it has ended.

In: an AggregateSpec. Out: the spec of its turns, whose totals never pass a type that the whole would not pass; and the totals as the spec's outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from sparkcep.engines.aseq.results import COUNT_TYPE, name, overflow
from sparkcep.engines.aseq.running_totals import totals_of
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, MatchAggregate


def turns(spec: AggregateSpec) -> AggregateSpec | None:
    """``spec`` with exact numbers; None: its partitions have to be whole: sums of parts would be rounded, or each time has an answer of its own."""
    rounded = any(isinstance(one.source, MatchAggregate) and one.source.number == "double" for one in spec.outputs)
    if rounded or spec.emit is not None:
        return None
    return replace(spec, outputs=tuple(_exact(output) for output in spec.outputs))


def _exact(output: AggregateOutput) -> AggregateOutput:
    source = output.source
    if isinstance(source, MatchAggregate) and source.number == "bigint":
        return replace(output, source=replace(source, number="decimal"))
    return output


def finished(spec: AggregateSpec, carried: pa.Table | None) -> Iterator[pa.Table]:
    """The outputs of ``spec`` that the last turn's ``Answer.carried`` has. Raises CepDataError where BIGINT does not hold a number."""
    totals = totals_of(carried)
    if totals is not None:
        arrays = [_typed(output, totals.column(output.name)) for output in spec.outputs]
        yield pa.table(arrays, names=[output.name for output in spec.outputs])


def _typed(output: AggregateOutput, column: pa.ChunkedArray) -> pa.ChunkedArray:
    source = output.source
    if not isinstance(source, MatchAggregate) or source.number != "bigint" or column.type != COUNT_TYPE["decimal"]:
        return column
    try:
        return column.cast(COUNT_TYPE["bigint"])
    except pa.ArrowInvalid:
        hint = f"write CAST({name(source)} AS DECIMAL(38,0)), which is computed exactly"
        raise overflow(source, "BIGINT", hint) from None
