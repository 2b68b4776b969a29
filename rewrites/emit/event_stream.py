"""BoundEventPattern over a stream → SQL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyspark.sql.types import ArrayType, DataType, LongType, StructField, StructType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.stream import IDENTITY, Streamed
from rewrites.bind.within import TIME
from rewrites.emit.event_outputs import outputs_of
from rewrites.emit.event_pattern import event_pattern_spec, event_rows, needed, over_matches, read
from rewrites.emit.flat_events import flat_columns, structs
from rewrites.emit.neighbours import is_contiguous
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
from rewrites.rules.prune_fields import Shown
from rewrites.settings import Follows, StreamSettings
from rewrites.sql.builder import named, quoted, raw, select, text_of
from rewrites.sql.source import Source
from sparkcep.errors import CepUnsupportedError
from sparkcep.pattern.event import Element, Seq, always_taken, elements
from sparkcep.spec.event import EventPatternSpec, EventStruct, LastEvent, Output
from sparkcep.spec.projection import ProjectedSpec
from sparkcep.spec.stream import LATE

_INFERRED = "__cep_c"
_NEVER = "-9223372036854775807L"
"""A time that no event has."""
_IDENTITY_OF = "__cep_i_"
"""The prefix of the columns with the identities of a variable's events."""


def event_pattern_stream(
    bound: BoundEventPattern,
    spec: EventPatternSpec,
    shown: Shown,
    streamed: Streamed,
    source: Source,
    settings: StreamSettings,
    *,
    keep_null_time: bool,
    follows: Follows | None = None,
) -> Emitted:
    """The clause over a stream."""
    classes = inferred_classes(bound)
    keys = tuple(dict.fromkeys([*spec.partition, *bound.equivalences, *classes]))
    together = spec.partition if whole(streamed) else keys
    together = () if bound.strategy == "strict_contiguity" else together  # there all events are neighbours
    of, found = _with_identities(bound, spec, shown)
    if follows is None:
        below = added_below(streamed, bound.relation, settings, timed=bound.window is not None)
        events = event_rows(bound, keep_null_time, every_event=True, more=below)
        if not (is_contiguous(bound) or whole(streamed)):
            events = taking_part(events, spec.masks, classes)
        rows = with_turn_columns(_read(bound, of, events), streamed, keys, settings, together)
        query = bound.relation.alone(text_of(rows))
    else:
        timed = [] if keep_null_time else [f"({bound.time}) IS NOT NULL"]
        query = whole_rows(bound, streamed, spec, settings, keys, together, timed)
    columns = list(flat_columns(found))
    stream = stream_spec(of, keys, streamed, bound.relation, settings, columns, event_time="match_end")
    if follows is not None:
        stream = following(stream, follows, "MATCH PATTERN", lasting(of), query, settings.buckets if together else 1)
    matches = structs(stream_call(stream, query, columns, settings, bound.relation), of.outputs, columns_beside(stream))
    identities = [_text(output) for output, _ in _identities(bound)]
    last = last_columns(known_by(streamed, follows, lasting(spec)), identities, settings)
    result = exp.select(*(raw(quoted(output.name)) for output in spec.outputs), *last).from_(matches)
    late = f"{quoted(LATE)} IS NOT NULL OR " if settings.late_rows == "keep" else ""
    for conjunct in bound.residual:
        result = result.where(raw(f"({late}{over_matches(conjunct.node, bound, source)})"))
    return Emitted(stream, result)


def event_version(bound: BoundEventPattern, shown: Shown, streamed: Streamed) -> ProjectedSpec:
    """A version of a clause whose rows are sent whole, ``bound`` over the stand-in for these. Raises CepUnsupportedError."""
    if bound.residual:
        raise CepUnsupportedError("a condition that Spark applies to the matches", code="PATTERN_STREAM")
    of, _ = _with_identities(bound, event_pattern_spec(bound, shown), shown)
    query = _read(bound, of, event_rows(bound, False, every_event=True))
    has = sent(bound, [*of.partition, *bound.equivalences], (column.column for _, column in streamed.order))
    return projected(of, query, bound.relation, has, sparse=not is_contiguous(bound))


def lasting(spec: EventPatternSpec) -> EventPatternSpec:
    """What a clause that follows a pattern has in common with all its versions."""
    return EventPatternSpec((), Seq(()), (), "", (), "", matches=spec.matches, partition=spec.partition)


def _with_identities(
    bound: BoundEventPattern, spec: EventPatternSpec, shown: Shown
) -> tuple[EventPatternSpec, list[tuple[Output, DataType]]]:
    """The clause with the identities of the events, and its outputs with their types."""
    found = [*outputs_of(bound, shown, None), *_identities(bound)]
    return replace(spec, schema="", outputs=tuple(output for output, _ in found)), found


def _read(bound: BoundEventPattern, of: EventPatternSpec, events: exp.Select) -> exp.Select:
    """What the engine reads of the events, without what a turn adds."""
    names = [name for name in needed(bound, of) if name != of.rank]
    return select([*read(bound, names), *(named(quoted(name), name) for name in of.masks)], events)


def inferred_classes(bound: BoundEventPattern) -> dict[str, str]:
    """The columns with the partitionings that a rule found, and their SQL."""
    return {f"{_INFERRED}{i}": f"COALESCE({', '.join(map(quoted, k.columns))})" for i, k in enumerate(bound.inferred)}


def taking_part(events: exp.Select, masks: Iterable[str], classes: dict[str, str]) -> exp.Select:
    """The events that have a bit, and a value of every class.

    The filter reads the time, in a way that no optimiser sees through: Spark would push others below the watermark, which would then follow these
    events alone.
    """
    any_bit = f"({' OR '.join(f'{quoted(name)} <> 0' for name in masks)})"
    whole = " AND ".join([any_bit, *(f"{text} IS NOT NULL" for text in classes.values())])
    columns = [exp.Star(), *(named(text, name) for name, text in classes.items())]
    return select(columns, events).where(
        raw(f"CASE WHEN {quoted(TIME)} = {_NEVER} THEN NOT {any_bit} ELSE {whole} END")
    )


def _identities(bound: BoundEventPattern) -> list[tuple[Output, DataType]]:
    """The identities of each variable's events; of a row of COMPRESSED MATCHES, that of its last event."""
    if bound.matches == "compressed":
        return [(Output(_IDENTITY_OF, LastEvent(IDENTITY)), LongType())]
    always = always_taken(bound.pattern)
    return [_identity(element, element.variable in always) for element in elements(bound.pattern, negated=False)]


def _identity(element: Element, flat: bool) -> tuple[Output, DataType]:
    source = EventStruct(element.variable, ((IDENTITY, IDENTITY),), flat)
    data_type: DataType = StructType([StructField(IDENTITY, LongType())])
    return Output(f"{_IDENTITY_OF}{element.variable}", source), ArrayType(data_type) if element.kleene else data_type


def _text(output: Output) -> str:
    """SQL of a variable's identities as a string, which tells matches apart."""
    value = quoted(output.name)
    if isinstance(output.source, EventStruct):
        value = f"{value}.{quoted(IDENTITY)}"
    return f"COALESCE(CAST({value} AS STRING), '')"
