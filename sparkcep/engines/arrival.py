"""What a worker does with the rows of a task before an engine sees them: sorts them, marks where partitions begin, tests what adjacent rows tell.

In: the batches of one task as Spark sends them. Out: batches of whole masks, partition after partition, each in ORDER BY order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparkcep.engines.adjacent import AdjacentTests
from sparkcep.engines.derived import sent_time
from sparkcep.engines.sorting import Sorter
from sparkcep.engines.starts import PartitionStarts
from sparkcep.spec import AnalyzeSpec, MatchSpec
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.row import MASK_BITS, RowPatternSpec, read_columns


class Arrival:
    """The rows of one task. ``memory``: bytes of rows that are sorted in memory."""

    def __init__(self, spec: MatchSpec | AnalyzeSpec, memory: int) -> None:
        of = spec.of if isinstance(spec, AnalyzeSpec) else spec
        order = _order(of)
        self._masks = _all_bits(of)
        self._sorter = Sorter(of.starts, order, memory, _spent(of, order)) if order else None
        line = isinstance(of, EventPatternSpec | AggregateSpec) and of.line
        self._starts = PartitionStarts(of, one=bool(order) and not line)
        self._adjacent = AdjacentTests(of) if isinstance(of, RowPatternSpec) and of.adjacent else None

    def come(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The task's next rows, and those that are ready. Raises CepDataError: a condition cannot be computed."""
        if self._sorter is None:
            yield from self._told(batch)
        else:
            self._sorter.add(batch)

    def end(self) -> Iterator[pa.RecordBatch]:
        """The rows that are ready when no more come. Raises as ``come``."""
        if self._sorter is not None:
            for batch in self._sorter.sorted():
                yield from self._told(batch)
        if self._adjacent is not None:
            yield from self._adjacent.end()

    def _told(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        batch = self._starts.marked(self._with_masks(batch))
        if self._adjacent is None:
            yield batch
        else:
            yield from self._adjacent.come(batch)

    def _with_masks(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """With the masks that are not sent, because Spark tests nothing."""
        for name, bits in self._masks.items():
            if name not in batch.schema.names:
                batch = batch.append_column(name, pa.array(np.full(batch.num_rows, bits)))
        return batch


def _all_bits(spec: MatchSpec) -> dict[str, np.integer]:
    """The masks of a spec in which all variables' bits are set. Those of a row pattern as narrow as can be: a long match has all of its rows."""
    if not isinstance(spec, RowPatternSpec):
        return dict.fromkeys(spec.masks, np.int64(0))
    bits = (1 << 1 + len(spec.variables)) - 2
    words = {name: bits >> i * MASK_BITS & (1 << MASK_BITS) - 1 for i, name in enumerate(spec.masks)}
    return {name: np.min_scalar_type(~(word | 1)).type(word) for name, word in words.items()}


def _spent(spec: MatchSpec, order: tuple[OrderColumn, ...]) -> set[str]:
    """The columns of ``order`` that nothing reads of sorted rows."""
    return {one.column for one in order} - read_columns(spec) if isinstance(spec, RowPatternSpec) else set()


def _order(spec: MatchSpec) -> tuple[OrderColumn, ...]:
    """How the rows are to be sorted in their partitions; empty if they come sorted."""
    if isinstance(spec, EventPatternSpec | AggregateSpec):
        return (OrderColumn(sent_time(spec)),) if spec.unordered else ()
    return spec.sort
