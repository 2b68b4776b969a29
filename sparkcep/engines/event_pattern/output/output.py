"""Matches as Arrow tables.

In: sets of complete matches (candidate numbers and closures by variable). Out: tables of the spec's output columns, about
``OUTPUT_ROWS`` rows each. Payload of any Arrow type is copied by ``take`` and never interpreted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.events import IntArray
from sparkcep.engines.event_pattern.planner.branches import Branch, extremes
from sparkcep.engines.event_pattern.values.closures import Closures, Frame, earliest, latest
from sparkcep.errors import CepInternalError
from sparkcep.pattern.event import elements
from sparkcep.spec.event import BufferStruct, EventPatternSpec, EventStruct, FirstEvent, Output, flat_name

Rows = NDArray[np.signedinteger[Any]]
"""Table rows, or sizes."""

OUTPUT_ROWS = 1 << 16
"""Rows of one output table: small enough to bound memory for wide structs, large enough to hide the cost per table."""

OUTPUT_EVENTS = 1 << 20
"""The most closure elements of one output table (a single match may have more)."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Closures of varying size, flattened: closure i has the next ``sizes[i]`` of ``rows``."""

    sizes: Rows
    rows: Rows

    def cut(self, start: int, stop: int) -> Lists:
        """Closures ``[start, stop)``."""
        ends = np.cumsum(self.sizes)
        begin, end = (int(ends[at - 1]) if at else 0 for at in (start, min(stop, len(self.sizes))))
        return Lists(self.sizes[start:stop], self.rows[begin:end])

    def chosen(self, numbers: Rows) -> Lists:
        """The closures with these numbers."""
        sizes = self.sizes[numbers].astype(np.int64)
        shift = (np.cumsum(self.sizes) - self.sizes)[numbers] - (np.cumsum(sizes) - sizes)
        return Lists(sizes, self.rows[np.arange(sizes.sum()) + np.repeat(shift, sizes)])


@dataclass(frozen=True, slots=True)
class Matches:
    """Complete matches as table rows. ``absent``: Kleene variables that took no event."""

    first: Rows
    last: Rows
    taken: Mapping[str, Rows | Lists]
    absent: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    def chosen(self, numbers: Rows) -> Matches:
        """The matches with these numbers."""
        taken = {
            name: column.chosen(numbers) if isinstance(column, Lists) else column[numbers]
            for name, column in self.taken.items()
        }
        return Matches(self.first[numbers], self.last[numbers], taken, self.absent)

    @property
    def layout(self) -> tuple[object, ...]:
        """Matches of equal layout can share a table."""
        return (frozenset(self.taken), self.absent)


def tables(
    frames: Iterable[tuple[Frame, Branch]],
    spec: EventPatternSpec,
    table: pa.Table,
    positions: IntArray,
    size: int = OUTPUT_ROWS,
) -> Iterator[pa.Table]:
    """One table per ``size`` matches (the last may be shorter), in the order of ``frames``; none if there is no match.

    ``frames``: matches with their branch. ``positions``: the table row of each candidate. Frames of different
    branches share a table only where they show the same variables.
    """
    writer = Writer(spec, table)
    for part in _resized(found(frames, positions, writer.variables), size):
        yield writer.write(part)


def found(frames: Iterable[tuple[Frame, Branch]], positions: IntArray, wanted: frozenset[str]) -> Iterator[Matches]:
    """The matches of ``frames`` as table rows, of the variables ``wanted``."""
    parts = (_matches(frame, branch, positions, wanted) for frame, branch in frames)
    return (part for part in parts if len(part))


def _matches(frame: Frame, branch: Branch, positions: IntArray, wanted: frozenset[str]) -> Matches:
    """The matches of a frame; only the variables in the output are looked up."""
    first, last = extremes(branch.variables, branch.precedes)
    taken: dict[str, Rows | Lists] = {}
    for name, column in ((name, frame[name]) for name in branch.variables if name in wanted):
        if isinstance(column, Closures):
            sizes = np.full(len(column), column.size, dtype=np.int64)
            taken[name] = Lists(sizes, positions[column.elements().ravel()])
        else:
            taken[name] = positions[column]
    return Matches(positions[earliest(frame, first)], positions[latest(frame, last)], taken, branch.absent)


def _resized(parts: Iterable[Matches], size: int) -> Iterator[Matches]:
    """The same matches, ``size`` at a time; parts are joined only if their layouts are equal."""
    kept: list[Matches] = []
    for part in parts:
        if kept and kept[0].layout != part.layout:
            yield from _cut(_joined(kept), size)
            kept = []
        kept.append(part)
        if sum(map(len, kept)) >= size or sum(map(_weight, kept)) >= OUTPUT_EVENTS:
            *full, rest = _cut(_joined(kept), size)
            yield from full
            kept = [rest]
            if len(rest) == size or _weight(rest) >= OUTPUT_EVENTS:
                yield rest
                kept = []
    if kept:
        yield from _cut(_joined(kept), size)


def _weight(matches: Matches) -> int:
    return sum(len(column.rows) for column in matches.taken.values() if isinstance(column, Lists))


def _joined(parts: list[Matches]) -> Matches:
    if len(parts) == 1:
        return parts[0]
    return Matches(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.last for part in parts]),
        {name: _joined_column([part.taken[name] for part in parts]) for name in parts[0].taken},
        parts[0].absent,
    )


def _joined_column(columns: Sequence[Rows | Lists]) -> Rows | Lists:
    lists = [column for column in columns if isinstance(column, Lists)]
    if lists:
        return Lists(
            np.concatenate([column.sizes for column in lists]), np.concatenate([column.rows for column in lists])
        )
    return np.concatenate([column for column in columns if not isinstance(column, Lists)])


def _cut(matches: Matches, size: int) -> Iterator[Matches]:
    """Parts of at most ``size`` matches, fewer where closures are long."""
    longest = max(_weight(matches) // max(len(matches), 1), 1)
    step = max(min(size, OUTPUT_EVENTS // longest), 1)
    for start in range(0, len(matches), step):
        stop = min(start + step, len(matches))
        taken = {
            name: column.cut(start, stop) if isinstance(column, Lists) else column[start:stop]
            for name, column in matches.taken.items()
        }
        yield Matches(matches.first[start:stop], matches.last[start:stop], taken, matches.absent)


class Writer:
    """The output columns of one input table; each input column is made contiguous once."""

    def __init__(self, spec: EventPatternSpec, table: pa.Table) -> None:
        self.outputs = spec.outputs
        self.variables = frozenset(
            output.source.variable for output in spec.outputs if isinstance(output.source, EventStruct)
        )
        self.kleene = {element.variable for element in elements(spec.pattern) if element.kleene}
        self.table = table
        self.columns: dict[str, pa.Array | pa.ChunkedArray] = {}

    def write(self, matches: Matches) -> pa.Table:
        """The matches as a table."""
        columns = dict(column for output in self.outputs for column in self._columns(output, matches))
        return pa.Table.from_arrays(list(columns.values()), names=list(columns))

    def _columns(self, output: Output, matches: Matches) -> Iterator[tuple[str, pa.Array]]:
        source = output.source
        if not isinstance(source, EventStruct) or not source.flat:
            yield output.name, self._output(output, matches)
            return
        rows = matches.taken[source.variable]
        assert not isinstance(rows, Lists)
        for field, column in source.fields:
            yield flat_name(output, field), self.take(column, rows)

    def _output(self, output: Output, matches: Matches) -> pa.Array:
        source = output.source
        if isinstance(source, BufferStruct):
            raise CepInternalError("a match buffer is no column of a match")
        if not isinstance(source, EventStruct):
            return self.take(source.column, matches.first if isinstance(source, FirstEvent) else matches.last)
        if source.variable in self.kleene:
            return self._list(source, matches)
        taken = matches.taken.get(source.variable)
        if taken is None:
            return pa.nulls(len(matches), self._type(source))
        assert not isinstance(taken, Lists)
        return self.struct(source, taken)

    def _list(self, source: EventStruct, matches: Matches) -> pa.ListArray:
        """The closure in event order; empty where it took no event, NULL where its OR branch was not taken."""
        taken = matches.taken.get(source.variable)
        data_type = pa.list_(pa.field("element", self._type(source)))
        if taken is None and source.variable not in matches.absent:
            return pa.nulls(len(matches), data_type)
        if taken is None:
            taken = Lists(np.zeros(len(matches), dtype=np.int64), np.zeros(0, dtype=np.int64))
        assert isinstance(taken, Lists)
        offsets = np.concatenate([[0], np.cumsum(taken.sizes)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), self.struct(source, taken.rows), type=data_type)

    def _type(self, source: EventStruct) -> pa.StructType:
        return pa.struct([pa.field(name, self.table.schema.field(column).type) for name, column in source.fields])

    def struct(self, source: EventStruct, rows: Rows) -> pa.StructArray:
        """The events at ``rows``."""
        if not source.fields:
            return pa.array([{}] * len(rows), pa.struct([]))
        arrays = [self.take(column, rows) for _, column in source.fields]
        return pa.StructArray.from_arrays(arrays, fields=list(self._type(source)))

    def take(self, column: str, rows: Rows) -> pa.Array:
        """The column's values at ``rows``."""
        if column not in self.columns:
            self.columns[column] = _contiguous(self.table.column(column))
        taken = self.columns[column].take(pa.array(rows))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _contiguous(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """One array if its offsets allow it: on chunks, ``take`` must look up the chunk of each row."""
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except pa.ArrowInvalid:  # more than 2 GiB of strings
        return column
