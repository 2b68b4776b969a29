"""A turn of a stream, and what an engine answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bound = int | NDArray[np.int64]
"""A moment (microseconds): of all partitions, or [rows] of each row's partition (SEQUENCE NUMBER)."""


def bound_at(bound: Bound, rows: NDArray[np.int64]) -> Bound:
    """``bound`` for these rows of the turn."""
    return bound if isinstance(bound, int) else bound[rows]


@dataclass(frozen=True, slots=True)
class Turn:
    """The final rows of a bucket: those that earlier turns kept, and those that have come since.

    ``rows``: as an engine reads them (partition after partition, each in ORDER BY order, all masks, ``rank`` where the clause's spec has one),
    beside the columns of the StreamSpec. A partition is there from its first kept row on: bit 0 stands at that row. ``until``: rows that are still to
    come have no time before it; ``since``: that of the turn before; ``old`` [rows]: whether they were final then. ``begin`` [partitions]: the row (of
    the table) at which the search resumes; those before are kept only because conditions or measures look back at them. ``numbers`` [partitions]: the
    matches found in earlier turns. ``covered`` [partitions] (of row patterns): the first row that none of them covers. ``carried``: that of the last
    turn's Answer. ``versions``: of a clause that changes, what it is since when (microseconds), as JSON of its spec.
    """

    rows: pa.Table
    old: NDArray[np.bool_]
    since: Bound
    until: Bound
    begin: NDArray[np.int64]
    numbers: NDArray[np.int64]
    covered: NDArray[np.int64] | None = None
    carried: pa.Table | None = None
    versions: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """``found``: tables of the spec's outputs: the matches that are now decided and were not before.

    ``keep`` [rows of the turn]: whether a later turn needs the row. ``begin`` [partitions]: the row at which the next search resumes (one past the
    partition's last row: with the next one). ``numbers`` [partitions]: the matches so far. ``due``: the least ``until`` at which time alone may
    decide more; None: only further rows can. ``covered`` [partitions]: the first row beyond all matches so far, where that is asked for again.
    ``carried``: a table that the engine's next turn is given: the totals of groups, open runs.
    """

    found: tuple[pa.Table, ...]
    keep: NDArray[np.bool_]
    begin: NDArray[np.int64]
    numbers: NDArray[np.int64]
    due: int | None
    covered: NDArray[np.int64] | None = None
    carried: pa.Table | None = None


def partitions(first_mask: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[rows]: the number of the row's partition, and the partition's first row. ``first_mask``: the mask whose bit 0 stands at first rows."""
    first = first_mask & 1 != 0
    number = np.cumsum(first) - 1
    return number, np.flatnonzero(first)[number]


def taken(rows: pa.Table, indices: NDArray[np.int64]) -> pa.Table:
    """``rows`` by number, in any order."""
    every = np.arange(rows.num_rows)
    return rows if np.array_equal(indices, every) else rows.take(pa.array(indices))


Decide = Callable[[Turn], Answer]
