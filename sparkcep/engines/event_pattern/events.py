"""The events of one table that any variable can take, with their order as index ranges.

In: the Arrow table of whole partitions. Out: ``Events``: the candidate rows, numbered from 0 in table order, and for each candidate where its
partition, its tie group (concurrent events) and its window begin and end. "Before", "after" and
"within" are then comparisons of candidate numbers, over all partitions at once. No payload column is read here.

Events that no variable can take are dropped first: with rare event types, all later work is on a small part of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from sparkcep.engines.within import times
from sparkcep.spec.event import WithinEvents, WithinTime

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
TimeArray = npt.NDArray[np.int64] | npt.NDArray[np.float64]

MASK_BITS = 62

TIME_LINE = 1 << 62
"""Partitions times their longest span stay below this, so that they fit one int64 axis."""


@dataclass(frozen=True, slots=True)
class Window:
    """WITHIN per candidate p, as bounds of candidate ranges in its partition.

    ``end``: candidates from ``end[p]`` on are outside a window that p opens; ``begin``: candidates before ``begin[p]`` open windows that p is outside
    of. ``exact``: the ranges decide, because all other candidates are inside; else (see ``ceilings_of``) ``time`` and ``deadline`` must be compared
    well.
    """

    begin: IntArray
    end: IntArray
    time: TimeArray
    deadline: TimeArray
    exact: bool


@dataclass(frozen=True, slots=True)
class Events:
    """Candidates in table order; all arrays have one entry per candidate.

    ``positions``: row in the table. ``partition_start``/``partition_end`` and ``tie_start``/``tie_end``: half-open
    ranges of candidates of the same partition, and of the same rank. ``flags``: the mask columns of the candidates.
    """

    positions: IntArray
    partition_start: IntArray
    partition_end: IntArray
    tie_start: IntArray
    tie_end: IntArray
    flags: tuple[IntArray, ...]
    window: Window | None

    def __len__(self) -> int:
        return len(self.positions)

    def taken_by(self, index: int) -> BoolArray:
        """Which candidates ``variables[index]`` can take."""
        mask, bit = divmod(index + 1, MASK_BITS)
        taken: BoolArray = self.flags[mask] & (1 << bit) != 0
        return taken

    def restricted(self, index: int, allowed: BoolArray) -> Events:
        """The events, of which ``variables[index]`` can take those that are ``allowed`` only."""
        mask, bit = divmod(index + 1, MASK_BITS)
        flags = np.where(allowed, self.flags[mask], self.flags[mask] & ~np.int64(1 << bit))
        return replace(self, flags=(*self.flags[:mask], flags, *self.flags[mask + 1 :]))

    def ceilings(self) -> TimeArray:
        """Under WITHIN: the greatest deadline up to each candidate in its partition; see ``ceilings_of``."""
        assert self.window is not None
        deadline = self.window.deadline
        return deadline if self.window.exact else ceilings_of(deadline, self.partition_start)


def load(table: pa.Table, masks: Sequence[str], rank: str, within: WithinTime | WithinEvents | None) -> Events:
    """The candidates of ``table``.

    ``masks``, ``rank`` and ``within`` are those of the EventPatternSpec; the columns hold no NULL.
    """
    flags = [_numbers(table, name) for name in masks]
    positions = np.flatnonzero(_is_candidate(flags))
    partition = np.cumsum(flags[0] & 1)[positions]
    ranks = _numbers(table, rank)[positions].astype(np.int64)
    new_partition = _changes(partition)
    partition_start, partition_end = _groups(new_partition)
    tie_start, tie_end = _groups(new_partition | _changes(ranks))
    window = None
    if within is not None:
        time, deadline = _times(table, positions, ranks, within)
        window = _window(time, deadline, partition_start, partition_end)
    kept = tuple(flag[positions] for flag in flags)
    return Events(positions, partition_start, partition_end, tie_start, tie_end, kept, window)


def _numbers(table: pa.Table, name: str) -> npt.NDArray[Any]:
    return cast(npt.NDArray[Any], table.column(name).to_numpy())


def _is_candidate(flags: Sequence[IntArray]) -> BoolArray:
    taken = flags[0] > 1
    for flag in flags[1:]:
        taken |= flag != 0
    return taken


def _changes(values: IntArray) -> BoolArray:
    """True where a value differs from the one before it, and at the start."""
    changed = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def _groups(starts: BoolArray) -> tuple[IntArray, IntArray]:
    """Per entry, the half-open range of its group."""
    first = np.flatnonzero(starts)
    end = np.append(first[1:], len(starts))[: len(first)]
    sizes = end - first
    return np.repeat(first, sizes), np.repeat(end, sizes)


def _times(
    table: pa.Table, positions: IntArray, ranks: IntArray, within: WithinTime | WithinEvents
) -> tuple[TimeArray, TimeArray]:
    """Times and deadlines; a window counted in events is a time window over ranks."""
    if isinstance(within, WithinTime):
        time, deadline = times(table, within)
        return time[positions], deadline[positions]
    longest = int(ranks.max(initial=0)) + 1
    return ranks, ranks + min(within.count, longest)


def _window(time: TimeArray, deadline: TimeArray, partition_start: IntArray, partition_end: IntArray) -> Window:
    """Ends are monotone, so the candidates whose window is over at p (``end[q] <= p``) are a prefix; ``begin[p]`` is its length.
    It includes the candidates of earlier partitions, whose ends lie in their own partitions.
    """
    ceilings = ceilings_of(deadline, partition_start)
    end = _ends(time, ceilings, partition_end)
    begin = np.cumsum(np.bincount(end, minlength=len(end)))[: len(end)]
    return Window(begin, end, time, deadline, exact=ceilings is deadline)


def ceilings_of(deadline: TimeArray, partition_start: IntArray) -> TimeArray:
    """The running maximum of the deadline in the partition: ``deadline`` itself if it is monotone.

    It falls only for calendar intervals (``ts + 1 month`` across a clock change backwards). An event past the ceiling of another is past the
    deadlines of all events up to that one, whichever of them opens the match, so pruning by ceilings loses no match.
    """
    falls = (deadline[1:] < deadline[:-1]) & (partition_start[1:] == partition_start[:-1])
    if not falls.any():
        return deadline
    frame = pl.DataFrame({"partition": partition_start, "deadline": deadline})
    return frame.select(pl.col("deadline").cum_max().over("partition")).to_series().to_numpy()


def _ends(time: TimeArray, deadline: TimeArray, partition_end: IntArray) -> IntArray:
    """For every p, the first candidate at or after p whose time is not less than ``deadline[p]``, else the partition's end.

    One binary search if partition and time fit one ascending key. Else an exponential search from all p in lockstep: the number of rounds is
    logarithmic in the longest window, not in the partition. The step doubles while any search advances; then every search is within one step of its
    goal, and the step halves.
    """
    found = np.arange(len(time))
    line = _time_line(time, deadline, partition_end)
    if line is not None:
        return np.clip(np.searchsorted(*line), found, partition_end)
    step = 1
    while _advance(found, step, time, deadline, partition_end):
        step *= 2
    while step := step >> 1:
        _advance(found, step, time, deadline, partition_end)
    return found


def _time_line(time: TimeArray, deadline: TimeArray, partition_end: IntArray) -> tuple[TimeArray, TimeArray] | None:
    """Times and deadlines on one axis, with the partitions laid end to end; None if they do not fit."""
    if not len(time) or partition_end[0] == len(time):
        return time, deadline
    if not (np.issubdtype(time.dtype, np.integer) and np.issubdtype(deadline.dtype, np.integer)):
        return None
    low, high = int(time.min()), int(max(time.max(), deadline.max()))
    width = high - low + 1
    if low > int(deadline.min()) or width * len(time) >= TIME_LINE:
        return None
    # Partition ends ascend, so they serve as partition numbers.
    shift = partition_end * width - low
    return time + shift, deadline + shift


def _advance(found: IntArray, step: int, time: TimeArray, deadline: TimeArray, partition_end: IntArray) -> bool:
    """Advance ``found`` by ``step`` where all candidates in between lie before the deadline; returns whether any advanced."""
    probe = np.minimum(found + step, partition_end)
    moves = (probe > found) & (time[probe - 1] < deadline)
    np.copyto(found, probe, where=moves)
    return bool(moves.any())
