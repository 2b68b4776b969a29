"""The columns of a MATCH PATTERN's result: what the engine gives for each match, and the types that the user sees."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import ArrayType, BooleanType, DataType, IntegerType, StructField, StructType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.within import DEADLINE
from rewrites.emit.buffers import buffer_output
from rewrites.emit.shards import OWN
from rewrites.rules.prune_fields import Shown
from rewrites.rules.time_shards import Shards
from rewrites.sql.builder import named, null_of, text_of
from sparkcep.pattern.event import Element, always_taken, elements
from sparkcep.spec.event import EventPatternSpec, EventStruct, FirstEvent, LastEvent, Output

RANK = "__cep_rank"
UNTIL = "__cep_until"
"""EMIT CHANGES: when a match expires."""
EVENT_TIME = "__cep_o0"


def outputs_of(bound: BoundEventPattern, shown: Shown, shards: Shards | None) -> list[tuple[Output, DataType]]:
    """The result's columns with their user-visible types; at least one."""
    if bound.matches == "compressed":
        return [*_key_outputs(bound), _time_outputs(bound)[1], buffer_output(bound)]
    places = [*_key_outputs(bound), *_time_outputs(bound), *_expiry(bound)]
    outputs = [one for one in places if shown.columns is None or one[0].name in shown.columns]
    outputs += _event_outputs(bound, shown.events)
    outputs = outputs or places[:1]
    return [*outputs, (Output(OWN, FirstEvent(OWN)), BooleanType())] if flagged(shards) else outputs


def typed_outputs(
    bound: BoundEventPattern, spec: EventPatternSpec, shards: Shards | None
) -> list[tuple[Output, DataType]]:
    """The columns of the spec."""
    events = {o.name: tuple(f for f, _ in o.source.fields) for o in spec.outputs if isinstance(o.source, EventStruct)}
    return outputs_of(bound, Shown(events, frozenset(output.name for output in spec.outputs)), shards)


def one_match(bound: BoundEventPattern, spec: EventPatternSpec, shards: Shards | None) -> str:
    """A match of NULLs in the place of the clause, in parentheses: what reads the matches has the same types over it, and Spark knows them sooner."""
    outputs = [one for one in typed_outputs(bound, spec, shards) if one[0].name != OWN]
    return f"({text_of(exp.select(*(named(null_of(kind), output.name) for output, kind in outputs)))})"


def flagged(shards: Shards | None) -> bool:
    """Whether a flag in the matches tells which shard they belong to."""
    return shards is not None and shards.leaders is None


def _key_outputs(bound: BoundEventPattern) -> list[tuple[Output, DataType]]:
    return [(Output(key.name, FirstEvent(key.sent)), key.data_type) for key in bound.keys]


def _time_outputs(bound: BoundEventPattern) -> list[tuple[Output, DataType]]:
    column = bound.time_column or EVENT_TIME
    sources = (Output("match_start", FirstEvent(bound.start_column or column)), Output("match_end", LastEvent(column)))
    return [(output, bound.time_type) for output in sources]


def _expiry(bound: BoundEventPattern) -> list[tuple[Output, DataType]]:
    """For EMIT CHANGES: the time, or the rank, at which a match expires."""
    if bound.emit_changes is None or bound.window is None:
        return []
    if bound.window.events is not None:
        return [(Output(UNTIL, FirstEvent(RANK)), IntegerType())]
    (data_type,) = bound.relation.types_of([(bound.window.deadline, bound.emit_changes)])
    return [(Output(UNTIL, FirstEvent(DEADLINE)), data_type)]


def _event_outputs(bound: BoundEventPattern, fields: Mapping[str, tuple[str, ...]]) -> list[tuple[Output, DataType]]:
    found = [element for element in elements(bound.pattern, negated=False) if element.variable in fields]
    always = always_taken(bound.pattern)
    return [_event_output(e, bound, fields[e.variable], flat=e.variable in always) for e in found]


def _event_output(
    element: Element, bound: BoundEventPattern, names: tuple[str, ...], *, flat: bool
) -> tuple[Output, DataType]:
    data_type: DataType = StructType([StructField(name, bound.relation.schema[name].dataType) for name in names])
    if element.kleene:
        data_type = ArrayType(data_type)
    return Output(element.variable, EventStruct(element.variable, tuple((n, n) for n in names), flat)), data_type
