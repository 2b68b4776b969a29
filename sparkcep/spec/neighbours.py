"""Conditions between neighbouring events of a closure: the ones that A-Seq counts with.

In: predicates of a MATCH PATTERN clause. Out: comparisons of ``b[i]`` with ``b[i-1]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import Call, ElementOf, Expression

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge")
_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
MAX_COMPARISONS = 62


@dataclass(frozen=True, slots=True)
class Comparison:
    """``variable[i].each operator variable[i-1].previous``."""

    variable: str
    operator: str
    each: str
    previous: str


def comparisons(predicates: tuple[Predicate, ...]) -> tuple[Comparison, ...]:
    """The comparisons that ``predicates`` are. Raises CepUnsupportedError for any other condition."""
    found = []
    for predicate in predicates:
        parts = list(_compared(predicate.condition))
        if None in parts:
            raise CepUnsupportedError(f"{predicate.text} compares events, and A-Seq keeps none", code="ASEQ_PREDICATE")
        found += [part for part in parts if part is not None]
    if len(found) > MAX_COMPARISONS:
        raise CepUnsupportedError(f"more than {MAX_COMPARISONS} comparisons of neighbours", code="ASEQ_PREDICATE")
    return tuple(found)


def _compared(condition: Expression) -> Iterator[Comparison | None]:
    if not isinstance(condition, Call):
        yield None
    elif condition.operator == "and":
        for part in condition.arguments:
            yield from _compared(part)
    else:
        yield _comparison(condition)


def _comparison(condition: Call) -> Comparison | None:
    if condition.operator not in OPERATORS:
        return None
    one, other = condition.arguments
    if not isinstance(one, ElementOf) or not isinstance(other, ElementOf) or one.variable != other.variable:
        return None
    if (one.place, other.place) == ("each", "previous"):
        return Comparison(one.variable, condition.operator, one.column, other.column)
    if (one.place, other.place) == ("previous", "each"):
        return Comparison(one.variable, _FLIPPED[condition.operator], other.column, one.column)
    return None
