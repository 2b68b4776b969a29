"""Turns of a clause whose pattern changes while its stream runs: each version answers the rows in whose lifetime they lie.

Rows are kept whole, because the version of a row may not be known when it comes. In a turn, those of a version are projected to what its engine
reads, and answered as a stream of their own, which ends where the next version begins: what it decides is what the clause answers over a table of
these rows; totals (MEASURES) are those of all versions together. (Automata change otherwise: their runs go on, see ``engines.automaton.versions``.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import _parse_datatype_json_string

from sparkcep.engines import stream
from sparkcep.engines.functions.columns import computed
from sparkcep.engines.turn import Answer, Decide, Turn
from sparkcep.errors import CepInternalError
from sparkcep.spec import from_json
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.projection import ProjectedSpec
from sparkcep.spec.row import RowPatternSpec
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.packets import of_bytes, to_bytes
from sparkcep.streaming.rows import SINCE, changing, in_lifetimes, partition_starts, with_partitions

FOREVER = 1 << 62
"""``until`` of a version that has ended."""
OPEN = (1 << 63) - 1
"""The end of the last version."""
VERSIONS = 256
"""Versions that are remembered, compiled."""
_CARRIED = "__cep_carried"
_ZONE: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
"""What PySpark from 4.3 on wants to know of a TIMESTAMP."""

Longs = NDArray[np.int64]


def compile(spec: StreamSpec) -> Decide:
    """What decides the turns of ``spec``. Raises what ``engines.stream.compile`` raises."""
    if not changing(spec):
        return stream.compile(spec)
    decide = partial(_decide, in_lifetimes(spec), lru_cache(maxsize=VERSIONS)(partial(_version, spec)))
    if spec.totals is None:
        return decide
    from sparkcep.engines.aseq import running_totals

    return partial(running_totals.decide, spec.totals, decide)


@dataclass(frozen=True, slots=True)
class _Version:
    """A version, compiled. ``closing``: what decides its last turn; ``types``: of the columns that are computed."""

    spec: StreamSpec
    projected: ProjectedSpec
    types: Mapping[str, pa.DataType]
    decide: Decide
    closing: Decide


def _version(clause: StreamSpec, text: str) -> _Version:
    found: Any = from_json(text)
    projected: ProjectedSpec = found
    of = projected.of
    if isinstance(of, EventPatternSpec):
        assert isinstance(clause.of, EventPatternSpec)
        asked = clause.of
        of = replace(of, engine=asked.engine, max_partial_matches=asked.max_partial_matches, negation=asked.negation)
    own = replace(clause, of=of, deadline=projected.deadline, followed=None)
    types = {one.name: to_arrow_type(_parse_datatype_json_string(one.type), **_ZONE) for one in projected.columns}
    decide = stream.compile(own, alone=own.totals is not None)
    closing = stream.compile(own, closing=True) if isinstance(of, RowPatternSpec) else decide
    return _Version(own, projected, types, decide, closing)


def _decide(spec: StreamSpec, version: Callable[[str], _Version], turn: Turn) -> Answer:
    if not turn.versions:
        raise CepInternalError(f"no version of the pattern {spec.followed} has come")
    scene = _Scene(turn, partition_starts(spec, turn.rows))
    carried = {} if turn.carried is None else dict(zip(*turn.carried.to_pydict().values(), strict=True))
    found, kept = list[pa.Table](), dict[int, bytes]()
    for (since, text), (end, _) in pairwise([*turn.versions, (OPEN, "")]):
        answer = scene.answered(version(text), since, end, carried.get(since))
        if answer is not None:
            found += answer.found
            if answer.carried is not None:
                kept[since] = to_bytes(answer.carried)
        elif since in carried and end >= turn.until:
            kept[since] = carried[since]
    columns = pa.array(kept, pa.int64()), pa.array(kept.values(), pa.binary())
    after = pa.table(dict(zip((SINCE, _CARRIED), columns, strict=True))) if kept else None
    covered = scene.covered if scene.covers else None
    due = min(scene.due, default=None)
    return Answer(tuple(found), scene.keep, scene.begin, scene.numbers, due, covered, after)


class _Scene:
    """A turn, and what the versions have answered of it so far (see ``Answer``). ``starts``: of its partitions, of one version each."""

    def __init__(self, turn: Turn, starts: Longs) -> None:
        self.turn, self.starts = turn, starts
        self.since = turn.rows.column(SINCE).to_numpy()[starts[:-1]]
        self.partition = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.keep = np.zeros(turn.rows.num_rows, np.bool_)
        self.begin, self.numbers = turn.begin.copy(), turn.numbers.copy()
        self.covered = (turn.begin if turn.covered is None else turn.covered).copy()
        self.covers = False
        self.due: list[int] = []

    def answered(self, version: _Version, since: int, end: int, carried: bytes | None) -> Answer | None:
        """What a version decides of its rows; None: there are none."""
        at = np.flatnonzero((self.since == since)[self.partition])
        if not len(at):
            return None
        rows, at = _projected(version.projected, version.types, self.turn.rows.take(pa.array(at)), at)
        if not len(at):
            return None
        over = end < self.turn.until  # at the end itself another change may yet say what this version said
        partitions, starts = np.unique(self.partition[at], return_index=True)
        starts = np.append(starts, len(at))
        rows = with_partitions(version.spec, rows.drop_columns([SINCE]), starts)
        turn = replace(
            self.turn,
            rows=rows,
            old=self.turn.old[at],
            until=FOREVER if over else self.turn.until,
            begin=np.searchsorted(at, self.begin[partitions]),
            numbers=self.numbers[partitions],
            covered=np.searchsorted(at, self.covered[partitions]),
            carried=None if carried is None else of_bytes(carried),
            versions=(),
        )
        answer = (version.closing if over else version.decide)(turn)
        self.numbers[partitions] = answer.numbers
        if over:
            return replace(answer, carried=None)
        self.keep[at] = answer.keep
        ends = self.starts[partitions + 1]
        self.begin[partitions] = _back(answer.begin, at, starts, ends)
        if answer.covered is not None:
            self.covers = True
            self.covered[partitions] = _back(answer.covered, at, starts, ends)
        if answer.due is not None:
            self.due.append(answer.due)
        if end != OPEN and answer.keep.any():
            self.due.append(end + 1)
        return answer


def _projected(
    version: ProjectedSpec, types: Mapping[str, pa.DataType], rows: pa.Table, at: Longs
) -> tuple[pa.Table, Longs]:
    """The rows as the version's engine reads them, without those that take no part, and ``at`` of these."""
    for name, column in computed({one.name: one.tree for one in version.columns}, rows, types).items():
        rows = rows.append_column(name, column)
    if version.sparse:
        taking_part = np.logical_or.reduce([rows.column(name).to_numpy() != 0 for name in version.of.masks])
        rows, at = rows.filter(pa.array(taking_part)), at[taking_part]
    return rows.combine_chunks(), at


def _back(own: Longs, at: Longs, starts: Longs, ends: Longs) -> Longs:
    """Rows of a version as rows of the turn; one past a partition's last row is that there, too."""
    return np.where(own < starts[1:], at[np.minimum(own, len(at) - 1)], ends)
