"""Where partitions begin, seen in the keys of rows that come in the order of their keys.

In: batches of one task, one after another. Out: the same with bit 0 of the first mask set in the first row of each partition. Spark's window function
that would tell takes longer than the whole look at the keys.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.changes import changes
from sparkcep.spec import MatchSpec


class PartitionStarts:
    """Of the rows of one task; it keeps the keys of the last one. Batches of a clause whose masks have the bit are left as they are.

    ``one``: without keys all rows are one partition.
    """

    def __init__(self, spec: MatchSpec, *, one: bool = False) -> None:
        self._keys, self._mask, self._one = list(spec.starts), spec.masks[0], one
        self._last: list[pa.RecordBatch] = []

    def marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The task's next rows, with the bit."""
        if not (self._keys or self._one) or not batch.num_rows:
            return batch
        begins = self._begins(batch)
        at = batch.schema.get_field_index(self._mask)
        mask = batch.column(at).to_numpy() | begins
        return batch.set_column(at, batch.schema.field(at), pa.array(mask, batch.schema.field(at).type))

    def _begins(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        if not self._keys:
            begins, self._one = np.zeros(batch.num_rows, np.bool_), False
            begins[0] = True
            return begins
        keys = batch.select(self._keys)
        begins = changes(pa.Table.from_batches([*self._last, keys]), self._keys)[len(self._last) :]
        self._last = [keys.slice(batch.num_rows - 1)]
        return begins
