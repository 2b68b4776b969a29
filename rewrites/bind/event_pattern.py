"""MatchPatternClause → BoundEventPattern: names resolved, WHERE split between Spark and the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql.types import (
    DataType,
)

from rewrites.bind.conditions import Columns
from rewrites.bind.event_types import type_column, type_in, types_of
from rewrites.bind.loops import (
    SINCE,
    UNTIL,
    keys_with_rounds,
    order_of_rounds,
    without_bodies,
)
from rewrites.bind.many_rows import check_order
from rewrites.bind.match_aggregates import bind_aggregates
from rewrites.bind.names import Variables
from rewrites.bind.partitions import Key, Together, bind_keys, bind_order, check_key_names, event_time, plain_column
from rewrites.bind.predicates import ConditionTranslator, Made
from rewrites.bind.relation import Relation
from rewrites.bind.where import Where
from rewrites.bind.within import Window, bind_window
from rewrites.dialect.clause import Expr, MatchPatternClause, Measure
from rewrites.sql.builder import conjunction
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern import event as pattern
from sparkcep.spec import event
from sparkcep.spec.expression import terms

_RESULTS = ("match_start", "match_end")
"""The result's columns beside keys and variables."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """A partitioning implied by the conditions: by the one of ``columns`` that an event has; ``text``: the conjuncts it replaces."""

    columns: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Induced:
    """``test``: what an event of ``variable`` must satisfy for the conjunct ``text`` to hold with any others."""

    variable: str
    test: str
    text: str


@dataclass(frozen=True, slots=True)
class BoundEventPattern:
    """A MATCH PATTERN clause ready to be emitted.

    ``order``: (SQL, direction) of each item.
    ``tests``: for each variable the SQL condition on its candidate events (None: any event). ``test_steps``: the same step by step, as (what is
    tested, SQL of this and all previous steps). ``equivalences``: further partitioning columns beside ``keys``. ``columns``: SQL text → name of the
    columns that engine conditions read beside the input's; ``sums``, ``instants`` and ``constants``: those that the engine makes itself.
    ``inferred``: partitionings found by a rule. ``residual``: conjuncts that Spark applies to the matches.
    ``types``: the event types of the pattern; empty if ANY takes all.
    ``measures``: aggregates over the matches, if wanted instead of the matches; ``emit_changes``: a row each time they change. ``key_filters``:
    filters on partitions, found by a rule. ``together``: how the events come where a rule has them distributed by their keys.
    ``induced``: tests of candidate events beside ``tests``, found by a rule; ``bounded``: the input with the columns that they compare with.
    ``rounds``: of the variables that are loops the fields, columns of the input with rounds; ``start_column``: when its rows begin.
    """

    relation: Relation
    keys: tuple[Key, ...]
    equivalences: tuple[str, ...]
    order: tuple[tuple[str, str], ...]
    time: str
    time_type: DataType
    time_column: str | None
    pattern: pattern.EventPattern
    text: str
    variables: tuple[str, ...]
    tests: dict[str, str | None]
    test_steps: dict[str, tuple[tuple[str, str], ...]]
    type_column: str | None
    types: tuple[str, ...]
    columns: dict[str, str]
    sums: tuple[event.Sum, ...]
    instants: tuple[event.Instant, ...]
    constants: tuple[event.Fixed, ...]
    conditions: tuple[event.Predicate, ...]
    residual: tuple[Expr, ...]
    window: Window | None
    strategy: event.Strategy
    matches: event.MatchOutput
    inferred: tuple[Inferred, ...] = ()
    measures: tuple[Measure, ...] = ()
    emit_changes: Span | None = None
    key_filters: tuple[str, ...] = ()
    together: Together | None = None
    induced: tuple[Induced, ...] = ()
    bounded: str = ""
    rounds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    start_column: str | None = None

    def fields_of(self, variable: str) -> list[str]:
        """The columns of the input that the result may have of a variable."""
        others = {name for names in self.rounds.values() for name in names}
        shown = [one.name for one in self.relation.shown if one.name not in others]
        return list(self.rounds.get(variable, shown))


def bind_event_pattern(clause: MatchPatternClause, relation: Relation, source: Source) -> BoundEventPattern:
    """Resolve a MATCH PATTERN clause. Raises CepAnalysisError and CepUnsupportedError with spans."""
    _, tree, span = clause.patterns[0]
    elements = pattern.elements(tree)
    variables = Variables(tuple(element.variable for element in elements))
    check_order(clause, source)
    loops = pattern.loops(tree)
    keys = bind_keys(clause.partition_by, relation, source)
    keys = keys_with_rounds(keys) if loops else keys
    check_key_names(keys, () if clause.measures else _RESULTS)
    _check_names(clause, keys, elements)
    typed_by = type_column(clause, relation, elements)
    line = _line(clause, relation, source, loops)
    time, time_type = line.time, relation.types_of([(line.time, clause.order_by[0].expr.span)])[0]
    kleene = frozenset(element.variable for element in elements if element.kleene)
    ends = {"match_start": time_type, "match_end": time_type}
    where = Where(clause, variables, relation, source, kleene, {key.name: key.data_type for key in keys} | ends)
    where.require_known()
    steps = {element.variable: where.test_steps(element, typed_by) for element in elements}
    tests = {variable: found[-1][1] if found else None for variable, found in steps.items()}
    columns, made = Columns("__cep_p"), Made()
    conditions, residual = where.divide(tests, columns, None if relation.streaming else made, tree)
    window = bind_window(clause.within, time, time_type, relation, source)
    if loops:
        since = bind_window(clause.within, SINCE, time_type, relation, source)
        translator = ConditionTranslator(variables, source, relation, columns, where.guards(tests), kleene)
        conditions += order_of_rounds(tree, translator, time_type, window, since)
    sums, instants, constants = made.among(read_by(conditions))
    return BoundEventPattern(
        relation=relation,
        keys=keys,
        equivalences=tuple(relation.require(item.attribute) for item in clause.equivalences if item.value is None),
        order=line.order,
        time=time,
        time_type=time_type,
        time_column=line.column,
        pattern=without_bodies(tree) if loops else tree,
        text=source.text(span),
        variables=variables.primary,
        tests=tests,
        test_steps=steps,
        type_column=typed_by,
        types=types_of(elements),
        columns=columns.texts,
        sums=sums,
        instants=instants,
        constants=constants,
        conditions=conditions,
        residual=residual,
        window=window,
        strategy=clause.strategy,
        matches=clause.matches,
        measures=bind_aggregates(clause, tree, keys, relation),
        emit_changes=clause.emit_changes,
        rounds={loop.variable: tuple(one.variable for one in pattern.round_fields(loop)) for loop in loops},
        start_column=SINCE if loops else None,
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """The events' time as SQL and, if it is one, as a column; and the order, as (SQL, direction) of each item."""

    time: str
    column: str | None
    order: tuple[tuple[str, str], ...]


def _line(clause: MatchPatternClause, relation: Relation, source: Source, loops: Collection[pattern.Loop]) -> _Line:
    """The order of a clause; of one with ``loops`` that of the events and rounds."""
    first = event_time(clause.order_by).expr
    if loops:
        return _Line(UNTIL, UNTIL, ((UNTIL, ""),))
    order = bind_order(clause.order_by, relation, source)
    return _Line(source.text(first.span), plain_column(first.node, relation), order)


def read_by(conditions: Iterable[event.Predicate]) -> list[str]:
    """The columns that conditions read."""
    return [term.column for one in conditions for term in terms(one.condition) if term.column]


def _check_names(clause: MatchPatternClause, keys: tuple[Key, ...], elements: tuple[pattern.Element, ...]) -> None:
    """Check that no variable, being a result column, is named like another result column; nor, where the clause shows it, like the clause's alias."""
    taken = {key.name.lower(): f"the PARTITION BY column {key.name}" for key in keys}
    taken |= {name: f"the result column {name}" for name in _RESULTS}
    if clause.site.alias is not None and not clause.measures:
        taken[clause.site.alias.value.lower()] = f"the table alias {clause.site.alias.value}"
    for element in elements:
        clash = taken.get(element.variable.lower())
        if clash:
            raise CepAnalysisError(
                f"the variable {element.variable} has the name of {clash}",
                code="DUPLICATE_NAME",
                span=element.span,
                hint="give it another name: SEQ(Type name, …)",
            )


def events_of(bound: BoundEventPattern, columns: str, source: str = "") -> str:
    """``columns`` of the events that the pattern's types may take, from the clause's input, or from ``source`` with the same columns."""
    tests = [*bound.key_filters]
    tests += [type_in(bound.type_column, bound.types)] if bound.types and bound.type_column else []
    where = f" WHERE {conjunction(tests)}" if tests else ""
    return f"SELECT {columns} FROM {source or bound.relation.text}\n{where}"
