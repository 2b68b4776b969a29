"""Rows that arrive in a stream, as files: written without Spark, whose job for a handful of rows takes longer than their micro-batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

EPOCH = 1_700_000_000
"""When the first file was changed: a stream reads files in this order, and those of one millisecond in any."""
TYPES = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


def put(folder: Path, schema: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """The folder's next file, there at once. ``schema``: Spark's text of the columns; times are seconds."""
    folder.mkdir(exist_ok=True)
    fields = [pa.field(name, TYPES[kind]) for name, kind in map(str.split, schema.split(", "))]
    seconds = [pa.types.is_timestamp(field.type) for field in fields]
    records = [
        {
            field.name: value * 1_000_000 if time else value
            for field, value, time in zip(fields, row, seconds, strict=True)
        }
        for row in rows
    ]
    number = len(list(folder.glob("*.parquet")))
    part = folder / f"_{number:03}.parquet.part"
    parquet.write_table(pa.Table.from_pylist(records, pa.schema(fields)), part)
    os.utime(part, times=(EPOCH + number, EPOCH + number))
    part.rename(folder / f"{number:03}.parquet")
