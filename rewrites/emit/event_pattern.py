"""BoundEventPattern → SQL.

From the inside out: the events that can take part, with their conditions as bits (a scan that Spark prunes); the shards that need them, if the
timeline is sharded; ``ROW_NUMBER`` and ``RANK`` in their partition (one exchange, one sort); ``cep_match``; the filters that Spark applies to the
matches.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern, read_by
from rewrites.bind.event_types import type_in
from rewrites.bind.match_aggregates import EMIT_TIME
from rewrites.bind.names import Variables, reference
from rewrites.bind.partitions import Together
from rewrites.bind.relation import HIDDEN
from rewrites.bind.within import DEADLINE, TIME
from rewrites.dialect import span_of
from rewrites.emit.classes import by_class, of_class
from rewrites.emit.event_outputs import EVENT_TIME, RANK, flagged, outputs_of, typed_outputs
from rewrites.emit.flat_events import flat_columns, structs
from rewrites.emit.masks import ROW_NUMBER, checked, mask_columns
from rewrites.emit.neighbours import APART, Line, is_contiguous, neighbours
from rewrites.emit.shards import OWN, in_line, offered, own, partitioning, sharded
from rewrites.rules.keys_in_order import distributed, ranked_by_time, sorted_by_workers
from rewrites.rules.prune_fields import Shown
from rewrites.rules.time_shards import Shards
from rewrites.sql.builder import ALIAS, filtered, match_call, named, over, quoted, raw, select, text_of
from rewrites.sql.source import Source, replaced
from rewrites.sql.transport import carried_schema, decoded_columns, encoded
from sparkcep.spec.event import (
    BufferStruct,
    EventPatternSpec,
    EventStruct,
    Output,
    WithinEvents,
    WithinTime,
)
from sparkcep.spec.row import MASK_BITS

MOMENT, NOW = "__cep_moment", "__cep_now"
"""EMIT CHANGES: the number of an event's time in its partition, and the time in the window's unit."""


def event_pattern_spec(bound: BoundEventPattern, shown: Shown, shards: Shards | None = None) -> EventPatternSpec:
    """The MatchSpec of a bound clause."""
    outputs = outputs_of(bound, shown, shards)
    sent = [column for output, _ in outputs for column in _read_by(output)]
    return EventPatternSpec(
        variables=bound.variables,
        pattern=bound.pattern,
        masks=tuple(name for _, name in _masks(bound)),
        rank=RANK,
        outputs=tuple(output for output, _ in outputs),
        schema=carried_schema(flat_columns(outputs), bound.relation.chars(outputs)).json(),
        predicates=bound.conditions,
        within=_within(bound),
        strategy=bound.strategy,
        matches=bound.matches,
        partition=tuple(key.sent for key in bound.keys),
        text=bound.text,
        line=shards is not None and shards.line,
        unordered=(shards is not None and shards.line) or (bound.together is not None and sorted_by_workers(bound)),
        time_of=_time_of(bound, sent),
        sums=bound.sums,
        constants=bound.constants,
        instants=bound.instants,
        starts=() if bound.together is None else bound.together.keys,
    )


def event_pattern_query(
    bound: BoundEventPattern,
    spec: EventPatternSpec,
    source: Source,
    function: str | None = None,
    *,
    keep_null_time: bool = True,
    shards: Shards | None = None,
) -> str:
    """The query that replaces the clause, in parentheses. ``keep_null_time``: a NULL event time is an error; otherwise such events are dropped."""
    rows = all_matches(bound, spec, function, keep_null_time=keep_null_time, shards=shards)
    is_result = isinstance(rows, exp.Subquery)  # a query, not the function's call: it has the result's columns
    if is_result and not flagged(shards) and not bound.residual:
        return f"({text_of(rows.this)})"
    shown = [output.name for output in spec.outputs if output.name != OWN]
    query = exp.select(*(raw(quoted(name)) for name in shown)).from_(rows)
    if flagged(shards):
        query = query.where(raw(quoted(OWN)))
    for conjunct in bound.residual:
        query = query.where(raw(f"({over_matches(conjunct.node, bound, source)})"))
    return f"({text_of(query)})"


def all_matches(
    bound: BoundEventPattern,
    spec: EventPatternSpec,
    function: str | None,
    *,
    keep_null_time: bool,
    shards: Shards | None = None,
) -> exp.Expression:
    """The engine's matches, before the filters that Spark applies."""
    columns = needed(bound, spec)
    rows = engine_input(bound, columns, keep_null_time=keep_null_time, shards=shards)
    outputs = typed_outputs(bound, spec, shards)
    return structs(decoded_columns(match_call(rows, spec, function), flat_columns(outputs)), spec.outputs)


def engine_input(
    bound: BoundEventPattern,
    names: list[str],
    *,
    keep_null_time: bool,
    shards: Shards | None = None,
    every_event: bool = False,
) -> exp.Select:
    """The rows that an engine reads: the columns ``names`` and the masks, partition after partition, in order. With ``shards``, each partition is
    restricted to what one shard of the timeline needs. ``every_event``: include events that take no part in a match, and add MOMENT.
    """
    events = event_rows(bound, keep_null_time, every_event)
    if shards is not None and shards.line:
        masks = [name for _, name in _masks(bound)]
        return in_line(_taking_part(bound, events), read(bound, names), masks, TIME, shards)
    if bound.together is not None and not every_event:
        masks = [named(quoted(name), name) for _, name in _masks(bound)]
        return select([*read(bound, names), *masks], _by_keys(bound, events, bound.together))
    events = _windowed(bound, events, shards, every_event)
    columns = [own() if name == OWN else column for name, column in zip(names, read(bound, names), strict=True)]
    marked = len(bound.variables) + 1 if is_contiguous(bound) else None
    columns += [named(_mask_with_start(name, i, shards, marked), name) for i, (_, name) in enumerate(_masks(bound))]
    return select(columns, events)


def read(bound: BoundEventPattern, names: list[str]) -> list[exp.Expression]:
    """The columns ``names`` in their encoding for the engine."""
    types = {f.name: f.dataType for f in bound.relation.schema} | {EVENT_TIME: bound.time_type}
    types |= {key.sent: key.data_type for key in bound.keys}
    return [named(encoded(quoted(name), types[name]) if name in types else quoted(name), name) for name in names]


def event_times(bound: BoundEventPattern, *, keep_null_time: bool) -> exp.Select:
    """The PARTITION BY columns, ``emit_time`` and NOW: one row per time at which a partition has an event of any type."""
    keys = [quoted(key.sent) for key in bound.keys]
    columns = [named(text, key.name) for text, key in zip(keys, bound.keys, strict=True)]
    columns += [named(quoted(EVENT_TIME), EMIT_TIME)]
    if bound.window is not None:
        columns.append(named(f"MAX({quoted(RANK if bound.window.events else TIME)})", NOW))
    query = select(columns, _windowed(bound, event_rows(bound, keep_null_time, True), None, True))
    return query.where(raw(f"{quoted(EVENT_TIME)} IS NOT NULL")).group_by(*map(raw, keys), raw(quoted(EVENT_TIME)))


def event_rows(
    bound: BoundEventPattern, keep_null_time: bool, every_event: bool = False, more: Sequence[exp.Expression] = ()
) -> exp.Select:
    """The input with mask bits, times, the columns that conditions read, and ``more``; events that cannot take part are dropped."""
    columns: list[exp.Expression] = [exp.Star(), *more]
    masks = [(of_class(text, bound) if every_event else text, name) for text, name in _masks(bound)]
    columns += [
        named(checked(text, bound.time, bound.window, keep_null_time=keep_null_time), name) for text, name in masks
    ]
    columns += [named(key.text, key.sent) for key in bound.keys if key.column is None]
    columns += [named(text, f"__cep_o{i}") for i, (text, _) in enumerate(bound.order)]
    if bound.window is not None and bound.window.events is None:
        columns += [named(bound.window.time, TIME), named(bound.window.deadline, DEADLINE)]
    columns += [named(text, name) for text, name in bound.columns.items()]
    query = select(columns, bound.bounded or bound.relation.text)
    tests = [] if every_event else _scan_tests(bound, keep_null_time)
    if every_event and not keep_null_time:
        tests.append(f"({bound.time}) IS NOT NULL")
    return filtered(query, [*bound.key_filters, *tests])


def _scan_tests(bound: BoundEventPattern, keep_null_time: bool) -> list[str]:
    """Conditions that every event of a match (and, under contiguity, between its events) satisfies, in a form that Spark can push into the scan."""
    strict = bound.strategy == "strict_contiguity"
    tests = [] if strict else [f"{quoted(column)} IS NOT NULL" for column in bound.equivalences]
    if not keep_null_time:
        tests.append(f"({bound.time}) IS NOT NULL")
    if bound.types and bound.type_column and not (_counts_events(bound) or is_contiguous(bound)):
        tests.append(type_in(bound.type_column, bound.types))
    return tests


def _windowed(
    bound: BoundEventPattern, events: exp.Select, shards: Shards | None, every_event: bool = False
) -> exp.Select:
    partition = [quoted(key.sent) for key in bound.keys]
    classes = [quoted(column) for column in bound.equivalences]
    order = _order(bound)
    if every_event and classes:
        return by_class(events, partition, classes, order, (RANK, MOMENT))
    partition += classes
    inferred = [f"COALESCE({', '.join(map(quoted, key.columns))})" for key in bound.inferred]
    partition += inferred
    partition += partitioning(shards) if shards is not None else []
    rank = named(over("RANK()", partition, order), RANK)
    row_number = named(over("ROW_NUMBER()", partition, order), ROW_NUMBER)
    if every_event:
        moment = named(over("RANK()", partition, order[:1]), MOMENT)
        return select([exp.Star(), rank, moment, row_number], events)
    any_bit = " OR ".join(f"{quoted(name)} <> 0" for _, name in _masks(bound))
    if is_contiguous(bound):
        attributes = [quoted(column) for column in bound.equivalences]
        strict = bound.strategy == "strict_contiguity"
        return neighbours(events, Line(partition, order, rank, any_bit, strict, attributes))
    if not _counts_events(bound):
        taking_part = _taking_part(bound, events)
        for key in inferred:
            taking_part = taking_part.where(raw(f"{key} IS NOT NULL"))
        if shards is not None:
            taking_part = sharded(taking_part, TIME, [name for _, name in _masks(bound)], shards)
        return select([exp.Star(), *([rank] if ranks(bound) else []), row_number], taking_part)
    ranked = select([exp.Star(), rank], events)
    return select([exp.Star(), row_number], select([exp.Star()], ranked).where(raw(any_bit), copy=False))


def _order(bound: BoundEventPattern) -> list[str]:
    return [f"{quoted(f'__cep_o{i}')}{direction}" for i, (_, direction) in enumerate(bound.order)]


def _by_keys(bound: BoundEventPattern, events: exp.Select, together: Together) -> exp.Select:
    """The events that take part, those of a partition in one task; sorted, if workers do not sort them."""
    rows = distributed(_taking_part(bound, events), together)
    if sorted_by_workers(bound):
        return rows
    return rows.sort_by(*map(raw, [*map(quoted, together.keys), *_order(bound)]), copy=False)


def _taking_part(bound: BoundEventPattern, events: exp.Select) -> exp.Select:
    """The events that some variable can take."""
    return select([exp.Star()], events).where(
        raw(" OR ".join(f"{quoted(name)} <> 0" for _, name in _masks(bound))), copy=False
    )


def ranks(bound: BoundEventPattern, every_event: bool = False) -> list[str]:
    """RANK, unless it follows from the events' times, which the engine has for WITHIN."""
    return [] if ranked_by_time(bound) and not every_event and not is_contiguous(bound) else [RANK]


def _counts_events(bound: BoundEventPattern) -> bool:
    """Whether all events of the partition count, whatever their type: WITHIN n EVENTS."""
    return bound.window is not None and bound.window.events is not None


def _masks(bound: BoundEventPattern) -> list[tuple[str, str]]:
    """One bit per variable, plus one under contiguity (see ``neighbours``)."""
    tests = [_test(bound, variable) for variable in bound.variables]
    return mask_columns([*tests, "FALSE"] if is_contiguous(bound) else tests, start="FALSE")


def _test(bound: BoundEventPattern, variable: str) -> str | None:
    """Which events a variable can take."""
    tests = [bound.tests[variable], *(one.test for one in bound.induced if one.variable == variable)]
    return " AND ".join(test for test in tests if test is not None) or None


def _mask_with_start(name: str, i: int, shards: Shards | None, marked: int | None) -> str:
    mask = offered(name, i, shards)
    if marked is not None and marked // MASK_BITS == i:
        mask += f" + CASE WHEN {quoted(APART)} THEN {1 << marked % MASK_BITS} ELSE 0 END"
    return mask if i else f"{mask} + CASE WHEN {quoted(ROW_NUMBER)} = 1 THEN 1 ELSE 0 END"


def _within(bound: BoundEventPattern) -> WithinTime | WithinEvents | None:
    if bound.window is None:
        return None
    if bound.window.events is not None:
        return WithinEvents(bound.window.events)
    return WithinTime(TIME, DEADLINE) if bound.window.amount is None else WithinTime(TIME, length=bound.window.amount)


def needed(bound: BoundEventPattern, spec: EventPatternSpec) -> list[str]:
    """The columns that the engine reads, except the masks."""
    columns = [*ranks(bound), *spec.starts, *spec.partition]
    if isinstance(spec.within, WithinTime):
        columns += spec.within.columns if spec.time_of is None else [spec.time_of]
    made = {one.name: one.column for one in spec.sums} | {one.name: one.column for one in spec.instants}
    columns += [made.get(column, column) for column in read_by(bound.conditions)]
    columns += [column for output in spec.outputs for column in _read_by(output)]
    fixed = {one.name for one in spec.constants}
    return [column for column in dict.fromkeys(columns) if column not in fixed]


def _read_by(output: Output) -> list[str]:
    source = output.source
    return (
        [column for _, column in source.fields] if isinstance(source, EventStruct | BufferStruct) else [source.column]
    )


def _time_of(bound: BoundEventPattern, sent: Sequence[str]) -> str | None:
    """The column that the time is read from, if it is sent in any case and has the time's numbers."""
    column = bound.time_column or EVENT_TIME
    whole = bound.window is not None and bound.window.amount is not None
    return column if whole and column in sent and not bound.relation.streaming else None


def over_matches(node: exp.Expression, bound: BoundEventPattern, source: Source) -> str:
    """A residual conjunct over the result: ``a.price`` is a field of the STRUCT column ``a``, also where a table of a subquery has an ``a``; what is
    hidden is a key."""
    variables = Variables(bound.variables)

    def field(part: exp.Expression) -> str | None:
        found = reference(part, variables)
        if found is None or found.column.value.startswith(HIDDEN):
            return None if found is None else quoted(found.column.value)
        result = f"{quoted(ALIAS)}." if part.find_ancestor(exp.Query) else ""
        return f"{result}{quoted(found.members[0])}.{source.text(found.rest)}"

    return source.splice(span_of(node), replaced(node, field))
