"""Rows of a task in the order of their partitions, sorted where the engine runs.

In: Arrow batches in any order. Out: the same rows, those of a partition together and sorted, in batches. NumPy's stable sorts take a fifth of
the time that Spark's sort and its window take (``benchmarks/README.md``). More rows than fit are sorted run by run in files, which are merged.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.arrow_types import other_type
from sparkcep.spec.order import OrderColumn

PART = 4 << 20
"""Bytes of batches that are copied together."""
BLOCK = 1 << 16
"""Rows of a batch."""
CODE = "__cep_code"
"""The columns of runs with the numbers of keys."""
_DIGIT = 1 << 16


Order: TypeAlias = NDArray[Any]
"""The numbers of rows in their order, INT if that is enough: an order is a third of what a sort holds."""


class Sorter:
    """The rows of a task. ``keys``: columns with the PARTITION BY values, whose order is of no matter; ``order``: integers, dates or timestamps.
    ``memory``: bytes of rows that are sorted in memory; as many more are taken while they are. ``spent``: columns that only sort."""

    def __init__(
        self, keys: Sequence[str], order: Sequence[OrderColumn], memory: int, spent: Collection[str] = ()
    ) -> None:
        self._keys, self._order, self._memory, self._spent = list(keys), list(order), memory, set(spent)
        self._rows: list[pa.RecordBatch] = []
        self._parts: list[pa.Table] = []
        self._bytes = self._loose = 0
        self._runs = _Runs(self._keys, self._order, self._spent)

    def add(self, batch: pa.RecordBatch) -> None:
        """The task's next rows."""
        if not batch.num_rows:
            return
        self._rows.append(batch)
        self._bytes += batch.nbytes
        self._loose += batch.nbytes
        if self._loose > PART:
            self._gather()
        if self._bytes > self._memory:
            self._runs.add(self._taken_over())

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """All rows that have come; then there are none."""
        if not self._runs.number:
            yield from self._in_memory()
            return
        if self._bytes:
            self._runs.add(self._taken_over())
        yield from self._runs.merged()

    def _in_memory(self) -> Iterator[pa.RecordBatch]:
        if self._bytes:
            rows = self._taken_over()
            order = partition_order(rows, self._keys, self._order)
            yield from blocks(rows.select(_left(rows.column_names, self._spent)), order)

    def _gather(self) -> None:
        """Copy some batches, each of which is one piece of memory, so that columns can be freed one by one."""
        self._parts.append(pa.Table.from_batches(self._rows).combine_chunks())
        self._rows, self._loose = [], 0

    def _taken_over(self) -> pa.Table:
        """The rows in one chunk. No more than one column is there twice."""
        if self._rows:
            self._gather()
        schema = self._parts[0].schema
        columns = [[part.column(name).chunk(0) for part in self._parts] for name in schema.names]
        self._parts, self._bytes = [], 0
        rows = pa.Table.from_arrays([pa.concat_arrays(columns.pop(0)) for _ in schema.names], schema=schema)
        pa.default_memory_pool().release_unused()
        return rows


class _Runs:
    """Sorted rows in files that nothing else reads, with the numbers of their keys, by which they are sorted first."""

    def __init__(self, keys: list[str], order: list[OrderColumn], spent: Collection[str]) -> None:
        self._spent = spent
        self._numbers = {key: _Numbers() for key in keys}
        self._order = [*(OrderColumn(f"{CODE}{i}") for i in range(len(keys))), *order]
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._runs: list[pa.RecordBatchFileReader] = []

    @property
    def number(self) -> int:
        return len(self._runs)

    def add(self, rows: pa.Table) -> None:
        """One more run."""
        for i, (key, numbers) in enumerate(self._numbers.items()):
            rows = rows.append_column(f"{CODE}{i}", numbers.of(rows.column(key)))
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sparkcep-", dir=_scratch())
        path = str(Path(self._folder.name) / f"{self.number}.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            for block in blocks(rows, _sorted(rows, self._order)):
                writer.write_batch(block)
        self._runs.append(pa.ipc.open_file(pa.OSFile(path)))

    def merged(self) -> Iterator[pa.RecordBatch]:
        """The runs' next blocks together, as far as no later block can come before them."""
        assert self._folder is not None
        read = [0] * self.number
        schema = self._runs[0].schema
        columns = _left([name for name in schema.names if not name.startswith(CODE)], self._spent)
        pool, run = schema.empty_table(), np.empty(0, np.int64)
        with self._folder:
            while True:
                for i in np.flatnonzero(np.bincount(run, minlength=self.number) == 0):
                    if read[i] < self._runs[i].num_record_batches:
                        block = self._runs[i].get_batch(read[i])
                        read[i] += 1
                        pool = pa.concat_tables([pool, pa.Table.from_batches([block])])
                        run = np.append(run, np.full(block.num_rows, i))
                if not pool.num_rows:
                    return
                order = _sorted(pool, self._order)
                pool, run = pool.combine_chunks(), run[order]
                going_on = [i for i, reader in enumerate(self._runs) if read[i] < reader.num_record_batches]
                ready = min((int(np.flatnonzero(run == i)[-1]) + 1 for i in going_on), default=len(run))
                yield from blocks(pool.select(columns), order[:ready])
                pool, run = pool.take(pa.array(order[ready:])), run[ready:]


def _left(names: list[str], spent: Collection[str]) -> list[str]:
    """Without those that are ``spent``; all, if these are all: rows without columns are none."""
    return [name for name in names if name not in spent] or names


class _Numbers:
    """A number for each value of a column, the same in all tables."""

    def __init__(self) -> None:
        self._known: pa.Array | None = None

    def of(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """The numbers of ``values``."""
        if self._known is None:
            self._known = values.unique()
        found = pc.index_in(values, value_set=self._known)
        if found.null_count:
            self._known = pa.concat_arrays([self._known, values.filter(found.is_null()).unique()])
            found = pc.index_in(values, value_set=self._known)
        return found


def partition_order(rows: pa.Table, keys: Sequence[str], order: Sequence[OrderColumn]) -> Order:
    """The numbers of ``rows``, those of equal keys together and sorted; ``order``: integers, dates and timestamps. Stable."""
    found = _sorted(rows, order)
    if not keys:
        return found
    codes, count = _codes(rows, keys)
    found = _stable(found, codes % _DIGIT)
    return found if count <= _DIGIT else _stable(found, codes // _DIGIT)


def blocks(rows: pa.Table, order: Order) -> Iterator[pa.RecordBatch]:
    """Those of ``rows`` in ``order``, in batches; so there is no second copy of all."""
    for begin in range(0, len(order), BLOCK):
        block = order[begin : begin + BLOCK]
        together = np.array_equal(block, np.arange(block[0], block[0] + len(block)))
        found = rows.slice(block[0], len(block)) if together else rows.take(pa.array(block))
        yield from found.to_batches()


def _sorted(rows: pa.Table, order: Sequence[OrderColumn]) -> Order:
    """The numbers of ``rows`` as the columns sort them."""
    found: Order | None = None
    for one in reversed(order):
        column = rows.column(one.column)
        found = _stable(found, _numbers(column, one.descending))
        if column.null_count:
            nulls = column.is_null()
            found = _stable(found, (nulls if one.nulls_last else pc.invert(nulls)).to_numpy())
    assert found is not None
    return found


def _stable(found: Order | None, values: NDArray[Any]) -> Order:
    """``found`` (None: the rows as they are) as ``values`` of its rows sort it further."""
    values = values if found is None else values[found]
    kind = np.int32 if len(values) < 1 << 31 else np.int64
    if np.any(values[1:] < values[:-1]):
        order = np.argsort(_narrow(values), kind="stable").astype(kind, copy=False)
        return order if found is None else found[order]
    return np.arange(len(values), dtype=kind) if found is None else found


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers in the same order, of 16 bits if that is enough: NumPy sorts these by counting."""
    if values.dtype == np.bool_ or values.dtype.itemsize <= 2:
        return values
    low, high = int(values.min()), int(values.max())
    return (values - low).astype(np.uint16) if high - low < _DIGIT else values


def _numbers(column: pa.ChunkedArray, descending: bool) -> NDArray[Any]:
    """Numbers that sort as the values do."""
    if not (pa.types.is_integer(column.type) or pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        raise other_type(column.type, "one that sorts as whole numbers do, a date or a timestamp")
    if not pa.types.is_integer(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    values: NDArray[Any] = column.fill_null(0).to_numpy()
    return ~values if descending else values


def _codes(rows: pa.Table, keys: Sequence[str]) -> tuple[NDArray[np.int32], int]:
    """A number for each combination of keys, and how many there are."""
    first, *others = keys
    codes, count = _encoded(rows.column(first))
    for name in others:
        found, more = _encoded(rows.column(name))
        codes, count = _encoded(pa.chunked_array([pa.array(codes.astype(np.int64) * more + found)]))
    return codes, count


def _encoded(values: pa.ChunkedArray) -> tuple[NDArray[np.int32], int]:
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(), len(encoded.dictionary)


def _scratch() -> str | None:
    """The first of the folders that Spark gives its workers for what does not fit in memory."""
    first = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return first if first and os.path.isdir(first) else None
