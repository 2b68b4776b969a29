"""Rows that arrive in a stream, as files: written without Spark, whose job for a handful of rows takes longer than their micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

TYPES = {"STRING": pa.string(), "INT": pa.int32(), "BIGINT": pa.int64(), "TIMESTAMP": pa.timestamp("us", "UTC")}


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
    name = f"{len(list(folder.glob('*.parquet'))):03}.parquet"
    parquet.write_table(pa.Table.from_pylist(records, pa.schema(fields)), folder / f"_{name}.part")
    (folder / f"_{name}.part").rename(folder / name)
