"""Sequence numbers: rows that are final because all rows before them have come (AFA, section 5.3: AFA+O).

The source numbers the events of a partition one by one, in their order. A row is final once every number before its own has come, however far the
watermark is behind; a number that stays away holds the rows behind it back until the watermark has passed them. In: the rows that wait and those that
come, and what is known of each partition. Out: which of them are final, which had come before, and what is known then. A row that has the number of
another is the same one, delivered twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq.stream_rows import first_of_group
from sparkcep.errors import CepDataError
from sparkcep.spec.stream import SequenceNumber, StreamSpec
from sparkcep.streaming.rows import places

LAST, TIME = "__cep_last", "__cep_last_time"
"""Of a partition: the number of the last row that is final, and its time."""
NEVER = -(1 << 63)
_HINT = "number the events of a partition one by one in ORDER BY order, or leave SEQUENCE NUMBER out: the watermark alone decides then"

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Arrived:
    """``rows``: those that count, of all that wait or come; ``final`` [rows]: whether no row to come precedes them. ``again``: those whose number had
    come. ``known``: the partitions then: the columns of PARTITION BY, LAST and TIME."""

    rows: pa.Table
    final: Flags
    again: pa.Table
    known: pa.Table


def arrived(spec: StreamSpec, known: pa.Table | None, rows: pa.Table, until: int) -> Arrived:
    """What of ``rows``, the longest waiting ones first, is final now. Raises CepDataError where numbers and times contradict each other."""
    assert spec.sequence is not None
    number, time = _numbers(spec.sequence, rows), rows.column(spec.time).to_numpy()
    group, before = _grouped(spec.sequence, known, rows)
    order = np.lexsort((number, group))
    twice = np.zeros(len(order), np.bool_)
    twice[1:] = (np.diff(group[order]) == 0) & (np.diff(number[order]) == 0)
    counts = np.ones(len(order), np.bool_)
    counts[order[twice]] = False
    counts &= number > before.last[group]
    order = order[counts[order]]
    _check(spec.sequence, rows, before, group[order], number[order], time[order])
    final = _final(before, group[order], number[order], time[order] < until)
    flags = np.zeros(len(number), np.bool_)
    flags[order[final]] = True
    now = _after(before, group[flags], number[flags], time[flags])
    kept = rows if counts.all() else rows.filter(pa.array(counts))
    return Arrived(kept, flags[counts], rows.filter(pa.array(~counts)), now.table())


def until_of(spec: StreamSpec, known: pa.Table | None, rows: pa.Table, starts: Numbers, until: int) -> Numbers:
    """[rows]: the time before which no row to come lies in the partition; ``starts``: of the partitions, and the number of rows."""
    assert spec.sequence is not None
    moments = np.full(len(starts) - 1, until)
    if known is not None and known.num_rows:
        keys, at = list(spec.sequence.keys), np.zeros(len(moments), np.int64)
        if keys:
            at = places(known.select(keys), rows.select(keys).take(pa.array(starts[:-1])))
        moments = np.where(at < 0, until, np.maximum(known.column(TIME).to_numpy()[at], until))
    return np.repeat(moments, np.diff(starts))


@dataclass(frozen=True, slots=True)
class _Groups:
    """The partitions: the columns of their ``keys``, ``last`` numbers and ``times``."""

    keys: dict[str, pa.ChunkedArray]
    last: Numbers
    times: Numbers

    def table(self) -> pa.Table:
        """Those of which a row has been final."""
        found = pa.table(self.keys | {LAST: pa.array(self.last), TIME: pa.array(self.times)})
        seen = self.times != NEVER
        return found if seen.all() else found.filter(pa.array(seen))


def _grouped(sequence: SequenceNumber, known: pa.Table | None, rows: pa.Table) -> tuple[Numbers, _Groups]:
    """The partition of each row, and what is known of all partitions."""
    names, count = list(sequence.keys), 0 if known is None else known.num_rows
    at = np.full(rows.num_rows, -1)
    if known is not None and count:
        at = places(known.select(names), rows.select(names)).copy() if names else np.zeros(rows.num_rows, np.int64)
    new = np.flatnonzero(at < 0)
    first, number = np.unique(first_of_group(rows.take(pa.array(new)), names), return_inverse=True)
    at[new] = count + number
    firsts = rows.take(pa.array(new[first]))
    last = np.full(len(first), NEVER if sequence.first is None else sequence.first - 1)
    times = np.full(len(first), NEVER)
    keys = {name: firsts.column(name) for name in names}
    if known is None:
        return at, _Groups(keys, last, times)
    keys = {name: pa.chunked_array([*known.column(name).chunks, *keys[name].chunks]) for name in names}
    before = (known.column(name).to_numpy() for name in (LAST, TIME))
    return at, _Groups(keys, *map(np.append, before, (last, times)))


def _numbers(sequence: SequenceNumber, rows: pa.Table) -> Numbers:
    column = rows.column(sequence.column)
    if column.null_count:
        raise CepDataError("an event has no sequence number: it is NULL", code="SEQUENCE_NUMBER", hint=_HINT)
    found: Numbers = column.to_numpy().astype(np.int64)
    if sequence.first is not None and (found < sequence.first).any():
        raise CepDataError(
            f"the sequence number {found.min()} is less than the first one, {sequence.first}",
            code="SEQUENCE_NUMBER",
            hint="write another number behind FROM, or leave FROM out: the watermark decides then what the first event is",
        )
    return found


def _check(
    sequence: SequenceNumber, rows: pa.Table, before: _Groups, group: Numbers, number: Numbers, time: Numbers
) -> None:
    """Times must ascend with the numbers; the rows are sorted by ``group`` and ``number``."""
    first = np.diff(group, prepend=-1) != 0
    earlier = np.where(first, before.times[group], np.roll(time, 1))
    wrong = np.flatnonzero(time < earlier)
    if len(wrong):
        at = wrong[0]
        keys = [str(column[int(group[at])]) for column in before.keys.values()]
        where = f" of the partition {', '.join(keys)}" if keys else ""
        raise CepDataError(
            f"the event with the sequence number {number[at]}{where} is earlier than one with a lower number",
            code="SEQUENCE_NUMBER",
            hint=_HINT,
        )


def _final(before: _Groups, group: Numbers, number: Numbers, passed: Flags) -> Flags:
    """Rows, sorted by ``group`` and ``number``: those that the watermark has ``passed``, and all that follow them, or the last one, without a gap."""
    last = before.last.copy()
    np.maximum.at(last, group[passed], number[passed])
    behind = number > last[group]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    so_far = np.cumsum(behind)
    place: Numbers = so_far - np.repeat((so_far - behind)[starts], np.diff(np.append(starts, len(group))))  # 1, 2, …
    known = last[group] != NEVER
    follows: Flags = behind & known & (number - place == np.where(known, last[group], 0))
    return passed | follows


def _after(before: _Groups, group: Numbers, number: Numbers, time: Numbers) -> _Groups:
    """What is known behind the final rows."""
    last, times = before.last.copy(), before.times.copy()
    np.maximum.at(last, group, number)
    np.maximum.at(times, group, time)
    return _Groups(before.keys, last, times)
