"""A stream as a fold: what a bucket keeps and the rows that have come → the matches that are decided, and what the bucket keeps.

In: Arrow tables with the columns of a StreamSpec. Out: Arrow tables of its outputs. Pure: nothing here knows of Spark, files or time; ``until`` says
which rows have come (conservative mode: the watermark).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.turn import Answer, Bound, Decide, Turn, taken
from sparkcep.spec.automaton import AutomatonSpec, waits
from sparkcep.spec.row import MatchNumber, RowPatternSpec, sources
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming import sequences
from sparkcep.streaming.marks import BEHIND, CONTEXT, COVERED, FINAL, MARKS, are, marked
from sparkcep.streaming.revisions import compacted, standing
from sparkcep.streaming.rows import (
    SINCE,
    arranged,
    changing,
    frame,
    in_lifetimes,
    partition_starts,
    with_copies,
    with_identities,
    with_lifetimes,
    with_partitions,
)
from sparkcep.streaming.versions import Version, needed, received, timeline

NUMBER = "__cep_number"
NEVER = -(1 << 63)
"""``until`` before the first turn."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """What a bucket keeps between turns: ``rows`` that are still needed, arranged, and then those not yet final (None: none); the ``numbers`` of
    matches of its partitions where the clause reads MATCH_NUMBER(), or what the engine carries (``Turn.carried``); the last turn's ``until``; the
    ``versions`` of the clause that are still needed, where it follows a pattern that changes; and what is ``known`` of its partitions where their
    events have sequence numbers (``sequences``)."""

    rows: pa.Table | None = None
    numbers: pa.Table | None = None
    until: int = NEVER
    versions: tuple[Version, ...] = ()
    known: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Busiest:
    """The partition with the most rows of those that have become final in a turn: its ``keys`` (a row), so many ``rows`` of ``of``."""

    keys: pa.Table
    rows: int
    of: int


@dataclass(frozen=True, slots=True)
class Step:
    """``found``: tables of the clause's outputs; ``late``: rows that came behind what was final, which had no part; ``due``: the least ``until`` at
    which another turn decides more even if no row comes (None: none does). ``foreseen``: what the bucket's rows would decide beyond ``until`` if no
    others came (mode ``speculative``)."""

    found: tuple[pa.Table, ...]
    late: pa.Table | None
    bucket: Bucket
    due: int | None
    busiest: Busiest | None = None
    foreseen: tuple[pa.Table, ...] = ()


def step(
    spec: StreamSpec, decide: Decide, bucket: Bucket, new: list[pa.Table], until: int, changes: Sequence[str] = ()
) -> Step:
    """One turn. ``changes``: of the pattern that the clause follows. Raises what the engine raises."""
    until = max(until, bucket.until)
    if changes:
        least = _undecided(spec, until) if bucket.versions else NEVER  # the first version is that of all rows so far
        bucket = replace(bucket, versions=(*bucket.versions, *(received(change, least) for change in changes)))
    late, tables = _late(spec, new, bucket.until)
    if bucket.rows is None and not tables:
        return Step((), late, replace(bucket, until=until), None)
    old, waiting = (None, None) if bucket.rows is None else parted(bucket)
    came = compacted(spec, [*([] if waiting is None else [waiting]), *tables])
    known, arrived = bucket.known, None
    if spec.sequence is not None and came is not None:
        arrived = sequences.arrived(spec, known, came, until)
        came, known, again = arrived.rows, arrived.known, arrived.again.drop_columns(list(MARKS))
        late = _joined([again] if late is None else [late, again])
    final, pending = _divided(spec, old, came, until, None if arrived is None else arrived.final)
    decided = _Decided((), final, bucket.numbers, None, None)
    if final.num_rows:
        decided = _decided(spec, decide, bucket, final, until, known)
    times = [decided.due] if decided.due is not None else []
    if pending.num_rows:
        times.append(int(pending.column(spec.time).to_numpy().min()) + 1)
    held = pa.concat_tables([decided.kept, pending])
    versions = needed(bucket.versions, _oldest(spec, held, until)) if bucket.versions else ()
    kept = Bucket(held if held.num_rows else None, decided.numbers, until, versions, known)
    return Step(decided.found, late, kept, min(times, default=None), decided.busiest)


def _undecided(spec: StreamSpec, until: int) -> int:
    """The first time of which nothing may have been decided: rows at ``until`` are not final, but the windows that end then have passed."""
    return until + 1 if isinstance(spec.of, AutomatonSpec) and waits(spec.of) else until


def _oldest(spec: StreamSpec, held: pa.Table, until: int) -> int:
    """The time from which on rows are yet to be met, or will be met again."""
    again = changing(spec) or (isinstance(spec.of, AutomatonSpec) and waits(spec.of))
    if not held.num_rows or not again:
        return until
    return min(until, int(held.column(spec.time).to_numpy().min()))


def foreseen(spec: StreamSpec, decide: Decide, bucket: Bucket, until: int) -> tuple[pa.Table, ...]:
    """What the bucket's rows before ``until`` would decide beyond its own ``until``, if no others came. Raises what the engine raises."""
    if bucket.rows is None or until <= bucket.until:
        return ()
    old, waiting = parted(bucket)
    final, _ = _divided(spec, old, waiting, until, foreseen=True)
    return _asked(spec, decide, bucket, final, until, bucket.known).answer.found if final.num_rows else ()


def parted(bucket: Bucket) -> tuple[pa.Table, pa.Table]:
    """The rows of a bucket that has some: those that were final in the last turn, and those that were not."""
    assert bucket.rows is not None
    final = int(np.count_nonzero(are(FINAL, bucket.rows)))
    return bucket.rows.slice(0, final), bucket.rows.slice(final)


def _divided(
    spec: StreamSpec,
    old: pa.Table | None,
    came: pa.Table | None,
    until: int,
    is_final: NDArray[np.bool_] | None = None,
    *,
    foreseen: bool = False,
) -> tuple[pa.Table, pa.Table]:
    """The final rows, ``old`` ones first, and those not yet final; of changes that become final, the rows that stand. ``is_final`` [rows that
    ``came``]; None: the time tells."""
    if came is None:
        assert old is not None
        return old, old.slice(0, 0)
    times = came.column(spec.time).to_numpy()
    if is_final is not None or spec.keys:
        final, pending = _split(came, times < until if is_final is None else is_final)
    else:  # in the order of their times, so that they are moved once
        came = taken(came, np.argsort(times, kind="stable"))
        final, pending = _cut(came, int(np.count_nonzero(times < until)))
    final = standing(spec, final, foreseen=foreseen)
    return pa.concat_tables([*([] if old is None else [old]), final]), pending


def _late(spec: StreamSpec, tables: list[pa.Table], since: int) -> tuple[pa.Table | None, list[pa.Table]]:
    """The rows before ``since``, and the others, marked."""
    late, on_time = [], []
    for rows in tables:
        is_late = rows.column(spec.time).to_numpy() < since
        if is_late.any():
            before, rows = _split(rows, is_late)
            late.append(before.drop_columns([name for name in MARKS if name in rows.column_names]))
        if rows.num_rows:
            on_time.append(marked(rows))
    return _joined(late), on_time


def _joined(tables: list[pa.Table]) -> pa.Table | None:
    found = [rows for rows in tables if rows.num_rows]
    return pa.concat_tables(found) if found else None


def _split(rows: pa.Table, holds: NDArray[np.bool_]) -> tuple[pa.Table, pa.Table]:
    """The rows of which ``holds`` is true, and the others."""
    return _cut(taken(rows, np.argsort(~holds, kind="stable")), int(np.count_nonzero(holds)))


def _cut(rows: pa.Table, count: int) -> tuple[pa.Table, pa.Table]:
    return rows.slice(0, count), rows.slice(count)


@dataclass(frozen=True, slots=True)
class _Decided:
    """What the final rows decide: matches, the rows that are still needed, the numbers of matches, and when time decides more."""

    found: tuple[pa.Table, ...]
    kept: pa.Table
    numbers: pa.Table | None
    due: int | None
    busiest: Busiest | None


def _decided(
    spec: StreamSpec, decide: Decide, bucket: Bucket, final: pa.Table, until: int, known: pa.Table | None
) -> _Decided:
    asked = _asked(spec, decide, bucket, final, until, known)
    rows, starts, answer = asked.rows, asked.starts, asked.answer
    own = in_lifetimes(spec) if changing(spec) else spec
    counted = _counted(own, rows, starts, answer, bucket.numbers) if _numbered(spec) else answer.carried
    kept = _kept(rows, starts, answer)
    if changing(spec):
        kept = kept.drop_columns([SINCE])
    return _Decided(answer.found, kept, counted, answer.due, _busiest(spec, rows, starts))


@dataclass(frozen=True, slots=True)
class _Asked:
    """The engine's ``answer``, and what it was asked of: ``rows``, arranged, whose partitions begin at ``starts``."""

    rows: pa.Table
    starts: NDArray[np.int64]
    answer: Answer


def _asked(
    spec: StreamSpec, decide: Decide, bucket: Bucket, final: pa.Table, until: int, known: pa.Table | None
) -> _Asked:
    """``known``: of the partitions, once ``final`` is final."""
    line = timeline(bucket.versions)
    if changing(spec):
        final, spec = with_lifetimes(spec, final, line), in_lifetimes(spec)
    rows = with_copies(spec, arranged(spec, final))
    starts = partition_starts(spec, rows)
    context = rows.column(CONTEXT).to_numpy()
    begin, covered = (_first_without(bit, context, starts) for bit in (BEHIND, COVERED))
    numbered = _numbered(spec)
    numbers = _numbers(spec, rows, starts, bucket.numbers) if numbered else np.zeros(len(begin), np.int64)
    read = with_identities(spec, rows).drop_columns(list(MARKS))
    if not changing(spec):
        read = with_partitions(spec, read, starts)
    carried = None if numbered else bucket.numbers
    since, now = _bound(spec, rows, starts, bucket.known, bucket.until), _bound(spec, rows, starts, known, until)
    turn = Turn(read, context & FINAL != 0, since, now, begin, numbers, covered, carried, line)
    return _Asked(rows, starts, decide(turn))


def _bound(spec: StreamSpec, rows: pa.Table, starts: NDArray[np.int64], known: pa.Table | None, until: int) -> Bound:
    return until if spec.sequence is None else sequences.until_of(spec, known, rows, starts, until)


def _busiest(spec: StreamSpec, rows: pa.Table, starts: NDArray[np.int64]) -> Busiest | None:
    if not spec.keys:
        return None
    new = np.add.reduceat(~are(FINAL, rows), starts[:-1], dtype=np.int64)
    most = int(np.argmax(new))
    if not new[most]:
        return None
    return Busiest(rows.select(list(spec.keys)).slice(int(starts[most]), 1), int(new[most]), int(new.sum()))


def _first_without(bit: int, context: NDArray[np.int8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """[partitions]: the row behind those with the bit, which are a partition's first ones."""
    return starts[:-1] + np.add.reduceat(context & bit != 0, starts[:-1], dtype=np.int64)


def _kept(rows: pa.Table, starts: NDArray[np.int64], answer: Answer) -> pa.Table:
    """The rows that are needed, and where they stand."""
    at = np.flatnonzero(answer.keep)
    partition = np.searchsorted(starts, at, side="right") - 1
    context = FINAL | BEHIND * (at < answer.begin[partition])
    if answer.covered is not None:
        context |= COVERED * (at < answer.covered[partition])
    place = rows.schema.get_field_index(CONTEXT)
    return taken(rows, at).set_column(place, CONTEXT, pa.array(context.astype(np.int8)))


def _numbered(spec: StreamSpec) -> bool:
    """Whether the clause reads MATCH_NUMBER()."""
    return isinstance(spec.of, RowPatternSpec) and any(isinstance(read, MatchNumber) for read in sources(spec.of))


def _numbers(
    spec: StreamSpec, rows: pa.Table, starts: NDArray[np.int64], numbers: pa.Table | None
) -> NDArray[np.int64]:
    """The matches that each partition has had."""
    if numbers is None:
        return np.zeros(len(starts) - 1, np.int64)
    if not spec.keys:
        return numbers.column(NUMBER).to_numpy()
    keys = list(spec.keys)
    first = frame(rows.select(keys).take(pa.array(starts[:-1])), keys)
    joined = first.join(frame(numbers, [*keys, NUMBER]), on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined[NUMBER].fill_null(0).to_numpy().astype(np.int64)


def _counted(
    spec: StreamSpec, rows: pa.Table, starts: NDArray[np.int64], answer: Answer, numbers: pa.Table | None
) -> pa.Table:
    """The numbers of matches after the turn: of the partitions that were in it, and of the others as before."""
    keys = list(spec.keys)
    first = pa.array(starts[:-1])
    now = pa.table({key: rows.column(key).take(first) for key in keys} | {NUMBER: pa.array(answer.numbers)})
    if numbers is None or not keys:
        return now
    others = frame(numbers, [*keys, NUMBER]).join(frame(now, keys), on=keys, how="anti", nulls_equal=True)
    return pa.concat_tables([others.to_arrow().cast(now.schema), now]).combine_chunks()
