"""EMIT CHANGES: the times at which the aggregate over the live matches may change, and which events are alive at each.

In: a table of whole partitions, the rows that can take part in a sequence. Out: ``Moments`` of the table, ``Reach`` of the sequence. Nothing is
counted here.

All equivalence classes (``[attr]``) of a partition share one timeline of moments. The matches of a class change only where one of its events arrives
or expires, so the class is re-evaluated only there: two turns per event, however many classes are alive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.aseq import change_kernels, open_change_kernels
from sparkcep.engines.aseq.events import Coded, Table, falling
from sparkcep.engines.aseq.values import Ints


@dataclass(frozen=True, slots=True)
class Moments:
    """The event times of a table: per moment one of its rows, its partition, and its time in the window's unit.

    ``of``: the moment of each row. ``classes``: (per class its partition, per partition its first class), if partitions have classes.
    """

    row: Ints
    part: Ints
    time: NDArray
    of: Ints
    classes: tuple[Ints, Ints] | None


@dataclass(frozen=True, slots=True)
class Turns:
    """Where the values of classes may change, in time order: the moment, and the number of the class within its partition.

    ``order``: the index of each turn when turns are listed class by class. ``leaves``: the number of classes of each partition.
    """

    order: Ints
    moment: Ints
    leaf: Ints
    leaves: Ints


@dataclass(frozen=True, slots=True)
class Reach:
    """Per moment (with classes: per turn), the half-open range of groups that are alive; ``widest``: the largest number of them.

    ``borders``: if a negated event stands first or last, the group after the last one that may start a match, and the first one that may end one.
    """

    low: Ints
    high: Ints
    widest: int
    borders: tuple[Ints, Ints] | None = None
    turns: Turns | None = None


def moments(table: Table, at: Ints, partitions: Ints) -> Moments:
    """``at``: a number per row, equal at equal times and greater at later ones; ``partitions``: their first rows."""
    size = len(at)
    part = np.zeros(size, np.int64)
    part[partitions[1:]] = 1
    part = np.cumsum(part)
    classed = len(table.starts) > len(partitions)
    order = np.lexsort((at, part)) if classed else np.arange(size)
    times, parts = at[order], part[order]
    last = np.ones(size, bool)
    last[:-1] = (times[1:] != times[:-1]) | (parts[1:] != parts[:-1])
    of = np.empty(size, np.int64)
    of[order] = np.cumsum(last) - last
    row = order[last]
    clock = np.zeros(size, np.int64) if table.time is None else table.time
    owners = part[table.starts]
    classes = (owners, np.searchsorted(owners, np.arange(len(partitions)))) if classed else None
    return Moments(row, part[row], np.ascontiguousarray(clock[row]), of, classes)


def reach(coded: Coded, table: Table, at: Moments, *, open_ended: bool) -> Reach:
    """What is alive of a sequence's groups. Raises CepUnsupportedError where deadlines fall with time."""
    rows = coded.row[coded.first[:-1]]
    arrivals = at.of[rows]
    time, deadline = _window(table, rows, arrivals)
    if at.classes is None:
        turns, part, moment = None, at.part, np.arange(len(at.part))
    else:
        turns, part, moment = _turns(coded, arrivals, deadline if table.time is not None else deadline[:0], at)
    clock = moment if table.time is None else at.time[moment]
    own = coded.part.copy()
    low, high = np.zeros(len(part), np.int64), np.zeros(len(part), np.int64)
    widest = change_kernels.reach(part, clock, own, time, deadline, low, high)
    if widest < 0:
        raise falling()
    borders = None
    if open_ended:
        borders = np.empty(len(part), np.int64), np.empty(len(part), np.int64)
        open_change_kernels.borders(coded.code, coded.first, part, low, high, own, time, deadline, *borders)
    return Reach(low, high, 0 if table.time is None else widest, borders, turns)


def _window(table: Table, rows: Ints, arrivals: Ints) -> tuple[NDArray, NDArray]:
    """Time and deadline of each group; without WITHIN, its moment and no deadline."""
    if table.time is None or table.deadline is None:
        return arrivals, np.full(len(rows), np.iinfo(np.int64).max)
    return table.time[rows], table.deadline[rows]


def _turns(coded: Coded, arrivals: Ints, deadline: NDArray, at: Moments) -> tuple[Turns, Ints, Ints]:
    """The turns, and for each of them, class by class, its class and its moment."""
    assert at.classes is not None
    owners, first = at.classes
    ends = np.searchsorted(at.part, owners, side="right")
    part, moment = np.empty(2 * len(arrivals), np.int64), np.empty(2 * len(arrivals), np.int64)
    count = change_kernels.turning(coded.part.copy(), arrivals, deadline, at.time, ends, part, moment)
    part, moment = part[:count], moment[:count]
    order = np.argsort(moment, kind="stable")
    leaf = part - first[owners[part]]
    leaves = np.diff(np.append(first, len(owners)))
    return Turns(order, moment[order], leaf[order], leaves), part, moment
