"""Revisions of the input: rows that are changes, and the content that stands when all of them are counted.

In: rows that wait, with their CHANGE (and EVENT, VERSION), in any order. Out: the changes that still matter, and the rows that stand. What stands
depends on the set of changes alone, never on the order in which they came: a row that is taken away before it comes leaves its removal behind,
until the watermark passes their time. Changes concern each other only where they have one time, so all of them become final, or late, together.

* Without a key: a row stands as often as it was added more often than it was taken away.
* With VERSION: the newest change of an event says what stands of it (a last-writer-wins register, as in Shapiro et al., "A comprehensive study of
  Convergent and Commutative Replicated Data Types", 3.2.1); in one version a removal comes first.
* With EVENT alone: additions and removals of one whole row cancel out; a removal that is left takes any version away. More versions than one are an
  error once the watermark has passed: nothing says which of them is the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.errors import CepDataError
from sparkcep.spec.stream import CHANGE, EVENT, VERSION, StreamSpec

Numbers = NDArray[np.int64]


def compacted(spec: StreamSpec, tables: Sequence[pa.Table]) -> pa.Table | None:
    """``tables`` as one; of changes, without those that no later one can make count again. None: there are none."""
    if not tables:
        return None
    rows = pa.concat_tables(tables)
    if spec.revisions is None or not rows.num_rows:
        return rows
    kept = _newest(spec, rows) if spec.revisions.versioned else _net(spec, rows)
    return rows if len(kept) == rows.num_rows else rows.take(pa.array(np.sort(kept)))


def standing(spec: StreamSpec, rows: pa.Table, *, foreseen: bool) -> pa.Table:
    """The rows that stand, of ``rows`` that are ``compacted``.

    Raises CepDataError for an event with versions of which none is known to be the newest, but where they are ``foreseen``: what follows may tell.
    """
    if spec.revisions is None or not rows.num_rows:
        return rows
    adds = _column(rows, CHANGE) > 0
    if not spec.revisions.keyed or spec.revisions.versioned:
        return rows if adds.all() else rows.filter(pa.array(adds))
    return rows.take(pa.array(np.sort(_chosen(spec, rows, foreseen))))


def _net(spec: StreamSpec, rows: pa.Table) -> Numbers:
    """The changes that are left when additions and removals of equal rows cancel out."""
    change = _column(rows, CHANGE)
    if (change > 0).all():
        return np.arange(rows.num_rows)
    of_row, starts = _grouped(rows, (spec.time, spec.identity))
    sizes = np.diff(np.append(starts, len(of_row)))
    net = np.repeat(np.add.reduceat(change[of_row], starts), sizes)
    excess = change[of_row] == np.sign(net)
    so_far = np.cumsum(excess)
    numbers = so_far - np.repeat(so_far[starts] - excess[starts], sizes)  # 1, 2, … in a group
    return of_row[excess & (numbers <= np.abs(net))]


def _newest(spec: StreamSpec, rows: pa.Table) -> Numbers:
    """The newest change of each event."""
    of_row, starts = _grouped(rows, (spec.time, EVENT), (VERSION, CHANGE, spec.identity))
    return of_row[np.append(starts[1:], len(of_row)) - 1]


def _chosen(spec: StreamSpec, rows: pa.Table, foreseen: bool) -> Numbers:
    """The version of each event that has one; where it has several that are ``foreseen``, that of the greatest identity."""
    of_row, starts = _grouped(rows, (spec.time, EVENT), (CHANGE, spec.identity))
    change, identity = _column(rows, CHANGE)[of_row], _column(rows, spec.identity)[of_row]
    stands = np.add.reduceat(change, starts) > 0
    last = np.append(starts[1:], len(of_row)) - 1
    rival = np.zeros(len(of_row), np.bool_)
    rival[1:] = (change[:-1] > 0) & (identity[1:] != identity[:-1])
    rival[starts] = False
    several = stands & np.logical_or.reduceat(rival, starts)
    if several.any() and not foreseen:
        raise _ambiguous(spec, rows.slice(int(of_row[last[np.argmax(several)]]), 1))
    return of_row[last[stands]]


def _grouped(rows: pa.Table, names: Sequence[str], within: Sequence[str] = ()) -> tuple[Numbers, Numbers]:
    """The rows sorted by ``names`` and then ``within``, and where groups of equal ``names`` start."""
    keys = [_column(rows, name) for name in (*names, *within)]
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(order), np.bool_)
    new[0] = True
    for values in keys[: len(names)]:
        new[1:] |= values[order][1:] != values[order][:-1]
    return order, np.flatnonzero(new)


def _column(rows: pa.Table, name: str) -> Numbers:
    values: Numbers = rows.column(name).to_numpy().astype(np.int64)
    return values


def _ambiguous(spec: StreamSpec, row: pa.Table) -> CepDataError:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row.column(spec.time)[0].as_py())
    return CepDataError(
        f"the input has several versions of an event at {at:%Y-%m-%d %H:%M:%S.%f} UTC, and nothing says which is the newest",
        code="EVENT_KEY",
        hint="order them in a column _commit_version, or have each version that is replaced taken back, whole, by an update_preimage",
    )
