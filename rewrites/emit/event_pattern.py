"""BoundEventPattern → SQL.

From the inside out: the events that can take part, with their conditions as bits (a scan that Spark prunes); the shards that need them, if the
timeline is sharded; ``ROW_NUMBER`` and ``RANK`` in their partition (one exchange, one sort); ``cep_match``; the filters that Spark applies to the
matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    StructField,
    StructType,
)
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern, read_by, type_in
from rewrites.bind.match_aggregates import EMIT_TIME
from rewrites.bind.names import Variables, reference
from rewrites.bind.relation import HIDDEN
from rewrites.bind.within import DEADLINE, TIME
from rewrites.dialect import span_of
from rewrites.emit.buffers import buffer_output
from rewrites.emit.classes import by_class, of_class
from rewrites.emit.flat_events import flat_columns, structs
from rewrites.emit.masks import ROW_NUMBER, checked, mask_columns
from rewrites.emit.neighbours import APART, Line, is_contiguous, neighbours
from rewrites.emit.shards import OWN, in_line, offered, own, partitioning, sharded
from rewrites.rules.keys_in_order import ranked_by_time
from rewrites.rules.prune_fields import Shown
from rewrites.rules.time_shards import Shards
from rewrites.sql.builder import conjunction, match_call, named, over, quoted, raw, select, string, text_of
from rewrites.sql.source import Source, replaced
from rewrites.sql.transport import carried_schema, decoded_columns, encoded
from sparkcep.pattern.event import Element, always_taken, elements
from sparkcep.spec.event import (
    BufferStruct,
    EventPatternSpec,
    EventStruct,
    FirstEvent,
    LastEvent,
    Output,
    WithinEvents,
    WithinTime,
)
from sparkcep.spec.row import MASK_BITS

RANK = "__cep_rank"
MOMENT, UNTIL, NOW = "__cep_moment", "__cep_until", "__cep_now"
"""EMIT CHANGES: the number of an event's time in its partition, when a match expires, and the time in the window's unit."""
EVENT_TIME = "__cep_o0"


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
        schema=carried_schema(flat_columns(outputs)).json(),
        predicates=bound.conditions,
        within=_within(bound),
        strategy=bound.strategy,
        matches=bound.matches,
        partition=bound.key_columns,
        text=bound.text,
        line=shards is not None and shards.line,
        unordered=shards is not None and shards.unordered,
        time_of=_time_of(bound, sent),
        sums=bound.sums,
        starts=bound.starts,
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
    shown = [output.name for output in spec.outputs if output.name != OWN]
    query = exp.select(*(raw(quoted(name)) for name in shown)).from_(rows)
    if _flagged(shards):
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
    rows = engine_input(bound, columns, keep_null_time=keep_null_time, shards=shards, starts=spec.starts)
    outputs = _typed_outputs(bound, spec, shards)
    return structs(decoded_columns(match_call(rows, spec, function), flat_columns(outputs)), spec.outputs)


def one_match(bound: BoundEventPattern, spec: EventPatternSpec, shards: Shards | None) -> str:
    """A match of NULLs in the place of the clause, in parentheses: what reads the matches has the same types over it, and Spark knows them sooner."""
    outputs = [one for one in _typed_outputs(bound, spec, shards) if one[0].name != OWN]
    return f"({text_of(exp.select(*(named(_null(kind), output.name) for output, kind in outputs)))})"


def _null(kind: DataType) -> str:
    if isinstance(kind, ArrayType):
        return f"ARRAY({_null(kind.elementType)})"
    if isinstance(kind, StructType):
        return f"NAMED_STRUCT({', '.join(f'{string(field.name)}, {_null(field.dataType)}' for field in kind)})"
    return f"CAST(NULL AS {kind.simpleString()})"


def _typed_outputs(
    bound: BoundEventPattern, spec: EventPatternSpec, shards: Shards | None
) -> list[tuple[Output, DataType]]:
    """The columns of the spec."""
    events = {o.name: tuple(f for f, _ in o.source.fields) for o in spec.outputs if isinstance(o.source, EventStruct)}
    return outputs_of(bound, Shown(events, frozenset(output.name for output in spec.outputs)), shards)


def engine_input(
    bound: BoundEventPattern,
    names: list[str],
    *,
    keep_null_time: bool,
    shards: Shards | None = None,
    every_event: bool = False,
    starts: Sequence[str] = (),
) -> exp.Select:
    """The rows that an engine reads: the columns ``names`` and the masks, partition after partition, in order. With ``shards``, each partition is
    restricted to what one shard of the timeline needs. ``every_event``: include events that take no part in a match, and add MOMENT. ``starts``: as
    in the spec.
    """
    events = event_rows(bound, keep_null_time, every_event)
    if shards is not None and shards.line:
        masks = [name for _, name in _masks(bound)]
        times = TIME, TIME if TIME in names else bound.time_column or EVENT_TIME
        return in_line(_taking_part(bound, events), read(bound, names), masks, times, shards)
    if starts:
        masks = [named(quoted(name), name) for _, name in _masks(bound)]
        return select([*read(bound, names), *masks], _by_keys(bound, events, starts))
    events = _windowed(bound, events, shards, every_event)
    columns = [own() if name == OWN else column for name, column in zip(names, read(bound, names), strict=True)]
    marked = len(bound.variables) + 1 if is_contiguous(bound) else None
    columns += [named(_mask_with_start(name, i, shards, marked), name) for i, (_, name) in enumerate(_masks(bound))]
    return select(columns, events)


def read(bound: BoundEventPattern, names: list[str]) -> list[exp.Expression]:
    """The columns ``names`` in their encoding for the engine."""
    types = {f.name: f.dataType for f in bound.relation.schema} | {EVENT_TIME: bound.time_type}
    types |= {bound.key_columns[i]: key.data_type for i, key in enumerate(bound.keys)}
    return [named(encoded(quoted(name), types[name]) if name in types else quoted(name), name) for name in names]


def _flagged(shards: Shards | None) -> bool:
    """Whether a flag in the matches tells which shard they belong to."""
    return shards is not None and shards.leaders is None


def event_times(bound: BoundEventPattern, *, keep_null_time: bool) -> exp.Select:
    """The PARTITION BY columns, ``emit_time`` and NOW: one row per time at which a partition has an event of any type."""
    keys = [*map(quoted, bound.key_columns)]
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
    columns += [named(key.text, bound.key_columns[i]) for i, key in enumerate(bound.keys) if key.column is None]
    columns += [named(text, f"__cep_o{i}") for i, (text, _) in enumerate(bound.order)]
    if bound.window is not None and bound.window.events is None:
        columns += [named(bound.window.time, TIME), named(bound.window.deadline, DEADLINE)]
    columns += [named(text, name) for text, name in bound.columns.items()]
    query = select(columns, bound.bounded or bound.relation.text)
    tests = [] if every_event else _scan_tests(bound, keep_null_time)
    if every_event and not keep_null_time:
        tests.append(f"({bound.time}) IS NOT NULL")
    tests = [*bound.key_filters, *tests]
    return query.where(raw(conjunction(tests))) if tests else query


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
    partition = [*map(quoted, bound.key_columns)]
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
    return select([exp.Star(), row_number], select([exp.Star()], ranked).where(raw(any_bit)))


def _order(bound: BoundEventPattern) -> list[str]:
    return [f"{quoted(f'__cep_o{i}')}{direction}" for i, (_, direction) in enumerate(bound.order)]


def _by_keys(bound: BoundEventPattern, events: exp.Select, starts: Sequence[str]) -> exp.Select:
    """The events that take part, partition after partition, each in order. DISTRIBUTE BY is no hint, which a setting lets Spark ignore."""
    keys = [quoted(name) for name in starts]
    order = _order(bound)
    rows = select([exp.Star()], _taking_part(bound, events)).sort_by(*map(raw, [*keys, *order]))
    rows.set("distribute", exp.Distribute(expressions=list(map(raw, keys))))
    return rows


def _taking_part(bound: BoundEventPattern, events: exp.Select) -> exp.Select:
    """The events that some variable can take."""
    return select([exp.Star()], events).where(raw(" OR ".join(f"{quoted(name)} <> 0" for _, name in _masks(bound))))


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


def outputs_of(bound: BoundEventPattern, shown: Shown, shards: Shards | None) -> list[tuple[Output, DataType]]:
    """The result's columns with their user-visible types; at least one."""
    if bound.matches == "compressed":
        return [*_key_outputs(bound), _time_outputs(bound)[1], buffer_output(bound)]
    places = [*_key_outputs(bound), *_time_outputs(bound), *_expiry(bound)]
    outputs = [one for one in places if shown.columns is None or one[0].name in shown.columns]
    outputs += _event_outputs(bound, shown.events)
    outputs = outputs or places[:1]
    return [*outputs, (Output(OWN, FirstEvent(OWN)), BooleanType())] if _flagged(shards) else outputs


def _key_outputs(bound: BoundEventPattern) -> list[tuple[Output, DataType]]:
    return [(Output(key.name, FirstEvent(bound.key_columns[i])), key.data_type) for i, key in enumerate(bound.keys)]


def _time_outputs(bound: BoundEventPattern) -> list[tuple[Output, DataType]]:
    column = bound.time_column or "__cep_o0"
    sources = (Output("match_start", FirstEvent(column)), Output("match_end", LastEvent(column)))
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


def needed(bound: BoundEventPattern, spec: EventPatternSpec) -> list[str]:
    """The columns that the engine reads, except the masks."""
    columns = [*ranks(bound), *spec.starts, *spec.partition]
    if isinstance(spec.within, WithinTime):
        columns += spec.within.columns if spec.time_of is None else [spec.time_of]
    made = {one.name: one.column for one in spec.sums}
    columns += [made.get(column, column) for column in read_by(bound.conditions)]
    columns += [column for output in spec.outputs for column in _read_by(output)]
    return list(dict.fromkeys(columns))


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
    """A residual conjunct over the result: ``a.price`` is a field of the STRUCT column ``a``; what is hidden is a key."""
    variables = Variables(bound.variables)

    def field(part: exp.Expression) -> str | None:
        found = reference(part, variables)
        if found is None or found.column.value.startswith(HIDDEN):
            return None if found is None else quoted(found.column.value)
        return f"{quoted(found.members[0])}.{source.text(found.rest)}"

    return source.splice(span_of(node), replaced(node, field))
