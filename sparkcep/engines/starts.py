"""Where partitions begin, seen in the keys of rows that come in the order of their keys.

In: batches of one task, one after another. Out: the same with bit 0 of the first mask set in the first row of each partition. Spark's window function
that would tell takes longer than the whole look at the keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.spec import AnalyzeSpec, MatchSpec
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import EventPatternSpec


class PartitionStarts:
    """Of the rows of one task; it keeps the keys of the last one. Batches of a clause whose masks have the bit are left as they are."""

    def __init__(self, spec: MatchSpec | AnalyzeSpec) -> None:
        of = spec.of if isinstance(spec, AnalyzeSpec) else spec
        self._keys: Sequence[str] = of.starts if isinstance(of, EventPatternSpec | AggregateSpec) else ()
        self._mask = of.masks[0]
        self._last: list[pa.Array] | None = None

    def marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The task's next rows, with the bit."""
        if not self._keys or not batch.num_rows:
            return batch
        keys = [batch.column(name) for name in self._keys]
        begins = np.zeros(batch.num_rows, np.bool_)
        begins[0] = self._last is None
        for i, key in enumerate(keys):
            if self._last is None:
                begins[1:] |= _changes(key)
            else:
                begins |= _changes(pa.concat_arrays([self._last[i], key]))
        self._last = [key.slice(batch.num_rows - 1) for key in keys]
        at = batch.schema.get_field_index(self._mask)
        mask = batch.column(at).to_numpy() | begins
        return batch.set_column(at, batch.schema.field(at), pa.array(mask, batch.schema.field(at).type))


def _changes(values: pa.Array) -> NDArray[np.bool_]:
    """[n - 1]: where a value differs from the one before it; NULL is equal to NULL."""
    before, after = values.slice(0, len(values) - 1), values.slice(1)
    found = pc.not_equal(before, after)
    if values.null_count:
        found = pc.if_else(pc.is_valid(found), found, pc.xor(pc.is_null(before), pc.is_null(after)))
    changes: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return changes
