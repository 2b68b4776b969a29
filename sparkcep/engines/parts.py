"""A partition that is longer than a table should be, part by part, as the turns of a stream.

In: the rows of one partition in order, as Spark sends them. Out: the clause's rows, as over the whole partition. Between its parts only those rows
stay that later ones need, so that memory follows what is open (the window, undecided matches), not the partition.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from sparkcep.engines import stream
from sparkcep.engines.derived import sent_time, whole_numbers, with_derived
from sparkcep.engines.turn import Decide, Turn
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec import AnalyzeSpec, MatchSpec
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.event import EventPatternSpec, WithinEvents, WithinTime
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.row import RowPatternSpec
from sparkcep.spec.stream import StreamSpec

LONG = 1 << 18
"""Rows of a part, at least; and at least as many as are kept, so that no row is met again more than once on average."""
PLACE = "__cep_part_place"
"""The number of a row in its partition."""
_TIME = "__cep_whole_time"
_BEGIN, _END = -(1 << 63), (1 << 63) - 1
_MOST_EVENTS = 1 << 62
"""A window of more is one of as many: a partition has fewer rows."""


@dataclass(frozen=True, slots=True)
class Parts:
    """How the parts of a clause's partitions are decided: ``decide``, and for the last one ``closing``. ``time``: the column whose whole numbers
    close windows; ``own_time``: the engine reads them as a column of their own. ``finish``: the rows that only the end of a partition tells, from
    what its turns carry; None: each part has its own."""

    spec: MatchSpec
    decide: Decide
    closing: Decide
    time: str | None
    own_time: bool = False
    finish: Callable[[pa.Table | None], Iterator[pa.Table]] | None = None

    def suits(self, schema: pa.Schema) -> bool:
        """Whether times are such that a turn compares them."""
        if self.time is None:
            return True
        kind = schema.field(self.time).type
        return bool(pa.types.is_integer(kind) or pa.types.is_timestamp(kind))


def compile(spec: MatchSpec | AnalyzeSpec) -> Parts | None:
    """None: the clause needs its partitions whole."""
    if isinstance(spec, AnalyzeSpec) or _is_whole(spec):
        return None
    of: MatchSpec | None = spec
    time, order, finish = None, PLACE, None
    if isinstance(spec, AggregateSpec):
        from sparkcep.engines.aseq import parts as aseq  # which few workers need, with its kernels

        of, finish = aseq.turns(spec), partial(aseq.finished, spec)
    if isinstance(spec, EventPatternSpec | AggregateSpec) and isinstance(spec.within, WithinTime):
        time, order = sent_time(spec), spec.within.time
    if isinstance(spec, AutomatonSpec) and spec.within is not None:
        time, order = spec.within.time, _TIME
        of = replace(spec, within=replace(spec.within, time=_TIME))
    if isinstance(spec, EventPatternSpec) and isinstance(spec.within, WithinEvents):
        time, order = spec.rank, _TIME
        of = replace(spec, within=WithinTime(_TIME, length=min(spec.within.count, _MOST_EVENTS)))
    if of is None:
        return None
    turns = StreamSpec(of, (), (OrderColumn(order),), order, PLACE, "{}")
    try:
        decide = stream.compile(turns)
    except CepUnsupportedError:
        return None
    closing = stream.compile(turns, closing=True) if isinstance(spec, RowPatternSpec) else decide
    return Parts(spec, decide, closing, time, order == _TIME, finish)


def _give_back() -> None:
    """Gives freed memory back to the system. Batches of rows are small enough for the C library to keep what they took, as much as a partition."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:  # glibc's
        trim(0)


def _is_whole(spec: MatchSpec) -> bool:
    """Of what no stream could tell, or not in the same way: neighbours across partitions."""
    return isinstance(spec, EventPatternSpec) and spec.strategy == "strict_contiguity"


class LongPartition:
    """The partition so far: the rows that are ``kept`` or wait, and where its search stands."""

    def __init__(self, parts: Parts, least: int = LONG) -> None:
        self._parts, self._least = parts, least
        self._kept: pa.Table | None = None
        self._waiting: list[pa.Table] = []
        self._waiting_rows = self._waiting_bytes = self._rows = 0
        self._since = _BEGIN
        self._begin = self._numbers = np.zeros(1, np.int64)
        self._covered: np.ndarray | None = None
        self._carried: pa.Table | None = None

    @property
    def rows(self) -> int:
        """Those that have come."""
        return self._rows

    @property
    def size(self) -> int:
        """Bytes of the rows that it has now."""
        return self._waiting_bytes + (0 if self._kept is None else self._kept.nbytes)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """What the partition decides with the next rows."""
        rows = pa.Table.from_batches([batch])
        if not isinstance(self._parts.spec, RowPatternSpec):
            place = np.arange(self._rows, self._rows + batch.num_rows)
            rows = rows.append_column(PLACE, pa.array(place))
        self._waiting.append(rows)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        self._rows += batch.num_rows
        if self._waiting_rows >= max(self._least, 0 if self._kept is None else self._kept.num_rows):
            yield from self._turn(last=False)

    def end(self) -> Iterator[pa.Table]:
        """What else it decides, no row to follow."""
        if self._waiting_rows or (self._kept is not None and self._kept.num_rows):
            yield from self._turn(last=True)
        if self._parts.finish is not None:
            yield from self._parts.finish(self._carried)

    def _turn(self, *, last: bool) -> Iterator[pa.Table]:
        known = 0 if self._kept is None else self._kept.num_rows
        rows = pa.concat_tables([*([] if self._kept is None else [self._kept]), *self._waiting]).combine_chunks()
        border, until = (rows.num_rows, _END) if last else self._border(rows)
        if border <= known and not last:
            self._least *= 2  # all rows that wait are of one time
            return
        self._kept, self._waiting, self._waiting_rows, self._waiting_bytes = None, [], 0, 0  # they are in ``rows``
        if rows.num_rows >= LONG:
            _give_back()
        final, tail = rows.slice(0, border), rows.slice(border)
        old = np.arange(border) < known
        turn = Turn(
            self._read(final), old, self._since, until, self._begin, self._numbers, self._covered, self._carried
        )
        answer = (self._parts.closing if last else self._parts.decide)(turn)
        if self._parts.finish is None:
            yield from answer.found
        keep = answer.keep
        self._begin, self._numbers = np.array([np.count_nonzero(keep[: answer.begin[0]])]), answer.numbers
        if answer.covered is not None:
            self._covered = np.array([np.count_nonzero(keep[: answer.covered[0]])])
        self._carried, self._since = answer.carried, until
        self._kept = final if keep.all() else final.filter(pa.array(keep))
        if tail.num_rows:
            self._waiting, self._waiting_rows, self._waiting_bytes = [tail], tail.num_rows, tail.nbytes

    def _border(self, rows: pa.Table) -> tuple[int, int]:
        """How many rows no other one to come is concurrent with, and the time before which none will come."""
        spec, name = self._parts.spec, self._parts.time
        until = _BEGIN if name is None else int(whole_numbers(rows.column(name).slice(rows.num_rows - 1))[0].as_py())
        if not isinstance(spec, EventPatternSpec | AggregateSpec):
            return rows.num_rows, until
        later = rows.column(spec.rank) if name is None else whole_numbers(rows.column(name))
        return int(np.searchsorted(later.to_numpy(), later[-1].as_py())), until

    def _read(self, rows: pa.Table) -> pa.Table:
        """The rows as the engine reads them; their partition begins with the first of them."""
        name = self._parts.spec.masks[0]
        if not rows.column(name)[0].as_py() & 1:
            mask = rows.column(name).to_numpy().copy()
            mask[0] |= 1
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(mask))
        if self._parts.own_time and self._parts.time is not None:
            rows = rows.append_column(_TIME, whole_numbers(rows.column(self._parts.time)))
        return with_derived(self._parts.spec, rows)
