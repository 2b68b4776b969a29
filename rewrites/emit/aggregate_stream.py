"""Aggregates over the matches of a stream → SQL: the partial aggregates, now and before, as measures; rows in which none changed are left out.

``SELECT keys, [pattern], [emit_time], measures, match_id, _change_type FROM cep_stream(…)``. A row is about a group (MEASURES), which a later row
updates (in the mode ``speculative``: or deletes), or about a group at a time (EMIT CHANGES), which stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql.types import BinaryType, BooleanType, DataType, TimestampType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.match_aggregates import EMIT_TIME
from rewrites.bind.stream import Streamed
from rewrites.bind.within import TIME
from rewrites.emit.aggregates import read_columns
from rewrites.emit.event_pattern import event_rows, read
from rewrites.emit.event_stream import inferred_classes, taking_part
from rewrites.emit.projected import projected, sent, whole_rows
from rewrites.emit.stream import (
    Emitted,
    added_below,
    columns_beside,
    following,
    known_by,
    last_columns,
    stream_call,
    stream_spec,
    whole,
    with_turn_columns,
)
from rewrites.settings import Follows, StreamSettings
from rewrites.sql.builder import named, quoted, raw, select, text_of
from sparkcep.pattern.event import Seq
from sparkcep.spec.aggregate import AggregateSpec, EmitTime, GroupColumn, MatchAggregate, PatternName
from sparkcep.spec.projection import ProjectedSpec
from sparkcep.spec.stream import BEFORE, DELETED, KNOWN, LATE

_BEFORE = "__cep_b"
"""The prefix of the columns with a measure's value before."""


@dataclass(frozen=True, slots=True)
class StreamMeasure:
    """A measure as SQL over the partial aggregates ``now`` and ``before``."""

    name: str
    now: str
    before: str


def aggregate_stream(
    bound: BoundEventPattern,
    spec: AggregateSpec,
    types: dict[str, DataType],
    measures: Iterable[StreamMeasure],
    streamed: Streamed,
    settings: StreamSettings,
    *,
    keep_null_time: bool,
    follows: Follows | None = None,
) -> Emitted:
    """The clause over a stream. ``types``: of the columns of ``spec``."""
    of, classes = _of_stream(spec), inferred_classes(bound)
    keys = tuple(dict.fromkeys([*spec.partition, *bound.equivalences, *classes]))
    if follows is None:
        below = added_below(streamed, bound.relation, settings, timed=bound.window is not None)
        events = event_rows(bound, keep_null_time, every_event=True, more=below)
        events = taking_part(events, spec.masks, classes) if _sparse(of) and not whole(streamed) else events
        rows = with_turn_columns(_read(bound, of, events), streamed, keys, settings, spec.partition)
        query = bound.relation.alone(text_of(rows))
    else:
        timed = [] if keep_null_time else [f"({bound.time}) IS NOT NULL"]
        query = whole_rows(bound, streamed, spec, settings, keys, spec.partition, timed)
    columns = _columns(of, types)
    stream = stream_spec(of, keys, streamed, bound.relation, settings, columns, event_time=EMIT_TIME)
    if follows is not None:
        of = _lasting(of)
        stream = following(stream, follows, "MATCH PATTERN", of, query, settings.buckets if spec.partition else 1)
    known = known_by(streamed, follows, of)
    call = stream_call(stream, query, columns, settings, bound.relation)
    result = _measured(list(measures), of, types, call, columns_beside(stream), settings, known)
    return Emitted(stream, result)


def aggregate_version(bound: BoundEventPattern, spec: AggregateSpec, streamed: Streamed) -> ProjectedSpec:
    """A version of a clause whose rows are sent whole, ``bound`` over the stand-in for these. Raises CepUnsupportedError."""
    of = _of_stream(spec)
    query = _read(bound, of, event_rows(bound, False, every_event=True))
    has = sent(bound, [*of.partition, *bound.equivalences], (column.column for _, column in streamed.order))
    return projected(of, query, bound.relation, has, sparse=_sparse(of))


def _of_stream(spec: AggregateSpec) -> AggregateSpec:
    return replace(spec, schema="", emit=None if spec.of_all_matches else TIME)


def _sparse(of: AggregateSpec) -> bool:
    """Whether an event that no variable takes has no part: with EMIT CHANGES it has a time at which matches end."""
    return of.of_all_matches


def _lasting(of: AggregateSpec) -> AggregateSpec:
    """What a clause that follows a pattern has in common with all its versions."""
    return AggregateSpec((), Seq(()), (), "", of.outputs, "", partition=of.partition, emit=of.emit)


def _read(bound: BoundEventPattern, of: AggregateSpec, events: exp.Select) -> exp.Select:
    """What the engine reads of the events, without what a turn adds."""
    names = [name for name in dict.fromkeys(read_columns(of)) if name != of.rank]
    return select([*read(bound, names), *(named(quoted(name), name) for name in of.masks)], events)


def _columns(of: AggregateSpec, types: dict[str, DataType]) -> list[tuple[str, DataType]]:
    """The engine's output: keys and partial aggregates, whether the group is known, and the partial aggregates before."""
    before = [(BEFORE + one.name, types[one.name]) for one in of.outputs if isinstance(one.source, MatchAggregate)]
    return [*((one.name, types[one.name]) for one in of.outputs), (KNOWN, BooleanType()), *before]


def _measured(
    measures: list[StreamMeasure],
    of: AggregateSpec,
    types: dict[str, DataType],
    call: exp.Expression,
    beside: tuple[str, ...],
    settings: StreamSettings,
    clause: str,
) -> exp.Select:
    keep_late = settings.late_rows == "keep"
    about = [
        one.name for kind in (GroupColumn, PatternName, EmitTime) for one in of.outputs if isinstance(one.source, kind)
    ]
    inner: list[exp.Expression] = [raw(quoted(name)) for name in [*about, KNOWN, *beside]]
    for i, one in enumerate(measures):
        now = f"CASE WHEN {quoted(LATE)} IS NULL THEN {one.now} END" if keep_late else one.now
        inner += [named(now, one.name), named(one.before, f"{_BEFORE}{i}")]
    same = " AND ".join(f"{quoted(one.name)} <=> {quoted(f'{_BEFORE}{i}')}" for i, one in enumerate(measures))
    shown, changed = f"NOT ({same})", "'insert'"
    if of.of_all_matches:
        shown = f"NOT {quoted(KNOWN)} OR {shown}"
        shown = f"{quoted(DELETED)} OR {shown}" if settings.speculative else shown
        changed = f"CASE WHEN {quoted(KNOWN)} THEN 'update_postimage' ELSE 'insert' END"
    shown = f"{quoted(LATE)} IS NOT NULL OR {shown}" if keep_late else shown
    last = last_columns(clause, [_identity(name, types[name]) for name in about], settings, changed)
    columns = [raw(quoted(name)) for name in [*about, *(one.name for one in measures)]]
    return select([*columns, *last], select(inner, call)).where(raw(shown))


def _identity(name: str, data_type: DataType) -> str:
    """SQL of a string that no other value of the type has."""
    value = quoted(name)
    if isinstance(data_type, TimestampType):
        value = f"UNIX_MICROS({value})"
    text = f"HEX({value})" if isinstance(data_type, BinaryType) else f"CAST({value} AS STRING)"
    return f"COALESCE(CONCAT(LENGTH({text}), ':', {text}), '-')"
