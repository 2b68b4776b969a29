"""Range predicates: conditions that bound a value of the event to take, given bound events.

In: a predicate, the variable to take, the bound variables. Out: ``Comparison``s of two columns, and ``Difference``s, whose terms of the event to take
are moved to one side: ``ABS(b.v - a.v) < c`` → ``b.v < a.v + c`` and ``b.v > a.v - c``. Whether the rearrangement is sound for the values of a table
(overflow, rounding) is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkcep.engines.event_pattern.planner.linear import MIRRORED, Signed, parts, split
from sparkcep.engines.event_pattern.planner.plan import Point, compared
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import ElementOf, Expression, Operator, terms


@dataclass(frozen=True, slots=True)
class Comparison:
    """A range predicate: ``column`` of the event to take compared with a value of a bound event."""

    column: str
    operator: Operator
    term: Point
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Difference:
    """A comparison of the sum of ``own`` (terms of the event to take) with the sum of ``others`` (terms of bound events)."""

    own: tuple[Signed, ...]
    operator: Operator
    others: tuple[Signed, ...]
    predicate: Predicate


def comparison_of(predicate: Predicate, variable: str, bound: Iterable[str]) -> Comparison | None:
    """``v.x < a.y`` or ``a.y < v.x`` of an event v to find and a bound event a; None for other predicates."""
    sides = compared(predicate.condition)
    if sides is None:
        return None
    left, right, sign = sides
    for own, other, operator in ((left, right, sign), (right, left, MIRRORED[sign])):
        if own.variable == variable != other.variable and is_point(other, variable, bound, True):
            return Comparison(own.column, operator, other, predicate)
    return None


def as_difference(comparison: Comparison, variable: str) -> Difference | None:
    """The same as a difference."""
    return next(iter(differences_of(comparison.predicate, variable, (comparison.term.variable,))), None)


def differences_of(predicate: Predicate, variable: str, bound: Iterable[str]) -> tuple[Difference, ...]:
    """The differences whose conjunction is the predicate, for a single event; none if it does not have this form."""
    found = []
    for signed, operator in parts(predicate.condition):
        sides = split(signed, variable)
        if sides is None or not all(_is_known(part, variable, bound) for _, part in sides[1]):
            return ()
        found.append(_difference(*sides, operator, predicate))
    return tuple(found)


def _difference(
    own: Sequence[Signed], others: Sequence[Signed], operator: Operator, predicate: Predicate
) -> Difference:
    """``own + others < 0`` → ``own < -others``; or ``-own > others``, if that makes the first own term positive."""
    sign = own[0][0]
    turned = tuple((sign * one, part) for one, part in own)
    moved = tuple((-sign * one, part) for one, part in others)
    return Difference(turned, operator if sign > 0 else MIRRORED[operator], moved, predicate)


def _is_known(part: Expression, variable: str, bound: Iterable[str]) -> bool:
    return all(isinstance(term, Point) and is_point(term, variable, bound, True) for term in terms(part))


def is_point(other: Point, variable: str, bound: Iterable[str], first: bool) -> bool:
    """Whether ``other`` denotes a single, known event."""
    if other.variable == variable:
        return not first and isinstance(other, ElementOf) and other.place == "previous"
    return other.variable in bound and not (isinstance(other, ElementOf) and other.place in ("each", "previous"))
