"""Loops of MATCH PATTERN, ``SEQ(B b, C c)+ rounds``: each round is a match of the body, put among the events as one more event.

In: a clause and its input. Out: for each loop the clause that finds its rounds, and the input with these rounds, over which the loop is the closure
of one event. A round stands where it ends; that it begins behind what comes before is a condition of its own (``order_of_rounds``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql.types import DataType, StringType, StructField, StructType

from rewrites.bind.loop_refusals import check_over_rounds, unsupported_loop
from rewrites.bind.names import Variables, references
from rewrites.bind.operands import NotForTheEngine, Operand, comparison
from rewrites.bind.partitions import Key, bind_keys
from rewrites.bind.predicates import ConditionTranslator, Seat, seen_variables
from rewrites.bind.relation import HIDDEN, Relation
from rewrites.bind.within import Window
from rewrites.dialect.clause import Expr, MatchPatternClause
from rewrites.sql.builder import null_of, quoted, string
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern.event import (
    Element,
    EventItem,
    EventPattern,
    Loop,
    Not,
    Seq,
    elements,
    every_element,
    in_order,
    loops,
    may_be_empty,
    round_fields,
)
from sparkcep.spec import expression as ir
from sparkcep.spec.event import Predicate

ROUND = f"{HIDDEN}ound_"
"""How the names of the columns begin that make rows rounds."""
LOOP, SINCE, UNTIL = f"{ROUND}of", f"{ROUND}start", f"{ROUND}end"
"""Columns of the input with rounds: the loop that a row is a round of (NULL: an event), and when it begins and ends."""


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
    left = replace(clause, conjuncts=rest)
    check_over_rounds(left, rows, source)
    return left


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
    return f"COALESCE({', '.join(_attribute(round_fields(loop), quoted(column)))})"


def _attribute(variables: tuple[Element, ...], column: str, before: str = "") -> Iterator[str]:
    """A column that all events of a round agree on, in each of its variables."""
    for element in variables:
        path = f"{before}{quoted(element.variable)}"
        path = f"GET({path}, 0)" if element.kleene else path
        if isinstance(element, Loop):
            yield from _attribute(round_fields(element), column, f"{path}.")
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
    items = in_order(tree)
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
            raise unsupported_loop(what, span, "order by a time or a number") from None
        return Predicate(condition, text, self._loop.span)


def _seat(element: Element, place: ir.Place) -> Seat:
    return element.variable, place if element.kleene else None
