"""A clause whose matches are only aggregated → the AggregateSpec and the query that returns its partial aggregates.

The query has one row per partition that has a match (per shard, if the timeline is sharded): the PARTITION BY columns and the partial aggregates,
which ``rewrites.pushdown`` combines into the user's aggregates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql.types import DataType, StructType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.match_aggregates import EMIT_TIME
from rewrites.emit.classes import CLASS
from rewrites.emit.event_outputs import EVENT_TIME
from rewrites.emit.event_pattern import MOMENT, engine_input, ranks
from rewrites.rules.time_shards import Shards
from rewrites.sql.builder import match_call, named, null_of, quoted, text_of
from rewrites.sql.transport import carried_schema, decoded
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, EmitTime, GroupColumn, MatchAggregate, PatternName
from sparkcep.spec.event import EventPatternSpec, WithinTime
from sparkcep.spec.neighbours import linked


def aggregate_spec(
    bound: BoundEventPattern, events: EventPatternSpec, partials: Mapping[MatchAggregate, tuple[str, DataType]]
) -> AggregateSpec:
    """The MatchSpec of the partial aggregates; ``events`` is the clause's own. ``partials``: with the column name and type of each."""
    keys = [
        (AggregateOutput(key.name, GroupColumn(column)), key.data_type)
        for key, column in zip(bound.keys, events.partition, strict=True)
    ]
    times = [(AggregateOutput(EMIT_TIME, EmitTime(EVENT_TIME)), bound.time_type)] if bound.emit_changes else []
    values = [(AggregateOutput(name, source), kind) for source, (name, kind) in partials.items()]
    return AggregateSpec(
        variables=events.variables,
        pattern=events.pattern,
        masks=events.masks,
        rank=events.rank,
        outputs=tuple(output for output, _ in [*keys, *times, *values]),
        schema=carried_schema(
            ((output.name, kind) for output, kind in [*keys, *times, *values]), bound.relation.chars(keys)
        ).json(),
        within=events.within,
        partition=events.partition,
        text=events.text,
        emit=MOMENT if bound.emit_changes else None,
        classes=CLASS if bound.emit_changes and bound.equivalences else None,
        neighbours=events.predicates,
        starts=events.starts,
        unordered=bound.together is not None and events.unordered,
    )


def aggregate_query(
    bound: BoundEventPattern,
    spec: AggregateSpec,
    function: str | None = None,
    *,
    keep_null_time: bool = True,
    shards: Shards | None = None,
) -> str:
    """The query that replaces the clause: PARTITION BY columns and partial aggregates, one row per shard with a match."""
    rows = aggregate_input(bound, spec, keep_null_time=keep_null_time, shards=shards)
    types = _group_types(bound, spec)
    columns_out = (
        named(decoded(quoted(o.name), types[o.name]) if o.name in types else quoted(o.name), o.name)
        for o in spec.outputs
    )
    query = exp.select(*columns_out).from_(match_call(rows, spec, function))
    return f"({text_of(query)})"


def one_partition(bound: BoundEventPattern, spec: AggregateSpec) -> str:
    """A row of NULLs in the place of ``aggregate_query``: what reads that has the same types over it, and Spark knows them sooner."""
    types = {field.name: field.dataType for field in StructType.fromJson(json.loads(spec.schema))}
    types |= _group_types(bound, spec)
    return f"({text_of(exp.select(*(named(null_of(types[o.name]), o.name) for o in spec.outputs)))})"


def _group_types(bound: BoundEventPattern, spec: AggregateSpec) -> dict[str, DataType]:
    """The columns that are not partial aggregates."""
    return {key.name: key.data_type for key in bound.keys} | ({EMIT_TIME: bound.time_type} if spec.emit else {})


def aggregate_input(
    bound: BoundEventPattern, spec: AggregateSpec, *, keep_null_time: bool, shards: Shards | None = None
) -> exp.Select:
    """The rows that the engine reads."""
    every_event = spec.emit is not None
    columns = read_columns(spec)
    columns += [column for column in (spec.emit, spec.classes) if column is not None]
    asked = ranks(bound, every_event)  # a count of events may name the rank, which the engine has in any case
    names = [*asked, *(name for name in dict.fromkeys(columns) if name != spec.rank)]
    names = list(dict.fromkeys([*names, *spec.starts]))
    return engine_input(bound, names, keep_null_time=keep_null_time, shards=shards, every_event=every_event)


def read_columns(spec: AggregateSpec) -> list[str]:
    """The input's columns that the engine reads, except those that tell where events stand."""
    columns = [*spec.partition]
    if isinstance(spec.within, WithinTime):
        columns += spec.within.columns
    columns += [column for output in spec.outputs if (column := read_column(output.source)) is not None]
    return [*columns, *linked(spec.neighbours).columns]


def read_column(source: GroupColumn | EmitTime | MatchAggregate | PatternName) -> str | None:
    """The input column that an output reads, if any."""
    return None if isinstance(source, PatternName) else source.column
