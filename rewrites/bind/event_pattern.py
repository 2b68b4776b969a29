"""MatchPatternClause → BoundEventPattern: names resolved, WHERE split between Spark and the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructType,
    VariantType,
)
from sqlglot import exp

from rewrites.bind.closures import kleene_path
from rewrites.bind.conditions import Columns
from rewrites.bind.loops import (
    SINCE,
    UNTIL,
    fields,
    keys_with_rounds,
    order_of_rounds,
    test_of,
    told_test,
    without_bodies,
)
from rewrites.bind.many_rows import check_functions, check_order
from rewrites.bind.match_aggregates import bind_aggregates
from rewrites.bind.names import Variables, references, row_text
from rewrites.bind.partitions import Key, Together, bind_keys, bind_order, check_key_names, event_time, plain_column
from rewrites.bind.predicates import ConditionTranslator, Made, check_closures, is_local, spans_variables
from rewrites.bind.relation import Relation, suggestion
from rewrites.bind.within import Window, bind_window
from rewrites.dialect import column_path
from rewrites.dialect.clause import Equivalence, Expr, MatchPatternClause, Measure
from rewrites.sql.builder import conjunction, null_of, quoted, string
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern import event as pattern
from sparkcep.spec import event
from sparkcep.spec.expression import terms

DEFAULT_TYPE_COLUMNS = ("event_type", "type")

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
    type_column = _type_column(clause, relation, elements)
    line = _line(clause, relation, source, loops)
    time, time_type = line.time, relation.types_of([(line.time, clause.order_by[0].expr.span)])[0]
    kleene = frozenset(element.variable for element in elements if element.kleene)
    ends = {"match_start": time_type, "match_end": time_type}
    where = _Where(clause, variables, relation, source, kleene, {key.name: key.data_type for key in keys} | ends)
    where.require_known()
    steps = {element.variable: where.test_steps(element, type_column) for element in elements}
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
        type_column=type_column,
        types=_types(elements),
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
        rounds={loop.variable: tuple(one.variable for one in fields(loop)) for loop in loops},
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


@dataclass(frozen=True, slots=True)
class _Where:
    """WHERE of one clause, conjunct by conjunct. ``beside``: the result's columns beside the events, with their types."""

    clause: MatchPatternClause
    variables: Variables
    relation: Relation
    source: Source
    kleene: frozenset[str]
    beside: Mapping[str, DataType]

    def test_steps(self, element: pattern.Element, type_column: str | None) -> tuple[tuple[str, str], ...]:
        """The type test, then the variable's local conjuncts, each guarded by its predecessors: (what is tested, SQL so far)."""
        tests = [_type_test(element, type_column)] if element.types and type_column else []
        said = [*tests]
        if pattern.loops(self.clause.patterns[0][1]):
            tests, said = [" AND ".join([*tests, test_of(element)])], said or [told_test(element)]
        literals = [self._literal(item) for item in self.clause.equivalences if item.value is not None]
        tests += literals
        steps = [(text, " AND ".join(tests[: i + 1])) for i, text in enumerate([*said, *literals])]
        for conjunct in self.clause.conjuncts:
            check_closures(conjunct.node, self.variables, self.kleene)
        own = [c for c in self.clause.conjuncts if spans_variables(c, self.variables) == (element.variable,)]
        local = [c for c in own if is_local(c, self.variables)]
        texts = [(row_text(conjunct, self.variables, self.source), conjunct.span) for conjunct in local]
        for (_, span), data_type in zip(texts, self.relation.types_of(texts), strict=True):
            _require_boolean(data_type, span)
        for text, span in texts:
            test = f"CASE WHEN {' AND '.join(tests)} THEN ({text}) END" if tests else f"({text})"
            tests.append(test)
            steps.append((self.source.text(span), test))
        return tuple(steps)

    def guards(self, tests: Mapping[str, str | None]) -> dict[str, str]:
        """Which events each variable can take, as SQL."""
        return {name: test or "true" for name, test in tests.items()}

    def divide(
        self,
        tests: dict[str, str | None],
        columns: Columns,
        made: Made | None,
        tree: pattern.EventPattern,
    ) -> tuple[tuple[event.Predicate, ...], tuple[Expr, ...]]:
        """Conjuncts over several variables: (engine conditions, residual)."""
        translator = ConditionTranslator(
            self.variables, self.source, self.relation, columns, self.guards(tests), self.kleene, made=made
        )
        engine, residual = [], []
        for conjunct in self.clause.conjuncts:
            seen = spans_variables(conjunct, self.variables)
            if len(seen) == 1 and is_local(conjunct, self.variables):
                continue
            condition = translator.translate(conjunct) if seen else None
            if condition is None and self._is_filter(seen, tree):
                self._require_boolean(conjunct)
                residual.append(conjunct)
                continue
            if condition is None:
                condition = translator.translate_slowly(conjunct)
            engine.append(event.Predicate(condition, self.source.text(conjunct.span), conjunct.span))
        return tuple(engine), tuple(residual)

    def _is_filter(self, seen: tuple[str, ...], tree: pattern.EventPattern) -> bool:
        """Whether Spark can apply a conjunct to the matches: they have all that it reads, and nothing else depends on its outcome. Only under SKIP
        TILL ANY MATCH is WHERE a filter on matches, and NON OVERLAPPING selects among filtered ones.
        """
        if not seen:
            return True
        special = {element.variable for element in pattern.elements(tree, negated=True)} | self.kleene
        special |= {element.variable for element in pattern.elements(tree) if element.low == 0}
        plain = not special.intersection(seen) and not any(isinstance(node, pattern.Or) for node in pattern.walk(tree))
        return plain and self.clause.strategy == "any" and self.clause.matches == "all"

    def _require_boolean(self, conjunct: Expr) -> None:
        """A residual conjunct; one that takes a whole event (``to_json(a)``) has no type over the input, but over the matches."""
        text = row_text(conjunct, self.variables, self.source)
        try:
            data_type = self.relation.types_of([(text, conjunct.span)])[0]
        except CepAnalysisError:
            whole = [(self.source.text(conjunct.span), conjunct.span)]
            data_type = self.relation.types_of(whole, self._matches())[0]
        _require_boolean(data_type, conjunct.span)

    def _matches(self) -> str:
        """An empty relation with the columns of the result: a struct for each variable."""
        columns = [f"{null_of(data_type)} AS {quoted(name)}" for name, data_type in self.beside.items()]
        columns += [f"{null_of(self.relation.schema)} AS {quoted(name)}" for name in self.variables.primary]
        return f"(SELECT {', '.join(columns)})"

    def _literal(self, item: Equivalence) -> str:
        assert item.value is not None
        return f"({quoted(self.relation.require(item.attribute))} = {self.source.text(item.value.span)})"

    def require_known(self) -> None:
        """Check that every name in WHERE is known, and that its functions are of the events of one match."""
        check_functions(self.clause.conjuncts, self.variables, self.kleene, self.relation, self.source)
        for conjunct in self.clause.conjuncts:
            self._require_known(conjunct)

    def _require_known(self, conjunct: Expr) -> None:
        """Columns in WHERE must be qualified by a variable: a bare input column or an unknown variable is an error."""
        found = references(conjunct.node, self.variables)
        for ref in found:
            self.relation.require(ref.column)
        inside = [ref.span for ref in found]
        for node in _outside_queries(conjunct.node):
            path, indexed = column_path(node), kleene_path(node)
            if indexed is not None:
                self.variables.require(indexed[0][0])
            if path is None or any(span.start <= path[0].span.start < span.end for span in inside):
                continue
            if len(path) > 1:
                self.variables.require(path[0])
            if self.relation.column(path[0].value):
                raise CepAnalysisError(
                    f"whose {path[0].value}? WHERE compares the pattern's variables",
                    code="UNQUALIFIED_COLUMN",
                    span=path[0].span,
                    hint=f"write {self.variables.primary[0]}.{path[0].value}",
                )


def _outside_queries(node: exp.Expression) -> Iterator[exp.Expression]:
    """Column references outside subqueries and lambdas, which have their own names."""
    if isinstance(node, exp.Query | exp.Lambda):
        return
    if isinstance(node, exp.Column | exp.Dot):
        yield node
        return
    for child in node.iter_expressions():
        yield from _outside_queries(child)


def _check_names(clause: MatchPatternClause, keys: tuple[Key, ...], elements: tuple[pattern.Element, ...]) -> None:
    """Check that no variable, being a result column, is named like another result column."""
    taken = {key.name.lower(): f"the PARTITION BY column {key.name}" for key in keys}
    taken |= {name: f"the result column {name}" for name in _RESULTS}
    if clause.site.alias is not None:
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


def _type_column(clause: MatchPatternClause, relation: Relation, elements: tuple[pattern.Element, ...]) -> str | None:
    if clause.event_type is not None:
        named = relation.require(clause.event_type)
        return _comparable(named, relation, clause.event_type.span) if _typed(elements) else named
    if not _typed(elements):
        return None
    found = next((column for name in DEFAULT_TYPE_COLUMNS if (column := relation.column(name))), None)
    if found is None:
        raise CepAnalysisError(
            "the input has no column event_type or type",
            code="EVENT_TYPE",
            span=clause.site.input,
            hint=f"name the column that holds the event type: EVENT TYPE column; {suggestion('event_type', relation.schema.names)}",
        )
    return _comparable(found, relation, clause.site.input)


def _comparable(column: str, relation: Relation, span: Span) -> str:
    """The column. Raises CepAnalysisError where Spark compares its values with no name of a type."""
    kind = relation.schema[column].dataType
    if isinstance(kind, ArrayType | MapType | StructType | VariantType | CalendarIntervalType):
        raise CepAnalysisError(
            f"values of {column}, {kind.simpleString()}, are no types of events",
            code="EVENT_TYPE",
            span=span,
            hint="compute the type, a STRING, in a subquery, and name it: EVENT TYPE column",
        )
    return column


def _typed(elements: tuple[pattern.Element, ...]) -> bool:
    return any(element.types for element in elements)


def _types(elements: tuple[pattern.Element, ...]) -> tuple[str, ...]:
    if not all(element.types for element in elements):
        return ()
    return tuple(dict.fromkeys(name for element in elements for name in element.types))


def _type_test(element: pattern.Element, type_column: str) -> str:
    return type_in(type_column, element.types)


def type_in(type_column: str, types: tuple[str, ...]) -> str:
    """``type = 'A'`` or ``type IN ('A', 'B')``."""
    literals = ", ".join(string(name) for name in types)
    return f"{quoted(type_column)} = {literals}" if len(types) == 1 else f"{quoted(type_column)} IN ({literals})"


def events_of(bound: BoundEventPattern, columns: str, source: str = "") -> str:
    """``columns`` of the events that the pattern's types may take, from the clause's input, or from ``source`` with the same columns."""
    tests = [*bound.key_filters]
    tests += [type_in(bound.type_column, bound.types)] if bound.types and bound.type_column else []
    where = f" WHERE {conjunction(tests)}" if tests else ""
    return f"SELECT {columns} FROM {source or bound.relation.text}\n{where}"


def _require_boolean(data_type: DataType, span: Span) -> None:
    if not isinstance(data_type, BooleanType):
        raise CepAnalysisError(
            f"a condition is {data_type.simpleString()}, not boolean",
            code="CONDITION",
            span=span,
            hint="write a comparison: WHERE a.x > 0",
        )
