"""The rows of one table that can take part in a sequence, encoded for the kernels.

In: the Arrow table of whole partitions, a sequence. Out: ``Coded``: which positions each row can take, groups of concurrent rows, and the window of
each group. No attribute is read here.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.aseq.values import Ints
from sparkcep.engines.within import times
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import WithinTime

MASK_BITS = 62


@dataclass(frozen=True, slots=True)
class Table:
    """The columns that every sequence reads: masks [columns, rows], ranks, times and deadlines (integers in their order; None without WITHIN).

    ``starts``: the first row of each partition, or of each equivalence class (``[attr]``) within one.
    """

    arrow: pa.Table
    masks: NDArray[np.int64]
    rank: Ints
    time: Ints | None
    deadline: Ints | None
    starts: Ints


@dataclass(frozen=True, slots=True)
class Windows:
    """Per group, the half-open range of groups in which a match that ends there may start; ``widest``: the most groups in any window."""

    low: Ints
    high: Ints
    widest: int


@dataclass(frozen=True, slots=True)
class Coded:
    """Per kept row its ``code`` and its ``row`` in the table; per group its ``first`` kept row (one extra entry marks the end) and its partition
    ``part``."""

    code: Ints
    row: Ints
    first: Ints
    part: Ints
    gaps: NDArray[np.int8]
    windows: Windows | None


def read(table: pa.Table, spec: AggregateSpec) -> Table:
    """The spec's columns of ``table`` as arrays; none of them holds a NULL."""
    from sparkcep.engines.aseq import selection_kernels

    columns = [_numbers(table, name).astype(np.int64, copy=False) for name in spec.masks]
    masks = columns[0][np.newaxis] if len(columns) == 1 else np.stack(columns)
    if spec.classes is not None:
        masks = _apart(masks, _numbers(table, spec.classes))
    rank = _numbers(table, spec.rank).astype(np.int64, copy=False)
    time = deadline = None
    if isinstance(spec.within, WithinTime):
        time, deadline = map(_ordered, times(table, spec.within))
    elif spec.within is not None:
        time, deadline = rank, rank + min(spec.within.count, len(rank) + 1)
    return Table(table, masks, rank, time, deadline, selection_kernels.starts(masks))


def _apart(masks: NDArray[np.int64], classes: NDArray) -> NDArray[np.int64]:
    """The masks with each equivalence class treated as a partition of its own."""
    masks = masks.copy()
    masks[0, 1:] |= classes[1:] != classes[:-1]
    return masks


def code(table: Table, variables: Items[str], sequence: Sequence) -> Coded:
    """The rows that ``sequence`` can use. ``variables``: those of the spec, in the order of their mask bits.

    Raises CepUnsupportedError where deadlines fall with time, which only calendar intervals make them do.
    """
    from sparkcep.engines.aseq import kernels

    tests = [(table_bit(variables, name), position) for position, name in enumerate(sequence.variables)]
    for position, names in enumerate(sequence.between, start=1):
        tests += [(table_bit(variables, name), kernels.RESET + position) for name in names]
    tests += [(table_bit(variables, name), kernels.BEFORE) for name in sequence.before]
    tests += [(table_bit(variables, name), kernels.BEHIND) for name in sequence.behind]
    columns, bits, targets = (
        np.array(part, np.int64) for part in zip(*((*bit, target) for bit, target in tests), strict=True)
    )
    size = len(table.rank)
    words, row, first, part = (np.empty(size + extra, np.int64) for extra in (0, 0, 1, 0))
    kept, groups = kernels.select(table.masks, table.rank, columns, bits, targets, words, row, first, part)
    gaps = np.array([kernels.LOOP if i in sequence.loops else gap for i, gap in enumerate(sequence.gaps)], np.int8)
    coded = Coded(words[:kept], row[:kept], first[: groups + 1], part[:groups], gaps, None)
    if table.time is None or table.deadline is None:
        return coded
    at = coded.row[coded.first[:-1]]
    low, high = np.empty(groups, np.int64), np.empty(groups, np.int64)
    widest = kernels.bounds(coded.code, coded.first, coded.part, table.time[at], table.deadline[at], low, high)
    if widest < 0:
        raise falling()
    return Coded(coded.code, coded.row, coded.first, coded.part, coded.gaps, Windows(low, high, widest))


@dataclass(frozen=True, slots=True)
class Rows:
    """What ``counting_kernels`` read: ``rows``, as their ``select`` keeps them; ``words``: masks, a word of tests, mask and bit of each."""

    rows: tuple[NDArray[np.uint64], Ints, Ints, Ints, Ints]
    words: tuple[NDArray[np.int64], int, Ints, Ints]


def select(table: Table, variables: Items[str], tests: Items[str], used: int) -> Rows:
    """Test i is ``tests[i]``; rows that pass none of ``used`` (a word) are left out. With one mask ``tests`` = ``variables``.

    Raises CepUnsupportedError where deadlines fall with time, which only calendar intervals make them do.
    """
    from sparkcep.engines.aseq import selection_kernels

    bits = [table_bit(variables, name) if used >> test & 1 else (0, 63) for test, name in enumerate(tests)]
    columns, places = (np.array(part, np.int64) for part in zip(*bits, strict=True))
    size, words, times = len(table.rank), (table.masks, used, columns, places), _clock(table)
    kind, at, until = (np.empty(length, np.int64) for length in (size, *map(len, times)))
    rows = np.empty(size, np.uint64), kind, np.empty(len(table.starts) + 1, np.int64), at, until
    if selection_kernels.select(words, table.rank, *times, rows) < 0:
        raise falling()
    return Rows(rows, words)


def _clock(table: Table) -> tuple[Ints, Ints]:
    """Time and deadline per row; empty without WITHIN."""
    if table.time is None or table.deadline is None:
        return (np.empty(0, np.int64),) * 2
    return table.time, table.deadline


def _ordered(times: NDArray) -> Ints:
    """Doubles as integers of the same order; NaN is the greatest, -0.0 equals 0.0."""
    if times.dtype.kind != "f":
        return times.astype(np.int64, copy=False)
    bits = (np.where(np.isnan(times), np.nan, times) + 0.0).astype(np.float64, copy=False).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def falling() -> CepUnsupportedError:
    """The error for deadlines that fall with time."""
    return CepUnsupportedError(
        "WITHIN a calendar interval whose ends fall with time, aggregated without matches", code="ASEQ_WITHIN"
    )


def table_bit(variables: Items[str], name: str) -> tuple[int, int]:
    """The mask column and bit of a variable."""
    return divmod(variables.index(name) + 1, MASK_BITS)


def _numbers(table: pa.Table, name: str) -> NDArray:
    return table.column(name).to_numpy()
