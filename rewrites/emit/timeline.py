"""Bound clause → the query that lists the events of its matches one by one, from which a timeline is drawn.

The query has the columns ``lane`` (the PARTITION BY values as text), ``match`` (a number, unique in its lane), ``at`` (the event's time),
``variable`` and ``told`` (columns of its row as (name, value), both text; of MATCH AUTOMATON the registers, where the match ends), in this order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pyspark.sql.types import LongType, StringType
from sqlglot import exp

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.partitions import Key
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.dialect.clause import Site
from rewrites.dialect.tokens import tokenize
from rewrites.emit.event_pattern import event_pattern_query, event_pattern_spec
from rewrites.emit.row_pattern import engine_input, row_pattern_spec
from rewrites.rules.prune_fields import Shown
from rewrites.sql.builder import match_call, quoted, string, text_of
from rewrites.sql.source import Source
from rewrites.sql.transport import carried_schema, decoded_columns
from sparkcep.errors import CepUnsupportedError
from sparkcep.pattern.event import elements
from sparkcep.spec import EventPatternSpec, RowPatternSpec
from sparkcep.spec.row import ClassifierAt, CurrentRow, MatchNumber, Navigation, Output

Bound = BoundRowPattern | BoundEventPattern
ORDER = "ORDER BY `lane`, `match`, `at`"
MOST_TOLD = 12
"""The most columns told of an event. A row with more tells those that its clause names."""


def told_columns(bound: Bound, site: Site, text: str) -> tuple[str, ...]:
    """The columns told of each event of a clause of ``text``."""
    known = Counter(name.lower() for name in bound.relation.schema.names)
    names = tuple(name for name in bound.relation.schema.names if known[name.lower()] == 1)
    if len(names) <= MOST_TOLD:
        return names
    words = {token.text.lower() for token in tokenize(text).inside(site.body) if token.is_name}
    return tuple(name for name in names if name.lower() in words)[:MOST_TOLD]


def row_spec(bound: BoundRowPattern, site: Site, told: tuple[str, ...]) -> RowPatternSpec:
    """The clause's spec with the rows of its matches as output: time, variable, number of the match, PARTITION BY values, columns told."""
    if not bound.order_columns:
        raise _no_time(site)
    base, types = row_pattern_spec(bound), {field.name: field.dataType for field in bound.relation.schema}
    at = bound.order_columns[0]
    outputs = [(Output("__cep_at", CurrentRow(at)), types[at])]
    outputs += [(Output("__cep_variable", ClassifierAt(Navigation(running=True))), StringType())]
    outputs += [(Output("__cep_match", MatchNumber()), LongType())]
    keys = zip(bound.keys, base.partition, strict=True)
    outputs += [(Output(f"__cep_lane{i}", CurrentRow(column)), key.data_type) for i, (key, column) in enumerate(keys)]
    outputs += [(Output(f"__cep_told{i}", CurrentRow(name)), types[name]) for i, name in enumerate(told)]
    return replace(
        base,
        outputs=tuple(output for output, _ in outputs),
        schema=carried_schema((output.name, data_type) for output, data_type in outputs).json(),
        rows_per_match="all_omit_empty",
        frame=None,
    )


def row_timeline(bound: BoundRowPattern, spec: RowPatternSpec, told: tuple[str, ...], function: str | None) -> str:
    """The time line of a MATCH_RECOGNIZE clause; ``spec`` is ``row_spec``'s."""
    types = {field.name: field.dataType for field in bound.relation.schema}
    kinds = [(f"__cep_lane{i}", key.data_type) for i, key in enumerate(bound.keys)]
    kinds += [
        ("__cep_at", types[bound.order_columns[0]]),
        ("__cep_match", LongType()),
        ("__cep_variable", StringType()),
    ]
    kinds += [(f"__cep_told{i}", types[name]) for i, name in enumerate(told)]
    rows = text_of(exp.select("*").from_(decoded_columns(match_call(engine_input(bound, spec), spec, function), kinds)))
    lane = _lane([quoted(name) for name, _ in kinds[: len(bound.keys)]])
    return (
        f"SELECT {lane} AS `lane`, `__cep_match` AS `match`, `__cep_at` AS `at`, `__cep_variable` AS `variable`, "
        f"{_told({name: quoted(f'__cep_told{i}') for i, name in enumerate(told)})} AS `told` FROM ({rows}) {ORDER}"
    )


def event_spec(bound: BoundEventPattern, site: Site) -> EventPatternSpec:
    """The clause's spec with all columns of its events."""
    if bound.time_column is None:
        raise _no_time(site)
    names = tuple(bound.relation.schema.names)
    return event_pattern_spec(bound, Shown(dict.fromkeys(bound.variables, names)))


def event_timeline(
    bound: BoundEventPattern, spec: EventPatternSpec, told: tuple[str, ...], source: Source, function: str | None
) -> str:
    """The time line of a MATCH PATTERN clause; ``spec`` is ``event_spec``'s."""
    assert bound.time_column is not None
    time = quoted(bound.time_column)
    events = []
    for element in elements(bound.pattern, negated=False):
        own = [column for column in told if column in bound.fields_of(element.variable)]
        columns = _told({column: f"`x`.{quoted(column)}" for column in own})
        name, variable = quoted(element.variable), string(element.variable)
        taken = name if element.kleene else f"ARRAY({name})"
        events.append(
            f"TRANSFORM({taken}, `x` -> NAMED_STRUCT('at', `x`.{time}, 'variable', {variable}, 'told', {columns}))"
        )
    matches = event_pattern_query(bound, spec, source, function)
    listed = (
        f"SELECT {_lane([quoted(key.name) for key in bound.keys])} AS `lane`, MONOTONICALLY_INCREASING_ID() AS `match`, "
        f"CONCAT({', '.join(events)}) AS `events` FROM {matches}"
    )
    return _one_by_one(listed)


def automaton_timeline(bound: BoundAutomaton, query: str) -> str:
    """The time line of a MATCH AUTOMATON clause, whose matches are ``query``: where each begins, and in which state it ends."""
    registers = _told({register.name: quoted(register.name) for register in bound.registers})
    ends = ", ".join(
        f"NAMED_STRUCT('at', {at}, 'variable', {state}, 'told', {told})"
        for at, state, told in (
            ("`match_start`", string(bound.states.names[0]), _told({})),
            ("`match_end`", "`final_state`", registers),
        )
    )
    listed = (
        f"SELECT {_lane([quoted(key.name) for key in bound.keys])} AS `lane`, MONOTONICALLY_INCREASING_ID() AS `match`, "
        f"ARRAY({ends}) AS `events` FROM {query}"
    )
    return _one_by_one(listed)


def lane_names(keys: tuple[Key, ...]) -> str:
    """The title of the lanes: ``carrier, flight``."""
    return ", ".join(key.name for key in keys)


def _told(columns: dict[str, str]) -> str:
    """An array of names and values; ``columns``: the SQL of each."""
    pairs = (f"NAMED_STRUCT('name', {string(name)}, 'value', CAST({sql} AS STRING))" for name, sql in columns.items())
    return f"CAST(ARRAY({', '.join(pairs)}) AS ARRAY<STRUCT<`name`: STRING, `value`: STRING>>)"


def _one_by_one(listed: str) -> str:
    """The events in the column ``events`` of ``listed``, a row each."""
    return (
        "SELECT `lane`, `match`, `event`.`at` AS `at`, `event`.`variable` AS `variable`, `event`.`told` AS `told` "
        f"FROM (SELECT `lane`, `match`, EXPLODE(`events`) AS `event` FROM ({listed})) WHERE `event`.`at` IS NOT NULL {ORDER}"
    )


def _lane(columns: list[str]) -> str:
    texts = [f"COALESCE(CAST({column} AS STRING), 'NULL')" for column in columns]
    return f"CONCAT_WS(', ', {', '.join(texts)})" if texts else "''"


def _no_time(site: Site) -> CepUnsupportedError:
    return CepUnsupportedError(
        "a timeline of a clause whose ORDER BY does not begin with a plain column",
        code="TIMELINE",
        span=site.keyword,
        hint="order by a column of the input; compute it in a subquery",
    )
