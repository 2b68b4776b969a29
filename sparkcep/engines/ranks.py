"""The rank of events in their partition, where Spark does not send it: it follows from their times.

RANK() beside ROW_NUMBER() costs Spark as much as a sixth of what it does before the engine, and a column more to send.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.spec import AnalyzeSpec, MatchSpec
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import EventPatternSpec, WithinTime


def with_ranks(spec: MatchSpec | AnalyzeSpec, table: pa.Table) -> pa.Table:
    """``table`` (whole partitions, in order) with the column ``spec.rank``, where the clause has one and the table lacks it; and of a line with the
    bit of its first row.
    """
    of = spec.of if isinstance(spec, AnalyzeSpec) else spec
    if isinstance(of, EventPatternSpec | AggregateSpec) and of.line:
        table = _begun(table, of.masks[0])
    if not isinstance(of, EventPatternSpec | AggregateSpec) or of.rank in table.column_names:
        return table
    assert isinstance(of.within, WithinTime)
    first = table.column(of.masks[0]).to_numpy() & 1 != 0
    time = table.column(of.within.time).combine_chunks()
    return table.append_column(of.rank, pa.array(ranks(first, changes(time))))


def last_gap(time: pa.Array, length: int) -> int | None:
    """The last row that is ``length`` or more later than the row before it; ``time``: BIGINT, ascending."""
    numbers = time.to_numpy()
    found = np.flatnonzero(np.diff(numbers).view(np.uint64) >= length)  # differences of BIGINTs may need 64 bits
    return int(found[-1]) + 1 if len(found) else None


def _begun(table: pa.Table, name: str) -> pa.Table:
    mask = table.column(name).to_numpy().copy()
    mask[:1] |= 1
    return table.set_column(table.column_names.index(name), name, pa.array(mask))


def ranks(first: NDArray[np.bool_], later: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[rows]: 1 for the ``first`` row of a partition; one ``later`` than that before it has its own place in the partition, others share the rank."""
    at = np.arange(len(first))
    begin = np.maximum.accumulate(np.where(first, at, 0))
    return np.maximum.accumulate(np.where(first | later, at, 0)) - begin + 1


def changes(values: pa.Array) -> NDArray[np.bool_]:
    """Where a value differs from the one before it, as Spark compares them: NaN is equal to itself."""
    found = np.ones(len(values), np.bool_)
    numbers = values.to_numpy(zero_copy_only=False)
    found[1:] = numbers[1:] != numbers[:-1]
    if pa.types.is_floating(values.type):
        missing = np.isnan(numbers)
        found[1:] &= ~(missing[1:] & missing[:-1])
    return found
