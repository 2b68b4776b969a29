"""StreamSpec: a clause over a stream, answered turn by turn in one bucket of its partitions.

Engine input: the columns of the clause's own spec without what only all rows can tell (bit 0 of the masks, ``rank``), in any order, and the columns
named here. A turn sorts what it has and adds the rest: see ``streaming.rows``.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Literal

from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.row import RowPatternSpec

_GENERATED = re.compile(r"_pyspark_(connect_temp_view_)?[0-9a-f]{32}")

LateRows = Literal["drop", "fail", "keep"]

WATERMARK = "spark.watermarkDelayMs"
"""Spark's mark, in a column's metadata, of an event time with a watermark."""
BUCKET = "__cep_bucket"
"""The input's column (INT) with the bucket of a row: partitions that share one are answered together."""
LATE = "_late"
"""The output's column with a late row, where those are kept: a STRUCT of the input's columns, NULL in matches."""


DELETED = "__cep_deleted"
"""The output's column (BOOLEAN) in the mode ``speculative``: the row was emitted before, and is taken back."""
PLACE = "__cep_place"
"""The column that a turn adds under STRICT CONTIGUITY: the number of the row among all rows of the turn, whatever their partition."""
KNOWN, BEFORE = "__cep_known", "__cep_before_"
"""Of aggregates: the output's column (BOOLEAN) that tells whether a group has had a row (EMIT CHANGES: always), and the prefix of the columns
with the values before."""

CHANGE = "__cep_change"
"""The input's column (INT) that says how a row revises the input: 1 where it adds a row, -1 where it takes one away."""
EVENT = "__cep_event"
"""The input's column (BIGINT) with a hash of what an event is known by beside its time (EVENT KEY): its versions share it."""
VERSION = "__cep_version"
"""The input's column (BIGINT) by which the versions of an event are ordered."""
CHANGES = {"insert": 1, "update_postimage": 1, "update_preimage": -1, "delete": -1}
"""Delta's and Spark's names of changes, and their CHANGE."""


@dataclass(frozen=True, slots=True)
class Revisions:
    """The input's rows are changes, with a CHANGE. ``keyed``: with an EVENT too; ``versioned``: and a VERSION."""

    keyed: bool = False
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class SequenceNumber:
    """The source numbers the events of a partition (``keys``: the columns of PARTITION BY) one by one in the ``column``, which is the second item of
    the order. ``first``: the number of its first event (None: it is not known)."""

    column: str
    keys: tuple[str, ...]
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Followed:
    """The named pattern that a stream follows: its versions, bound for the stream's ``interface``, are rows of the table of patterns ``table``, and
    are told to all ``buckets``. The clause of the spec is the one of them by which the stream was written; what they have in common is that of all.
    ``registers``: those that are columns of the stream. ``clause``: what kind of pattern it is.
    """

    pattern: str
    clause: str
    table: str
    interface: str
    buckets: int
    registers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """Answer ``of`` over a stream.

    ``keys``: the input columns with the PARTITION BY values. ``order``: those of ORDER BY; the first is ``time``, the watermarked column in
    microseconds (BIGINT). ``deadline``: time + WITHIN, where the clause has one. ``identity`` (BIGINT): a hash of the whole row, the last item of
    the order, which decides ties as a restart would. ``schema``: the output as Spark's StructType JSON. ``row``: the column with the whole row, if
    late ones are kept. ``event_time``: the output's column that the watermark follows further, and the watermark's delay in milliseconds.
    ``sigma``: how far beyond the watermark rows are speculated on, in microseconds (0: not at all; None: all of them).
    ``revisions``: the rows are changes (None: they are the events themselves). ``followed``: the pattern may change while the stream runs.
    ``sequence``: rows are final as soon as no number before theirs is missing (None: when the watermark has passed them).
    """

    of: RowPatternSpec | EventPatternSpec | AutomatonSpec | AggregateSpec
    keys: tuple[str, ...]
    order: tuple[OrderColumn, ...]
    time: str
    identity: str
    schema: str
    deadline: str | None = None
    late_rows: LateRows = "drop"
    row: str | None = None
    event_time: tuple[str, int] | None = None
    sigma: int | None = 0
    revisions: Revisions | None = None
    followed: Followed | None = None
    sequence: SequenceNumber | None = None

    @property
    def masks(self) -> tuple[str, ...]:
        """The mask columns of the clause."""
        return self.of.masks

    @property
    def totals(self) -> AggregateSpec | None:
        """The clause, if it is one of aggregates over all matches so far."""
        return self.of if isinstance(self.of, AggregateSpec) and self.of.of_all_matches else None

    @property
    def text(self) -> str:
        """The pattern as the user wrote it."""
        return self.of.text


def kept(spec: StreamSpec) -> StreamSpec:
    """The spec without what a run with the same checkpoint may have otherwise: limits, how NOT is planned, whether late rows end the query."""
    of = spec.of
    if isinstance(of, EventPatternSpec):
        of = replace(of, max_partial_matches=None, negation="auto", statistics=())
    elif isinstance(of, AutomatonSpec):
        of = replace(of, max_runs=None)
    return replace(spec, of=of, late_rows="drop" if spec.late_rows == "fail" else spec.late_rows)


def identity(text: str) -> str:
    """What tells a clause from another in a checkpoint. A DataFrame in a statement (``sparkcep.match(df, …)``) has another name in every run."""
    return hashlib.sha256(_GENERATED.sub("", text).encode()).hexdigest()[:16]
