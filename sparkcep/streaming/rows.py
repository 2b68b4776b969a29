"""The rows of a turn, as an engine reads them.

In: rows of a bucket, as Spark has computed their columns: those kept by the turn before in its order, the others in any. Out: the same rows,
partition after partition, in ORDER BY order, with what only all rows of a partition can tell: where it starts, and an event's rank. Values are
compared as Spark compares them (NaN above all numbers and equal to itself, NULL keys equal), which Polars does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.changes import changes, frame, plain
from sparkcep.engines.ranks import ranks
from sparkcep.engines.turn import taken
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.stream import PLACE, StreamSpec
from sparkcep.streaming.marks import COPY, FINAL, are
from sparkcep.streaming.versions import Timeline

SINCE = "__cep_since"
"""Of a clause that changes: since when the version holds in whose lifetime the row lies. Rows of different versions are in different partitions."""
FEW = 1 << 12
"""Rows of integers that numpy has sorted before Polars has begun."""


def changing(spec: StreamSpec) -> bool:
    """Whether versions of the clause answer rows of their own (automata change otherwise)."""
    return spec.followed is not None and not isinstance(spec.of, AutomatonSpec)


def in_lifetimes(spec: StreamSpec) -> StreamSpec:
    """A clause that changes, over rows ``with_lifetimes``."""
    return replace(spec, keys=(*spec.keys, SINCE))


def with_lifetimes(spec: StreamSpec, rows: pa.Table, line: Timeline) -> pa.Table:
    """``rows`` with SINCE. The first version holds before its time, too."""
    begins = np.array([since for since, _ in line], np.int64)
    at = np.searchsorted(begins, rows.column(spec.time).to_numpy(), side="right") - 1
    return rows.append_column(SINCE, pa.array(begins[np.maximum(at, 0)]))


def arranged(spec: StreamSpec, rows: pa.Table) -> pa.Table:
    """``rows`` partition after partition, each sorted by ORDER BY and identity, in one chunk.

    FINAL rows come first, as the turn before has arranged them. In their partition all others follow them, so that only those are
    sorted: what is kept long is not sorted again and again.
    """
    rows, keys = rows.combine_chunks(), list(spec.keys)
    old = int(np.count_nonzero(are(FINAL, rows)))
    new = rows.slice(old)
    order = np.append(np.arange(old), old + _order(spec, new, spec.keys))
    if old and new.num_rows and keys:
        sorted_keys = new.select(keys).take(pa.array(order[old:] - old))
        numbers = _partition_numbers(spec, rows.slice(0, old).select(keys), sorted_keys)
        order = order[np.argsort(numbers, kind="stable")]
    return taken(rows, order)


def _partition_numbers(spec: StreamSpec, old: pa.Table, new: pa.Table) -> NDArray[np.int64]:
    """The partitions of the keys of ``old`` and then ``new`` rows, both sorted, numbered: those of ``old`` first."""
    starts, later = partition_starts(spec, old), partition_starts(spec, new)
    found = places(old.take(pa.array(starts[:-1])), new.take(pa.array(later[:-1])))
    of_new = np.where(found < 0, len(starts) - 1 + np.arange(len(found)), found)
    return np.repeat(np.append(np.arange(len(starts) - 1), of_new), np.append(np.diff(starts), np.diff(later)))


def places(among: pa.Table, rows: pa.Table) -> NDArray[np.int64]:
    """For each of ``rows`` the equal one ``among`` distinct ones; -1: there is none."""
    names = rows.column_names
    if len(names) == 1 and plain(among.column(0)) and plain(rows.column(0)):
        there, values = among.column(0).to_numpy(), rows.column(0).to_numpy()
        order = np.argsort(there, kind="stable")
        at = order[np.minimum(np.searchsorted(there, values, sorter=order), len(there) - 1)]
        return np.where(there[at] == values, at, -1)
    numbered = frame(among, names).with_row_index("number")
    joined = frame(rows, names).join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
    found: NDArray[np.int64] = joined["number"].cast(pl.Int64).fill_null(-1).to_numpy()
    return found


def in_order(spec: StreamSpec, rows: pa.Table) -> pa.Table:
    """``rows`` in the order of a turn. Those of which COPY is known have the order that they had."""
    return taken(rows.combine_chunks(), _order(spec, rows, spec.keys))


def _places_of_all(spec: StreamSpec, rows: pa.Table) -> NDArray[np.int64]:
    """Each row's place in ORDER BY order, over all partitions."""
    places = np.empty(rows.num_rows, np.int64)
    places[_order(spec, rows, ())] = np.arange(rows.num_rows)
    return places


def _order(spec: StreamSpec, rows: pa.Table, keys: tuple[str, ...]) -> NDArray[np.int64]:
    """The numbers of ``rows`` as ``keys`` and ORDER BY sort them; last by COPY, where there are copies."""
    last = [spec.identity]
    if COPY in rows.column_names and rows.column(COPY).to_numpy().any():
        last.append(COPY)
    names = [*keys, *(column.column for column in spec.order), *last]
    descending = [False] * len(keys) + [column.descending for column in spec.order] + [False] * len(last)
    if rows.num_rows <= FEW and all(plain(rows.column(name)) for name in names):
        values = [rows.column(name).to_numpy() for name in names]
        return np.lexsort([~one if down else one for one, down in zip(values, descending, strict=True)][::-1])
    order = (pl.arg_sort_by if len(names) > 1 else _arg_sort)(
        names,
        descending=descending,
        nulls_last=[False] * len(keys) + [column.nulls_last for column in spec.order] + [False] * len(last),
    )
    indices: NDArray[np.int64] = frame(rows, names).select(order.alias("row"))["row"].to_numpy()
    return indices


def partition_starts(spec: StreamSpec, rows: pa.Table) -> NDArray[np.int64]:
    """The first row of each partition of arranged ``rows``, and the number of rows."""
    new = changes(rows, list(spec.keys))
    new[:1] = True
    return np.append(np.flatnonzero(new), rows.num_rows).astype(np.int64)


def with_copies(spec: StreamSpec, rows: pa.Table) -> pa.Table:
    """``rows``, arranged, of which equal ones are numbered in COPY: 0, 1, …. FINAL rows have their number."""
    names = [*spec.keys, *(column.column for column in spec.order), spec.identity]
    same = ~changes(rows, names) & ~are(FINAL, rows)
    if not same.any():
        return rows
    at = np.arange(rows.num_rows)
    copies = rows.column(COPY).to_numpy() + at - np.maximum.accumulate(np.where(same, 0, at))
    return rows.set_column(rows.schema.get_field_index(COPY), COPY, pa.array(copies.astype(np.int32)))


def with_identities(spec: StreamSpec, rows: pa.Table) -> pa.Table:
    """``rows`` in which equal ones have identities of their own: that of the n-th copy is moved by n."""
    copies = rows.column(COPY).to_numpy()
    if not copies.any():
        return rows
    moved = rows.column(spec.identity).to_numpy() + copies * np.int64(0x9E3779B97F4A7C15 - (1 << 64))
    place = rows.schema.get_field_index(spec.identity)
    return rows.set_column(place, rows.schema.field(place), pa.array(moved))


def with_partitions(spec: StreamSpec, rows: pa.Table, starts: NDArray[np.int64]) -> pa.Table:
    """Arranged ``rows`` with bit 0 of the first mask at ``starts``, and for event patterns the rank: concurrent events share it."""
    first = np.zeros(rows.num_rows, np.int64)
    first[starts[:-1]] = 1
    place = rows.schema.get_field_index(spec.masks[0])
    mask = rows.column(place).to_numpy() & ~np.int64(1) | first
    rows = rows.set_column(place, spec.masks[0], pa.array(mask))
    if not isinstance(spec.of, EventPatternSpec | AggregateSpec):
        return rows
    if getattr(spec.of, "strategy", None) == "strict_contiguity":
        rows = rows.append_column(PLACE, pa.array(_places_of_all(spec, rows)))
    rank = ranks(first == 1, changes(rows, [column.column for column in spec.order]))
    return rows.append_column(spec.of.rank, pa.array(rank))


def _arg_sort(names: list[str], *, descending: list[bool], nulls_last: list[bool]) -> pl.Expr:
    return pl.col(names[0]).arg_sort(descending=descending[0], nulls_last=nulls_last[0])
