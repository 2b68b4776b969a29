"""Matches as Arrow tables.

In: sets of complete matches (candidate numbers by variable). Out: tables of the spec's output columns, about
``OUTPUT_ROWS`` rows each. Payload of any Arrow type is moved by ``take`` and never interpreted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern.chain import earliest, latest
from sparkcep.engines.event_pattern.events import Frame, IntArray
from sparkcep.spec.event import EventStruct, FirstEvent, Output

OUTPUT_ROWS = 1 << 16
"""Rows of one output table: small enough to bound memory for wide structs, large enough to hide the cost per table."""


def tables(
    frames: Iterable[Frame], outputs: tuple[Output, ...], table: pa.Table, positions: IntArray, size: int = OUTPUT_ROWS
) -> Iterator[pa.Table]:
    """One table per ``size`` matches (the last may be shorter), in the order of ``frames``; none if there is no match.

    ``positions``: the table row of each candidate. Frames over different variables (branches) never share a table.
    """
    writer = _Writer(outputs, table)
    for frame in _resized(frames, size):
        yield writer.write({name: positions[rows] for name, rows in frame.items()})


def _resized(frames: Iterable[Frame], size: int) -> Iterator[Frame]:
    """The same matches, ``size`` at a time; joined only across frames over the same variables."""
    kept: list[Frame] = []
    count = 0
    for frame in frames:
        if kept and kept[0].keys() != frame.keys():
            yield from _cut(_joined(kept), size)
            kept, count = [], 0
        kept.append(frame)
        count += _length(frame)
        if count >= size:
            *full, rest = _cut(_joined(kept), size)
            yield from full
            kept, count = [rest], _length(rest)
    if kept:
        yield from _cut(_joined(kept), size)


def _length(frame: Frame) -> int:
    return len(next(iter(frame.values())))


def _joined(frames: list[Frame]) -> Frame:
    if len(frames) == 1:
        return frames[0]
    return {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}


def _cut(frame: Frame, size: int) -> Iterator[Frame]:
    for start in range(0, _length(frame), size):
        yield {name: rows[start : start + size] for name, rows in frame.items()}


class _Writer:
    """The output columns of one input table; each input column is made contiguous once."""

    def __init__(self, outputs: tuple[Output, ...], table: pa.Table) -> None:
        self.outputs = outputs
        self.table = table
        self.columns: dict[str, pa.Array | pa.ChunkedArray] = {}

    def write(self, rows: Frame) -> pa.Table:
        """The matches ``rows`` (table rows by variable) as a table."""
        arrays = [self._output(output, rows) for output in self.outputs]
        return pa.Table.from_arrays(arrays, names=[output.name for output in self.outputs])

    def _output(self, output: Output, rows: Frame) -> pa.Array:
        source = output.source
        if isinstance(source, EventStruct):
            return self._struct(source, rows)
        pick = earliest if isinstance(source, FirstEvent) else latest
        return self._take(source.column, pick(rows, tuple(rows)))

    def _struct(self, source: EventStruct, rows: Frame) -> pa.StructArray:
        fields = [pa.field(name, self.table.schema.field(column).type) for name, column in source.fields]
        taken = rows.get(source.variable)
        if taken is None:
            return pa.nulls(_length(rows), pa.struct(fields))
        if not fields:
            return pa.array([{}] * len(taken), pa.struct([]))
        return pa.StructArray.from_arrays([self._take(column, taken) for _, column in source.fields], fields=fields)

    def _take(self, column: str, rows: IntArray) -> pa.Array:
        if column not in self.columns:
            self.columns[column] = _contiguous(self.table.column(column))
        taken = self.columns[column].take(pa.array(rows))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _contiguous(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """One array where its offsets allow it: ``take`` on chunks looks each row's chunk up."""
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except pa.ArrowInvalid:  # more than 2 GiB of strings
        return column
