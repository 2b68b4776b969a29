"""Rows of a task in the order of their partitions, sorted where the engine runs.

In: Arrow batches in any order. Out: the same rows, those of a partition together and sorted, in batches. NumPy's stable sorts take a fifth of
the time that Spark's sort and its window take (``benchmarks/keys_in_order.py``). More rows than fit are sorted run by run in files, which are
merged.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.changes import frame
from sparkcep.engines.turn import taken
from sparkcep.spec.order import OrderColumn

BLOCK = 1 << 16
"""Rows of a batch."""
_DIGIT = 1 << 16
"""NumPy sorts 16-bit numbers by counting."""

Order = NDArray[np.int64]


class Sorter:
    """The rows of a task. ``keys``: columns with the PARTITION BY values, whose order is of no matter; ``order``: integers, dates or timestamps.
    ``memory``: bytes of rows that are sorted in memory; twice as many more are taken while they are."""

    def __init__(self, keys: Sequence[str], order: Sequence[OrderColumn], memory: int) -> None:
        self._keys, self._order, self._memory = list(keys), list(order), memory
        self._rows: list[pa.RecordBatch] = []
        self._bytes = 0
        self._runs: list[pa.RecordBatchFileReader] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """The task's next rows."""
        if not batch.num_rows:
            return
        self._rows.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._memory:
            self._spill()

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """All rows that have come; then there are none."""
        if self._runs:
            yield from self._merged()
        elif self._rows:
            rows = self._taken_over()
            rows = taken(rows, partition_order(rows, self._keys, self._order))
            yield from rows.to_batches(max_chunksize=BLOCK)

    def _taken_over(self) -> pa.Table:
        rows = pa.Table.from_batches(self._rows).combine_chunks()
        self._rows, self._bytes = [], 0
        return rows

    def _spill(self) -> None:
        """The rows as a run of their own, in a file that nothing else reads."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sparkcep-", dir=_scratch())
        rows = self._taken_over()
        path = str(Path(self._folder.name) / f"{len(self._runs)}.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(taken(rows, self._whole_order(rows)), max_chunksize=BLOCK)
        self._runs.append(pa.ipc.open_file(pa.memory_map(path)))

    def _merged(self) -> Iterator[pa.RecordBatch]:
        """The runs' next blocks together, as far as no later block can come before them."""
        if self._rows:
            self._spill()
        assert self._folder is not None
        blocks = [0] * len(self._runs)
        pool = self._runs[0].schema.empty_table()
        run = np.empty(0, np.int64)
        with self._folder:
            while True:
                missing = [i for i in _absent(run, len(blocks)) if blocks[i] < self._runs[i].num_record_batches]
                for i in missing:
                    block = self._runs[i].get_batch(blocks[i])
                    blocks[i] += 1
                    pool = pa.concat_tables([pool, pa.Table.from_batches([block])])
                    run = np.append(run, np.full(block.num_rows, i))
                if not pool.num_rows:
                    return
                order = self._whole_order(pool)
                pool, run = taken(pool.combine_chunks(), order), run[order]
                going_on = [i for i, reader in enumerate(self._runs) if blocks[i] < reader.num_record_batches]
                ready = min((_last(run, i) + 1 for i in going_on), default=len(run))
                yield from pool.slice(0, ready).to_batches(max_chunksize=BLOCK)
                pool, run = pool.slice(ready), run[ready:]

    def _whole_order(self, rows: pa.Table) -> Order:
        """An order in which keys, too, are sorted, so that it is the same in every run."""
        return sorted_order(rows, [*map(OrderColumn, self._keys), *self._order])


def partition_order(rows: pa.Table, keys: Sequence[str], order: Sequence[OrderColumn]) -> Order:
    """The numbers of ``rows``, those of equal keys together and sorted; ``order``: integers, dates and timestamps. Stable."""
    found = np.arange(rows.num_rows)
    for one in reversed(order):
        values, nulls = _numbers(rows.column(one.column))
        found = _stable(found, ~values if one.descending else values)
        if nulls is not None:
            found = _stable(found, nulls if one.nulls_last else ~nulls)
    if not keys:
        return found
    codes, count = _codes(rows, keys)
    found = _stable(found, (codes % _DIGIT).astype(np.uint16))
    return found if count <= _DIGIT else _stable(found, (codes // _DIGIT).astype(np.uint16))


def sorted_order(rows: pa.Table, columns: Sequence[OrderColumn]) -> Order:
    """The numbers of ``rows`` as ``columns`` of any type sort them."""
    names = [one.column for one in columns]
    descending, nulls_last = [one.descending for one in columns], [one.nulls_last for one in columns]
    if len(names) > 1:
        order = pl.arg_sort_by(names, descending=descending, nulls_last=nulls_last)
    else:
        order = pl.col(names[0]).arg_sort(descending=descending[0], nulls_last=nulls_last[0])
    found: Order = frame(rows, names).select(order.alias("row"))["row"].to_numpy().astype(np.int64)
    return found


def _stable(found: Order, values: NDArray[Any]) -> Order:
    """``found`` as ``values`` of its rows sort it further."""
    values = values[found]
    return found if not np.any(values[1:] < values[:-1]) else found[np.argsort(values, kind="stable")]


def _numbers(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Numbers that sort as the values do, and which are NULL."""
    nulls = column.is_null().to_numpy() if column.null_count else None
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    values = column.cast(pa.int64()).fill_null(0).to_numpy()
    return values, nulls


def _codes(rows: pa.Table, keys: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """A number for each combination of keys, and how many there are at most."""
    codes, count = np.zeros(rows.num_rows, np.int64), 1
    for name in keys:
        found, more = _encoded(rows.column(name).combine_chunks())
        codes, count = codes * more + found, count * more
        if count > _DIGIT:
            codes, count = _encoded(pa.array(codes))
    return codes, count


def _encoded(values: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.int64], int]:
    encoded = values.dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def _absent(run: NDArray[np.int64], runs: int) -> Order:
    return np.flatnonzero(np.bincount(run, minlength=runs) == 0)


def _last(run: NDArray[np.int64], i: int) -> int:
    return int(np.flatnonzero(run == i)[-1])


def _scratch() -> str | None:
    """The first of the folders that Spark gives its workers for what does not fit in memory."""
    first = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return first if first and os.path.isdir(first) else None
