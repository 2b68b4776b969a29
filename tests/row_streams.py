"""Row patterns on streams, for tests: partitions as tables with time, keys and identities; schedules; the fold over them.

A partition is a table as the batch engine reads it, with ``id``. ``placed`` adds the columns of a StreamSpec. What a stream has emitted is compared by
partition: ``by_key`` sorts output rows by the key of their row's ``id``, which is the first output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.engines import engine, stream
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.row import CurrentRow, Output, RowPatternSpec
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.fold import Bucket, Step, step

FOREVER = (1 << 62) - 1
BEHIND = 100_000
"""The first ``id`` of rows that ``behind`` makes."""
KEYS = (None, 1, 2, 3)
ID = Output("row", CurrentRow("id"))

Lines = list[tuple[Any, ...]]


def stream_spec(of: RowPatternSpec, *, within: bool = False) -> StreamSpec:
    """``of`` over a stream of ``placed`` rows, with the row's id as its first output."""
    order = (OrderColumn("ts"),)
    named = replace(of, outputs=(ID, *of.outputs))
    return StreamSpec(named, ("k",), order, "ts", "hash", "", "deadline" if within else None)


def placed(part: pa.Table, key: int | None, times: Sequence[int], within: int = 0) -> pa.Table:
    """A partition with its key, times in order, deadlines, and identities that keep the order of rows at one time."""
    ts = np.asarray(times, np.int64)
    columns = {
        "k": pa.array([key] * part.num_rows, pa.int64()),
        "ts": pa.array(ts),
        "deadline": pa.array(ts + within),
        "hash": pa.array(np.arange(part.num_rows)),
    }
    for name, values in columns.items():
        part = part.append_column(name, values)
    return part


def behind(
    part: pa.Table, spec: RowPatternSpec, bits: int, count: int, ts: int, index: int, within: int = 0
) -> pa.Table:
    """So many more rows of a ``placed`` partition, a tick apart from ``ts`` on, with these mask bits and ids of their own;
    other columns take values of earlier rows. ``index``: the partition's number."""
    rows = part.take(pa.array(np.arange(count) * 7 % part.num_rows))
    times = ts + np.arange(count)
    first = spec.masks[0]
    new = {name: np.zeros(count, np.int64) for name in spec.masks} | {
        first: np.full(count, bits),
        "id": BEHIND + 1_000 * index + np.arange(count),
        "ts": times,
        "deadline": times + within,
        "hash": part.num_rows + np.arange(count),
    }
    for name, values in new.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pa.array(values, rows.schema.field(place).type))
    return rows


@dataclass(frozen=True, slots=True)
class Moment:
    """After a turn: what the fold says, and all rows that are final by now, by partition."""

    until: int
    step: Step
    emitted: dict[int | None, Lines]
    final: dict[int | None, pa.Table]


def moments(spec: StreamSpec, turns: Iterable[tuple[Sequence[pa.Table], int]]) -> Iterator[Moment]:
    """The fold over ``turns``: rows, until. No row may be late."""
    decide = stream.compile(spec)
    bucket, came, emitted = Bucket(), [], defaultdict(list)
    for new, until in turns:
        came += [rows for rows in new if rows.num_rows]
        done = step(spec, decide, bucket, list(new), until)
        assert done.late is None
        bucket = done.bucket
        for key, lines in by_key(spec, pa.concat_tables(came) if came else None, done.found).items():
            emitted[key] += lines
        yield Moment(until, done, emitted, _final(came, until))


def batch(spec: StreamSpec, parts: Iterable[pa.Table]) -> dict[int | None, Lines]:
    """The batch engine's answer over whole ``placed`` partitions."""
    rows = pa.concat_tables([_begun(spec, part) for part in parts])
    assert isinstance(spec.of, RowPatternSpec)
    return by_key(spec, rows, engine.compile(spec.of).run(rows.combine_chunks()))


def by_key(spec: StreamSpec, rows: pa.Table | None, found: Iterable[pa.Table]) -> dict[int | None, Lines]:
    """Output rows by the partition of the row that their first column names."""
    lines: dict[int | None, Lines] = defaultdict(list)
    keys = {} if rows is None else dict(zip(rows["id"].to_pylist(), rows["k"].to_pylist(), strict=True))
    for table in found:
        for line in zip(*(column.to_pylist() for column in table.columns), strict=True):
            lines[keys[line[0]]].append(line)
    return lines


def _begun(spec: StreamSpec, part: pa.Table) -> pa.Table:
    """With bit 0 at the first row alone."""
    name = spec.masks[0]
    mask = part[name].to_numpy() & ~np.int64(1)
    mask[:1] |= 1
    return part.set_column(part.schema.get_field_index(name), name, pa.array(mask))


def _final(came: list[pa.Table], until: int) -> dict[int | None, pa.Table]:
    if not came:
        return {}
    rows = pa.concat_tables(came).sort_by([("ts", "ascending"), ("hash", "ascending")])
    rows = rows.filter(pa.array(rows["ts"].to_numpy() < until))
    keys = rows["k"].to_pylist()
    return {key: rows.filter(pa.array([other == key for other in keys])) for key in dict.fromkeys(keys)}
