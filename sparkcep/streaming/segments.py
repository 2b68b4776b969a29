"""The rows that a large bucket keeps, in segments: rows are written once, and what a turn changes about them is written beside.

In: the kept rows of a turn. Out: which entries of a map to put and to remove; and the rows again from all its entries. Pure.

A segment holds rows as they came. One more entry, put in each turn, has the rows that are in no segment yet, as long as they are few, and marks of
all others: whether a row is kept, its CONTEXT and COPY. A segment of which no more than half is kept goes: what is kept of it is written again with
the new rows. So each row that is written again pays for one that has gone: but for that one entry, no more is written than twice what comes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.marks import CONTEXT, COPY, FINAL, MARKS, NOWHERE, STORED, are, marked
from sparkcep.streaming.packets import of_bytes, to_state
from sparkcep.streaming.rows import in_order

SMALLEST = 1 << 16
"""Bytes of rows that become a segment: fewer are put again in each turn."""
LARGEST = 1 << 24
"""Bytes of the rows of a segment."""
TAIL = -1
"""The entry of the marks, and of rows that are in no segment."""
KEPT = "kept"
"""The column of marks: 0 where a row is kept no more, else 1 + CONTEXT."""
_SHIFT = 32
"""STORED: the segment's number, and in the lower bits the row's in it."""

Entry = tuple[bytes | None, bytes | None]
"""Rows, marks."""


@dataclass(frozen=True, slots=True)
class Segment:
    """``size``: of its rows in bytes."""

    number: int
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The segments in ascending order, and the number of the next one."""

    segments: tuple[Segment, ...] = ()
    following: int = 0

    @property
    def text(self) -> str:
        """For the state; ``layout`` reads it."""
        return json.dumps([self.following, *(astuple(segment) for segment in self.segments)])


def layout(text: str) -> Layout:
    """The Layout of its ``text``."""
    following, *segments = json.loads(text)
    return Layout(tuple(Segment(*values) for values in segments), following)


@dataclass(frozen=True, slots=True)
class Change:
    """``rows``: the kept rows with their STOREDs; ``put`` and ``removed``: entries; ``size``: bytes that the map holds then."""

    layout: Layout
    rows: pa.Table
    put: dict[int, Entry]
    removed: tuple[int, ...]
    size: int


def change(before: Layout, rows: pa.Table) -> Change:
    """What a turn puts that keeps ``rows``, which are arranged, and of which STORED says where ``before`` has them."""
    place = rows.column(STORED).to_numpy().copy()
    kept, gone = _thinned(before, place)
    fresh = np.flatnonzero(place == NOWHERE)
    data = rows.drop_columns(list(MARKS))
    put: dict[int, Entry] = {}
    segments, number = list(kept), before.following
    width = max(data.nbytes // max(rows.num_rows, 1), 1)
    if len(fresh) * width >= SMALLEST:
        for part in _parts(fresh, width):
            payload = to_state(data.take(pa.array(part)))
            put[number] = payload, None
            segments.append(Segment(number, len(part), len(payload)))
            place[part] = (number << _SHIFT) + np.arange(len(part))
            number += 1
        fresh = fresh[:0]
    rows = rows.set_column(rows.schema.get_field_index(STORED), STORED, pa.array(place))
    tail = to_state(rows.take(pa.array(fresh)).drop_columns([STORED])) if len(fresh) else None
    marks = to_state(_marks(tuple(segments), rows))
    put[TAIL] = tail, marks
    size = sum(segment.size for segment in segments) + len(tail or b"") + len(marks)
    return Change(Layout(tuple(segments), number), rows, put, gone, size)


def restored(spec: StreamSpec, found: Layout, entries: Mapping[int, Entry]) -> pa.Table:
    """The kept rows with their STOREDs: the FINAL ones in the order that they had, and then the others."""
    tail, marks = entries[TAIL]
    assert marks is not None
    parts = list(_marked(found, of_bytes(marks), entries))
    if tail is not None:
        parts.append(marked(of_bytes(tail)))
    rows = pa.concat_tables(parts)
    final = are(FINAL, rows)
    return pa.concat_tables([in_order(spec, rows.filter(pa.array(final))), rows.filter(pa.array(~final))])


def _thinned(before: Layout, place: NDArray[np.int64]) -> tuple[tuple[Segment, ...], tuple[int, ...]]:
    """The segments that stay, and the numbers of the others, whose rows get the ``place`` NOWHERE."""
    if not before.segments:
        return (), ()
    numbers = np.array([segment.number for segment in before.segments])
    there = np.flatnonzero(place != NOWHERE)
    of_row = np.searchsorted(numbers, place[there] >> _SHIFT)
    counts = np.bincount(of_row, minlength=len(numbers))
    thin = 2 * counts <= np.array([segment.rows for segment in before.segments])
    place[there[thin[of_row]]] = NOWHERE
    stay = tuple(segment for segment, goes in zip(before.segments, thin, strict=True) if not goes)
    return stay, tuple(numbers[thin].tolist())


def _parts(rows: NDArray[np.int64], width: int) -> list[NDArray[np.int64]]:
    """``rows`` in parts of at most LARGEST bytes."""
    return np.array_split(rows, -(-len(rows) * width // LARGEST))


def _marks(segments: tuple[Segment, ...], rows: pa.Table) -> pa.Table:
    """Of all rows of the segments: KEPT, and COPY where there are copies."""
    place = rows.column(STORED).to_numpy()
    there = np.flatnonzero(place != NOWHERE)
    begin = np.append(0, np.cumsum([segment.rows for segment in segments])).astype(np.int64)
    numbers = np.array([segment.number for segment in segments], np.int64)
    at = begin[np.searchsorted(numbers, place[there] >> _SHIFT)] + (place[there] & ((1 << _SHIFT) - 1))
    kept = np.zeros(begin[-1], np.int8)
    kept[at] = 1 + rows.column(CONTEXT).to_numpy()[there]
    columns = {KEPT: pa.array(kept)}
    copies = rows.column(COPY).to_numpy()[there]
    if copies.any():
        copy = np.zeros(begin[-1], np.int32)
        copy[at] = copies
        columns[COPY] = pa.array(copy)
    return pa.table(columns)


def _marked(found: Layout, marks: pa.Table, entries: Mapping[int, Entry]) -> Iterator[pa.Table]:
    """What is kept of each segment, with its MARKS."""
    begin = 0
    for segment in found.segments:
        payload, _ = entries[segment.number]
        assert payload is not None
        own = marks.slice(begin, segment.rows)
        begin += segment.rows
        kept = own.column(KEPT).to_numpy()
        there = np.flatnonzero(kept)
        copy = own.column(COPY).to_numpy() if COPY in own.column_names else np.zeros(segment.rows, np.int32)
        rows = of_bytes(payload).take(pa.array(there))
        columns = {CONTEXT: kept[there] - np.int8(1), COPY: copy[there], STORED: (segment.number << _SHIFT) + there}
        for name in MARKS:
            rows = rows.append_column(name, pa.array(columns[name]))
        yield rows
