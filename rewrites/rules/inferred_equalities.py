"""inferred_equalities: equality conjuncts that connect all variables of a pattern partition its events.

``SEQ(A a, NOT N n, B b) WHERE a.user = b.user AND n.user = b.user`` → events are partitioned by ``user``, as ``[user]`` would do; the conjuncts are
then always true and are dropped. Equality is transitive, and columns may differ (``a.x = b.x AND b.x = c.y``) if no event can be taken by two
variables with different columns.

Applies only if the equalities cover every match and every negated event: all positive variables are connected through positive ones, and every
negated variable is covered too, since an event that is not compared must be visible from every partition. Not with OR or optional variables, whose
conjuncts disappear with them, nor where partitions have a meaning of their own (ranks, other strategies).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from rewrites.bind.conditions import Columns
from rewrites.bind.event_pattern import BoundEventPattern, Inferred
from rewrites.bind.predicates import guarded, unguarded
from rewrites.sql.builder import quoted
from sparkcep.pattern.event import Element, Or, elements, walk
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import Call, ColumnOf, ElementOf

NAME = "inferred_equalities"

Point = ColumnOf | ElementOf
Class = frozenset[Point]


@dataclass(frozen=True, slots=True)
class _Equality:
    predicate: Predicate
    sides: tuple[Point, Point]


def inferred_equalities(bound: BoundEventPattern) -> BoundEventPattern:
    """The clause partitioned by each class of equal columns that covers it, without the conjuncts that this implies."""
    if not _applies(bound):
        return bound
    equalities = [found for predicate in bound.conditions if (found := _equality(predicate)) is not None]
    keys = [key for key in (_key(found, bound) for found in _classes(equalities, bound)) if key is not None]
    if not keys:
        return bound
    columns = Columns("__cep_p", dict(bound.columns))
    kept, inferred = list(bound.conditions), []
    for key in keys:
        implied = [one.predicate for one in equalities if set(one.sides) <= key]
        kept = [predicate for predicate in kept if predicate not in implied]
        inferred.append(Inferred(_columns(key, bound, columns), " AND ".join(predicate.text for predicate in implied)))
    return replace(bound, conditions=tuple(kept), inferred=tuple(inferred), columns=columns.texts)


def _applies(bound: BoundEventPattern) -> bool:
    if (
        bound.strategy != "any"
        or bound.matches != "all"
        or (bound.window is not None and bound.window.events is not None)
    ):
        return False
    return not any(isinstance(node, Or) or (isinstance(node, Element) and not node.low) for node in walk(bound.pattern))


def _equality(predicate: Predicate) -> _Equality | None:
    """``a.x = b.y``, or ``b[i].y`` of a closure: an equality that holds for all events of both variables."""
    condition = predicate.condition
    if not isinstance(condition, Call) or condition.operator != "eq":
        return None
    left, right = condition.arguments
    if not (_is_every(left) and _is_every(right)) or left.variable == right.variable:
        return None
    return _Equality(predicate, (left, right))


def _is_every(term: object) -> bool:
    return isinstance(term, ColumnOf) or (isinstance(term, ElementOf) and term.place == "each")


def _classes(equalities: list[_Equality], bound: BoundEventPattern) -> Iterator[Class]:
    """Classes of equal columns: connected through positive variables, then extended by the negated ones that equal them."""
    positive = {element.variable for element in elements(bound.pattern, negated=False)}
    among = [one.sides for one in equalities if all(side.variable in positive for side in one.sides)]
    found: list[set[Point]] = []
    for seed in map(set, among):
        touching = [known for known in found if known & seed]
        found = [known for known in found if not known & seed] + [seed.union(*touching)]
    for grown in found:
        while more := _negated_beside(grown, equalities, positive) - grown:
            grown |= more
        yield frozenset(grown)


def _negated_beside(known: set[Point], equalities: list[_Equality], positive: set[str]) -> set[Point]:
    """Columns of negated variables that equal a known one; a negated event does not connect positive variables to each other."""
    sides = {side for one in equalities if known & set(one.sides) for side in one.sides}
    return {side for side in sides if side.variable not in positive}


def _key(found: Class, bound: BoundEventPattern) -> Class | None:
    """One column per variable of the pattern; None if a variable is missing, or an event could have two keys."""
    chosen: dict[str, Point] = {}
    for point in sorted(found, key=str):
        chosen.setdefault(point.variable, point)
    if set(chosen) != set(bound.variables):
        return None
    texts = {name: _row_text(point.column, bound.tests[name], bound.columns) for name, point in chosen.items()}
    types = {element.variable: set(element.types) for element in elements(bound.pattern)}
    for x, y in combinations(chosen, 2):
        if texts[x] != texts[y] and not (types[x] and types[y] and types[x].isdisjoint(types[y])):
            return None
    return frozenset(chosen.values())


def _columns(key: Class, bound: BoundEventPattern, columns: Columns) -> tuple[str, ...]:
    """The columns of a key. If there are several, a column of the input is read in the events of its variable only."""
    names = tuple(dict.fromkeys(point.column for point in sorted(key, key=str)))
    if len(names) == 1:
        return names
    texts = {point: guarded(quoted(point.column), bound.tests[point.variable] or "true") for point in key}
    own = set(bound.relation.schema.names)
    found = (columns.name(texts[p]) if p.column in own else p.column for p in sorted(key, key=str))
    return tuple(dict.fromkeys(found))


def _row_text(column: str, test: str | None, columns: Mapping[str, str]) -> str:
    """The expression over the event, without the guard by the variable's own test."""
    text = next((text for text, name in columns.items() if name == column), quoted(column))
    return unguarded(text, test)
