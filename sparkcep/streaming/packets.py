"""Rows on their way to a bucket and back: one Arrow stream for each bucket of a task.

A packet is a row for Spark, whose stateful operator takes rows one by one: a task's rows of a bucket cost it as much as one row. Packets hide the
event-time column, so Spark drops no late rows: the fold says which rows are late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.spec.stream import BUCKET, LATE

COMPRESSED = 1 << 14
"""Bytes of a table in the state from which on it is compressed."""
PAYLOAD, CHANGE = "payload", "change"
PACKET = pa.schema([pa.field(BUCKET, pa.int32()), pa.field(PAYLOAD, pa.binary()), pa.field(CHANGE, pa.string())])
"""A packet of rows, or (without a payload) a change of the pattern that a stream follows, as JSON."""
PACKET_DDL = f"`{BUCKET}` int, {PAYLOAD} binary, {CHANGE} string"


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The task's rows, with their ``BUCKET``, as packets."""
    waiting = [batch for batch in batches if batch.num_rows]
    if not waiting:
        return
    table = pa.Table.from_batches(waiting)
    bucket = table.column(BUCKET).to_numpy()
    rows = table.drop_columns([BUCKET])
    if len(found := np.unique(bucket)) > 1:
        order = np.argsort(bucket, kind="stable")
        bucket, rows = bucket[order], rows.take(pa.array(order))
    edges = np.searchsorted(bucket, found)
    payloads = [
        to_bytes(rows.slice(low, high - low)) for low, high in zip(edges, [*edges[1:], len(bucket)], strict=True)
    ]
    columns = [pa.array(found, pa.int32()), pa.array(payloads, pa.binary()), pa.nulls(len(found), pa.string())]
    yield pa.RecordBatch.from_arrays(columns, schema=PACKET)


def to_bytes(table: pa.Table, compression: str | None = None) -> bytes:
    """A table as an Arrow stream of one batch; ``compression``: "lz4" or "zstd"."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(
        compression=compression, use_threads=False
    )  # they take longer to begin than most tables to compress
    with pa.ipc.new_stream(sink, table.schema, options=options) as out:
        out.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def to_state(table: pa.Table) -> bytes:
    """``to_bytes`` for Spark's state, where a byte takes longer to put and get than to compress."""
    return to_bytes(table, "zstd" if table.nbytes >= COMPRESSED else None)


def of_bytes(data: bytes | bytearray) -> pa.Table:
    """The table of ``to_bytes``."""
    return pa.ipc.open_stream(pa.py_buffer(data), options=pa.ipc.IpcReadOptions(use_threads=False)).read_all()


def unpacked(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of ``schema`` in packets of matches (the first column) and of late rows (the second)."""
    for batch in batches:
        for column, typed in ((batch.column(0), _matches), (batch.column(1), _late_rows)):
            for value in column:
                if value.is_valid:
                    yield from typed(of_bytes(value.as_py()), schema).to_batches()


def _matches(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        pa.nulls(table.num_rows, field.type) if field.name == LATE else _cast(table.column(i), field.type)
        for i, field in enumerate(schema)
    ]
    return pa.table(columns, schema=schema)


def _late_rows(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """``table``: the one column of whole rows."""
    columns = [
        _cast(table.column(0), field.type) if field.name == LATE else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == kind else pc.cast(column, kind)
