"""Totals of groups (MEASURES) in speculative turns: what a group has with all that is foreseen, against what it had with what was foreseen before.

In: rows of an aggregate's outputs as a turn finds them (``aseq.totals``): a group's total now, whether it was KNOWN, and the total BEFORE, in which
only what is final counts. Out: such rows, in which what is foreseen counts too.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.aseq.stream_rows import first_of_group
from sparkcep.spec.aggregate import AggregateSpec, MatchAggregate
from sparkcep.spec.stream import BEFORE, DELETED, KNOWN

Flags = NDArray[np.bool_]


def difference(
    spec: AggregateSpec, found: Iterable[pa.Table], now: Iterable[pa.Table], before: Iterable[pa.Table]
) -> tuple[pa.Table, ...]:
    """A row for each group whose total is another one, or that has none any more: it is DELETED, with the total that it had. ``found``: in this
    turn; ``now`` foreseen; ``before``: what the last turn foresaw. Each of the three has a group at most once."""
    parts = [[part for part in one if part.num_rows] for one in (now, found, before)]
    if not any(parts):
        return ()
    rows = pa.concat_tables(part for one in parts for part in one).combine_chunks()
    was_foreseen = np.arange(rows.num_rows) >= rows.num_rows - sum(part.num_rows for part in parts[-1])
    first, last = _ends(rows, [one.name for one in spec.outputs if not isinstance(one.source, MatchAggregate)])
    known = rows.column(KNOWN).to_numpy()
    stands, stood = ~was_foreseen[first] | known[first], was_foreseen[last] | known[last]
    columns: dict[str, pa.ChunkedArray] = {}
    same = stands == stood
    for output in spec.outputs:
        column = rows.column(output.name).take(pa.array(first))
        if isinstance(output.source, MatchAggregate):
            old = _totals(rows, output.name, last, was_foreseen[last])
            total = _totals(rows, output.name, first, ~was_foreseen[first])
            same &= _equal(total, old)
            column = pc.if_else(pa.array(stands), total, old)
            columns[BEFORE + output.name] = old
        columns[output.name] = column
    columns |= {KNOWN: pa.array(stood), DELETED: pa.array(~stands)}
    changed = pa.table(columns).select([*rows.column_names, DELETED]).filter(pa.array(~same))
    order = np.argsort(~changed.column(DELETED).to_numpy(), kind="stable")  # deleted ones first
    return (changed.take(pa.array(order)),) if len(order) else ()


def _ends(rows: pa.Table, keys: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[groups]: a group's first row, and its last one."""
    first, group = np.unique(first_of_group(rows, keys), return_inverse=True)
    last = np.zeros(len(first), np.int64)
    np.maximum.at(last, group, np.arange(len(group)))
    return first, last


def _totals(rows: pa.Table, name: str, at: NDArray[np.int64], own: Flags) -> pa.ChunkedArray:
    """[groups]: of the rows ``at``: their ``own`` totals, or those before."""
    places = pa.array(at)
    return pc.if_else(pa.array(own), rows.column(name).take(places), rows.column(BEFORE + name).take(places))


def _equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Flags:
    """NULLs are equal."""
    both = pc.and_(left.is_null(), right.is_null())
    same: Flags = pc.if_else(both, True, pc.fill_null(pc.equal(left, right), False)).to_numpy()
    return same
