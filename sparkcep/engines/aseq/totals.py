"""Aggregates of several turns of a stream put together, group by group.

In: tables of an AggregateSpec's outputs. Sums are exact (integers and decimals) or those of doubles; values past their type are an error, as within
one turn. NULL keys are equal, as in GROUP BY.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.aseq.results import nothing, overflow
from sparkcep.engines.aseq.stream_rows import first_of_group
from sparkcep.engines.aseq.values import Ints
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, GroupColumn, MatchAggregate
from sparkcep.spec.stream import BEFORE, KNOWN

PRESENT = "__cep_present"
"""The number of matches, beside what the clause asks for."""
VALUES = "__cep_values_"
"""The prefix of the columns with the number of a sum's values (``with_values``)."""
PLACE = "__cep_place"
"""The number of the partition in its turn."""


def with_presence(spec: AggregateSpec) -> AggregateSpec:
    """``spec`` with PRESENT and PLACE among its outputs."""
    present = AggregateOutput(PRESENT, MatchAggregate("count", number="decimal"))
    return replace(spec, outputs=(*spec.outputs, present, AggregateOutput(PLACE, GroupColumn(PLACE))))


def with_values(spec: AggregateSpec) -> AggregateSpec:
    """``spec`` with the number of values of each sum, which tells in a difference whether there is any."""
    sums = [one for one in spec.outputs if isinstance(one.source, MatchAggregate) and one.source.function == "sum"]
    return replace(spec, outputs=(*spec.outputs, *(_values(one) for one in sums)))


def _values(output: AggregateOutput) -> AggregateOutput:
    assert isinstance(output.source, MatchAggregate)
    return AggregateOutput(VALUES + output.name, replace(output.source, function="count", number="decimal"))


def added(
    spec: AggregateSpec, totals: pa.Table | None, found: list[pa.Table]
) -> tuple[pa.Table | None, pa.Table | None]:
    """The totals with what was ``found``; and of the groups of that, each once: its keys and totals, whether it is KNOWN from before, and the
    totals BEFORE. Raises CepDataError where a value overflows its type."""
    hidden = PRESENT, PLACE
    outputs = [one for one in spec.outputs if one.name not in hidden and not one.name.startswith(VALUES)]
    names = [output.name for output in outputs]
    if not found:
        return totals, None
    new = pa.concat_tables([part.select(names) for part in found])
    whole = new if totals is None else pa.concat_tables([totals, new])
    old = 0 if totals is None else totals.num_rows
    first = first_of_group(whole, [output.name for output in outputs if not isinstance(output.source, MatchAggregate)])
    touched, of = np.unique(first[old:], return_inverse=True)
    known = touched < old
    before = whole.take(pa.array(np.where(known, touched, 0)))
    parts = pa.concat_tables([whole.take(pa.array(touched[known])), new])
    groups = np.append(np.flatnonzero(known), of)
    now = {output.name: _reduced(output, parts.column(output.name), groups, len(touched)) for output in outputs}
    kept = np.ones(old, np.bool_)
    kept[touched[known]] = False
    current = pa.table(now)
    every = current if totals is None else pa.concat_tables([totals.filter(pa.array(kept)), current]).combine_chunks()
    return every, pa.table(now | {KNOWN: pa.array(known)} | dict(_before(outputs, before, known)))


def subtracted(spec: AggregateSpec, every: pa.Table, earlier: pa.Table) -> pa.Table:
    """``every`` without ``earlier``, whose rows are of some of its partitions. A least or greatest value is that of all: those of earlier turns are
    in the totals."""
    place = np.searchsorted(every.column(PLACE).to_numpy(), earlier.column(PLACE).to_numpy())
    at = np.full(every.num_rows, -1)
    at[place] = np.arange(earlier.num_rows)
    rows = pa.array(at, mask=at < 0)
    columns = []
    for output in spec.outputs:
        column = every.column(output.name)
        if isinstance(output.source, MatchAggregate) and output.source.function in ("count", "sum"):
            taken = earlier.column(output.name).take(rows)
            column = pc.if_else(pc.is_null(taken), column, _minus(column, taken))
        columns.append(column)
    found = pa.table(columns, names=every.column_names)
    for name in (name for name in found.column_names if VALUES + name in found.column_names):
        some = pc.greater(found.column(VALUES + name), 0)
        valued = pc.if_else(some, found.column(name), pa.scalar(None, found.column(name).type))
        found = found.set_column(found.schema.get_field_index(name), name, valued)
    return found


def _minus(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_decimal(left.type):
        difference = pc.subtract(left, right)
        return pc.if_else(pc.equal(left, right), pa.scalar(0, left.type), difference)  # of infinities too
    wide = pa.decimal256(75, left.type.scale)
    return pc.subtract(left.cast(wide), right.cast(wide)).cast(left.type)


def _before(outputs: list[AggregateOutput], before: pa.Table, known: Any) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """What a group had."""
    for output in outputs:
        if isinstance(output.source, MatchAggregate):
            column = before.column(output.name)
            yield BEFORE + output.name, pc.if_else(pa.array(known), column, nothing(output.source, column.type))


def _reduced(output: AggregateOutput, column: pa.ChunkedArray, groups: Ints, count: int) -> pa.Array:
    """One value for each group."""
    source = output.source
    if not isinstance(source, MatchAggregate):
        rows = np.empty(count, np.int64)
        rows[groups[::-1]] = np.arange(len(groups))[::-1]
        return column.take(pa.array(rows)).combine_chunks()
    if source.function in ("min", "max"):
        return _extreme(column, groups, count, least=source.function == "min")
    return _sum(source, column, groups, count)


def _sum(source: MatchAggregate, column: pa.ChunkedArray, groups: Ints, count: int) -> pa.Array:
    kind = column.type
    wide = column
    if not pa.types.is_floating(kind):
        exact = column.cast(pa.decimal128(19, 0)) if pa.types.is_integer(kind) else column
        wide = exact.cast(pa.decimal256(76, exact.type.scale))
    summed = (
        pa.table({"group": groups, "value": wide}).group_by("group", use_threads=False).aggregate([("value", "sum")])
    )
    order = np.argsort(summed.column("group").to_numpy())
    total = summed.column("value_sum").take(pa.array(order)).combine_chunks()
    assert len(total) == count
    try:
        return total.cast(kind)
    except pa.ArrowInvalid:
        raise overflow(source, "BIGINT" if pa.types.is_integer(kind) else str(kind).upper(), "shorten WITHIN") from None


def _extreme(column: pa.ChunkedArray, groups: Ints, count: int, *, least: bool) -> pa.Array:
    """NULLs do not count; NaN is greater than all numbers."""
    values = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    valid = column.is_valid().to_numpy()
    row_of = pc.sort_indices(values).to_numpy().astype(np.int64)  # NULLs last
    rank = np.empty(len(row_of), np.int64)
    rank[row_of] = np.arange(len(row_of))
    sign = 1 if least else -1
    best = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(best, groups[valid], sign * rank[valid])
    empty = best == np.iinfo(np.int64).max
    return column.take(pa.array(row_of[np.where(empty, 0, sign * best)], mask=empty)).combine_chunks()
