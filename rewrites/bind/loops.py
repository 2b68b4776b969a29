"""Loops of MATCH PATTERN, ``SEQ(B b, C c)+ rounds``: each round is a match of the body, put among the events as one more event.

In: a clause and its input. Out: for each loop the clause that finds its rounds, and the input with these rounds, over which the loop is the closure
of one event. A round stands where it ends; that it begins behind what comes before is a condition of its own (``order_of_rounds``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql.types import DataType, StringType, StructField, StructType
from sqlglot import exp

from rewrites.bind.names import Variables, reference, references
from rewrites.bind.operands import NotForTheEngine, Operand, comparison
from rewrites.bind.partitions import Key, bind_keys
from rewrites.bind.predicates import ConditionTranslator, Seat, seen_variables
from rewrites.bind.relation import HIDDEN, RESERVED, Relation, suggestion
from rewrites.bind.within import Window
from rewrites.dialect.clause import Expr, MatchPatternClause
from rewrites.sql.builder import null_of, quoted, string
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.pattern.event import (
    Element,
    EventItem,
    EventPattern,
    Loop,
    Not,
    Seq,
    children,
    elements,
    every_element,
    loops,
    may_be_empty,
)
from sparkcep.spec import expression as ir
from sparkcep.spec.event import STRATEGIES, Predicate

ROUND = f"{HIDDEN}ound_"
"""How the names of the columns begin that make rows rounds."""
LOOP, SINCE, UNTIL = f"{ROUND}of", f"{ROUND}start", f"{ROUND}end"
"""Columns of the input with rounds: the loop that a row is a round of (NULL: an event), and when it begins and ends."""


def check_loops(clause: MatchPatternClause, rows: Relation) -> None:
    """Raise CepUnsupportedError, CepAnalysisError at a loop that cannot be put among the events of ``rows``."""
    _, tree, _ = clause.patterns[0]
    sequence = _in_order(tree)
    for loop in loops(tree):
        assert loop.span is not None
        if not any(item is loop for item in sequence):
            raise _unsupported("a loop inside AND, OR or NOT", loop.span, "a loop is an item of SEQ")
        if (negation := next(_open_negations(loop.body), None)) is not None:
            hint = "inside a round NOT stands between two events: SEQ(B b, NOT X x, C c)+"
            raise _unsupported("a NOT at the start or the end of a round", negation.span or loop.span, hint)
        _check_clause(clause, rows, loop.span)
        for variable in fields(loop):
            if variable.variable.lower().startswith(RESERVED):
                raise CepAnalysisError(
                    f"a variable {variable.variable} of a loop",
                    code="RESERVED_NAME",
                    span=variable.span,
                    hint=f"names that begin with {RESERVED} are the rewriter's: give it another name",
                )
            if rows.column(variable.variable):
                raise CepAnalysisError(
                    f"the variable {variable.variable} of a loop has the name of a column of the input",
                    code="DUPLICATE_NAME",
                    span=variable.span,
                    hint="give it another name: it is a field of the rounds",
                )


def refuse_loops(tree: EventPattern, place: str) -> None:
    """Raise CepUnsupportedError at a loop in a pattern that stands where there are none."""
    for loop in loops(tree):
        assert loop.span is not None
        raise _unsupported(
            f"a loop of several events in {place}", loop.span, "one MATCH PATTERN, with MEASURES, counts its matches"
        )


def _check_clause(clause: MatchPatternClause, rows: Relation, span: Span) -> None:
    """Raise at a loop in a clause that has more than rounds can be told of."""
    if clause.strategy != "any":
        what = f"a loop of several events under {STRATEGIES[clause.strategy]}"
        raise _unsupported(what, span, "loops are of SKIP TILL ANY MATCH")
    if clause.matches != "all" or clause.emit_changes is not None:
        hint = "leave NON OVERLAPPING, COMPRESSED and EMIT CHANGES out, and choose among the matches in a query around the clause"
        raise _unsupported("a loop of several events where matches are chosen", span, hint)
    if clause.within is not None and clause.within.events is not None:
        raise _unsupported(
            "a loop of several events WITHIN n EVENTS", span, "WITHIN a time, or a number of the ORDER BY column"
        )
    if rows.streaming or clause.sequence is not None or clause.event_key is not None:
        hint = "over a stream, put the rounds into a table, and a clause over the events and the rounds"
        raise _unsupported("a loop of several events over a stream", span, hint)
    if any(name.startswith(HIDDEN) for name in rows.schema.names):
        hint = "put the condition with the outer column into a query around the clause"
        raise _unsupported("a loop of several events in a correlated subquery", span, hint)
    if len(clause.order_by) > 1:
        raise _unsupported("a loop of several events, ordered by more than the time", span, "ORDER BY the time alone")


def _unsupported(what: str, span: Span, hint: str) -> CepUnsupportedError:
    return CepUnsupportedError(what, code="LOOP", span=span, hint=hint)


def _in_order(tree: EventItem) -> tuple[EventItem, ...]:
    """What follows each other in a pattern; a SEQ in a SEQ is its items."""
    return tuple(each for item in tree.items for each in _in_order(item)) if isinstance(tree, Seq) else (tree,)


def _open_negations(node: EventItem) -> Iterator[Not]:
    """Negations without an event before or behind them."""
    for item in children(node):
        if isinstance(item, Not) and not (isinstance(node, Seq) and _is_between(item, node.items)):
            yield item
        yield from _open_negations(item)


def _is_between(negation: Not, items: tuple[EventItem, ...]) -> bool:
    at = next(i for i, item in enumerate(items) if item is negation)
    return not all(map(may_be_empty, items[:at])) and not all(map(may_be_empty, items[at + 1 :]))


def fields(loop: Loop) -> tuple[Element, ...]:
    """The variables that are the fields of a round."""
    return elements(loop.body, negated=False)


def of_rounds(clause: MatchPatternClause, loop: Loop) -> MatchPatternClause:
    """The clause whose matches are the rounds of ``loop``."""
    assert loop.span is not None
    own, _ = _divided(clause, loop)
    return replace(clause, patterns=((None, loop.body, loop.span),), conjuncts=own, measures=())


def over_rounds(clause: MatchPatternClause, rows: Relation, source: Source) -> MatchPatternClause:
    """The clause without the conditions on single rounds. Raises CepAnalysisError where the others ask a round for what it lacks, or an event."""
    rest = clause.conjuncts
    found = loops(clause.patterns[0][1])
    for loop in found:
        _, rest = _divided(replace(clause, conjuncts=rest), loop)
    for expr in rest:
        _check_columns(expr, found, clause, rows)
        _check_elements(expr, found, source)
        _check_query(expr, clause)
    for measure in clause.measures:
        _check_columns(measure.expr, found, clause, rows)
        _check_measure(measure.expr, found)
    return replace(clause, conjuncts=rest)


def _divided(clause: MatchPatternClause, loop: Loop) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The conditions between the events of one round, and the others."""
    variables = Variables(tuple(element.variable for element in every_element(clause.patterns[0][1])))
    inside = {element.variable for element in every_element(loop.body)}
    own: list[Expr] = []
    others: list[Expr] = []
    for conjunct in clause.conjuncts:
        seen = seen_variables(conjunct.node, variables)
        if not inside.isdisjoint(seen) and not inside.issuperset(seen):
            name = next(variable for variable in seen if variable in inside)
            raise CepAnalysisError(
                f"{name} is an event of each round of {loop.variable}: of which?",
                code="LOOP_VARIABLE",
                span=next(
                    (ref.span for ref in references(conjunct.node, variables) if ref.members[0] == name), conjunct.span
                ),
                hint=f"write {loop.variable}{'[i]' if loop.kleene else ''}.{name}.column",
            )
        (others if inside.isdisjoint(seen) else own).append(conjunct)
    return tuple(own), tuple(others)


def _check_columns(expr: Expr, found: tuple[Loop, ...], clause: MatchPatternClause, rows: Relation) -> None:
    """Check that what an expression reads of a round is an event of it, and of an event a column of the input."""
    known = {loop.variable: [field.variable for field in fields(loop)] for loop in found}
    variables = Variables(tuple(element.variable for element in elements(clause.patterns[0][1])))
    for ref in references(expr.node, variables):
        names = known.get(ref.members[0])
        if names is None:
            rows.require(ref.column)
        elif ref.column.value.lower() not in map(str.lower, names):
            raise CepAnalysisError(
                f"the rounds of {ref.members[0]} have no {ref.column.value}",
                code="UNKNOWN_COLUMN",
                span=ref.column.span,
                hint=suggestion(ref.column.value, names),
            )


def _check_elements(expr: Expr, found: tuple[Loop, ...], source: Source) -> None:
    """Check that no element of a closure in a round is picked: ``[1]`` is the first event of a closure, and the second element of an array."""
    closures = {(loop.variable, field.variable.lower()) for loop in found for field in fields(loop) if field.kleene}
    for ref in references(expr.node, Variables(tuple(loop.variable for loop in found))):
        picked = source.sql[ref.span.end :].lstrip().startswith("[")
        if picked and (ref.members[0], ref.column.value.lower()) in closures:
            hint = f"say it of {ref.column.value} within the round: {ref.column.value}[1].column; or in a query around the clause"
            raise _unsupported(f"an element of the closure {ref.column.value} of a round", ref.span, hint)


def _check_query(expr: Expr, clause: MatchPatternClause) -> None:
    """Check that no subquery looks for the values of one event: Spark does not plan that over the events and the rounds."""
    variables = Variables(tuple(element.variable for element in elements(clause.patterns[0][1])))
    if len(seen_variables(expr.node, variables)) != 1:
        return
    for part in expr.node.find_all(exp.Column, exp.Dot):
        if reference(part, variables) is not None and part.find_ancestor(exp.Query) is not None:
            hint = "compute it as a column of the input, in a subquery"
            raise _unsupported("a correlated subquery beside a loop of several events", expr.span, hint)


def _check_measure(expr: Expr, found: tuple[Loop, ...]) -> None:
    for ref in references(expr.node, Variables(tuple(loop.variable for loop in found))):
        hint = f"aggregate in a query around the clause, over explode({ref.members[0]}) or with its lambda functions"
        raise _unsupported("the events of rounds in MEASURES", ref.span, hint)


@dataclass(frozen=True, slots=True)
class Rounds:
    """The query that finds a loop's rounds, and the types of its fields."""

    query: str
    types: Mapping[str, DataType]


def with_rounds(rows: Relation, clause: MatchPatternClause, source: Source, found: Mapping[str, Rounds]) -> Relation:
    """The input with the rounds of each loop, ``found`` by its variable."""
    time, span = source.text(clause.order_by[0].expr.span), clause.order_by[0].expr.span
    (time_type,) = rows.types_of([(time, span)])
    keys = bind_keys(clause.partition_by, rows, source)
    fields = {name: kind for rounds in found.values() for name, kind in rounds.types.items()}
    own = [*rows.schema.names, *rows.inner]
    added = [f"CAST(NULL AS STRING) AS {LOOP}", f"({time}) AS {SINCE}", f"({time}) AS {UNTIL}"]
    added += [f"({key.text}) AS {key_column(i)}" for i, key in enumerate(keys)]
    added += [f"{null_of(kind)} AS {quoted(name)}" for name, kind in fields.items()]
    parts = [f"SELECT {', '.join([*map(quoted, own), *added])} FROM {rows.text}\n"]
    for loop in loops(clause.patterns[0][1]):
        rounds = found[loop.variable]
        agreed = {name: _agreed(loop, name) for name in _equal(clause, rows)}
        values = [agreed.get(name, "NULL") for name in own]
        values += [string(loop.variable), "`match_start`", "`match_end`", *(quoted(key.name) for key in keys)]
        values += [quoted(name) if name in rounds.types else "NULL" for name in fields]
        parts.append(f"SELECT {', '.join(values)} FROM {rounds.query}")
    kinds = {LOOP: StringType(), SINCE: time_type, UNTIL: time_type}
    kinds |= {key_column(i): key.data_type for i, key in enumerate(keys)} | fields
    schema = StructType([*rows.schema.fields, *(StructField(name, kind) for name, kind in kinds.items())])
    told = f"{rows.told}, and the rounds of {' and '.join(found)}"
    return replace(rows, text=f"({' UNION ALL '.join(parts)})", schema=schema, written=told)


def key_column(number: int) -> str:
    """The column with a PARTITION BY expression."""
    return f"{ROUND}key{number}"


def keys_with_rounds(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """The keys of a clause over the input with rounds."""
    return tuple(
        replace(key, text=key_column(i), column=key_column(i), sent=key_column(i)) for i, key in enumerate(keys)
    )


def _equal(clause: MatchPatternClause, rows: Relation) -> set[str]:
    """The columns that all events of a match agree on."""
    return {rows.require(item.attribute) for item in clause.equivalences}


def _agreed(loop: Loop, column: str) -> str:
    """Such a column, as SQL over a round of ``loop``."""
    return f"COALESCE({', '.join(_attribute(fields(loop), quoted(column)))})"


def _attribute(variables: tuple[Element, ...], column: str, before: str = "") -> Iterator[str]:
    """A column that all events of a round agree on, in each of its variables."""
    for element in variables:
        path = f"{before}{quoted(element.variable)}"
        path = f"GET({path}, 0)" if element.kleene else path
        if isinstance(element, Loop):
            yield from _attribute(fields(element), column, f"{path}.")
        else:
            yield f"{path}.{column}"


def test_of(element: Element) -> str:
    """Which rows of the input with rounds an element may take, as SQL."""
    return f"{LOOP} = {string(element.variable)}" if isinstance(element, Loop) else f"{LOOP} IS NULL"


def told_test(element: Element) -> str:
    """``test_of``, for those who explain it."""
    return f"a match of {element.body}" if isinstance(element, Loop) else "an event"


def without_bodies(tree: EventPattern) -> EventPattern:
    """The pattern as engines know it: a loop is the closure of an event, its round."""

    def plain(item: EventItem) -> EventItem:
        if isinstance(item, Loop):
            return Element(item.variable, (str(item.body),), item.low, item.high, item.span)
        return replace(item, items=tuple(map(plain, item.items))) if isinstance(item, Seq) else item

    found = plain(tree)
    assert not isinstance(found, Not)
    return found


def order_of_rounds(
    tree: EventPattern,
    translator: ConditionTranslator,
    time_type: DataType,
    window: Window | None,
    since: Window | None,
) -> tuple[Predicate, ...]:
    """Conditions that every loop's rounds begin behind what comes before them; and, where a match may begin with a round, that it ends within the
    window of that round. ``since``: the window from where rows begin."""
    items = _in_order(tree)
    found: list[Predicate] = []
    for at, loop in enumerate(items):
        if isinstance(loop, Loop):
            rounds = _Rounds(loop, translator, time_type)
            found += rounds.behind(items[:at])
            if window is not None and since is not None and all(map(may_be_empty, items[:at])):
                found += rounds.within((loop, *items[at + 1 :]), window, since)
    return tuple(found)


class _Rounds:
    """The conditions on the rounds of one loop."""

    def __init__(self, loop: Loop, translator: ConditionTranslator, time_type: DataType) -> None:
        self._loop, self._translator, self._type = loop, translator, time_type
        self._start = Operand(self._type, _seat(loop, "first"), SINCE)

    def behind(self, before: tuple[EventItem, ...]) -> Iterator[Predicate]:
        """The first round begins behind the events before it, each other one behind the round before it."""
        name = self._loop.variable
        for item in reversed(before):
            for element in elements(item):
                end = Operand(self._type, _seat(element, "last"), UNTIL)
                yield self._predicate("lt", end, self._start, f"{name} begins behind {element.variable}")
            if not may_be_empty(item):
                break
        if self._loop.kleene:
            end, start = Operand(self._type, (name, "previous"), UNTIL), Operand(self._type, (name, "each"), SINCE)
            yield self._predicate("lt", end, start, f"{name}[i] begins behind {name}[i-1]")

    def within(self, items: tuple[EventItem, ...], window: Window, since: Window) -> Iterator[Predicate]:
        """What comes from the first round on is before its deadline."""
        span = self._loop.span or Span(0, 0)
        kinds = self._translator.relation.types_of([(window.time, span), (since.deadline, span)])
        deadline = Operand(kinds[1], self._start.at, since.deadline)
        for element in (element for item in items for element in elements(item)):
            if element.kleene or element is not self._loop:
                end = Operand(kinds[0], _seat(element, "last"), window.time)
                yield self._predicate("lt", end, deadline, f"{element.variable} WITHIN of {self._loop.variable}")

    def _predicate(self, operator: ir.Operator, left: Operand, right: Operand, text: str) -> Predicate:
        try:
            condition = self._translator.condition(comparison(operator, left, right))
        except NotForTheEngine:
            span = self._loop.span or Span(0, 0)
            what = f"a loop of several events, ordered by {self._type.simpleString()}"
            raise _unsupported(what, span, "order by a time or a number") from None
        return Predicate(condition, text, self._loop.span)


def _seat(element: Element, place: ir.Place) -> Seat:
    return element.variable, place if element.kleene else None
