"""MATCH PATTERNS → one clause over all variables, to bind what its patterns share: types, WHERE, MEASURES.

In: the clause. Out: the clause with one pattern that contains every variable once; its matches are never computed.
"""

from __future__ import annotations

from dataclasses import replace

from rewrites.dialect.clause import MatchPatternClause, Name
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern.event import Element, EventPattern, Not, Or, Seq, elements

PATTERN = "pattern"
"""The result column that names the pattern."""


def joined(clause: MatchPatternClause) -> MatchPatternClause:
    """``clause`` with one pattern. Raises CepAnalysisError with spans."""
    for measure in clause.measures:
        _check_name(measure.name)
    for item in clause.partition_by:
        if item.name is not None:
            _check_name(item.name)
    taken: dict[str, Element] = {}
    negated: set[str] = set()
    for _, tree, span in clause.patterns:
        below = {element.variable for element in elements(tree, negated=True)}
        for element in elements(tree):
            other = taken.setdefault(element.variable.lower(), element)
            _check_same(element, other, element.span or span)
            if len({element.variable in below, other.variable in negated}) > 1 and other is not element:
                raise _conflict(element, element.span or span, "negated in one pattern and not in another")
        negated |= below
    first, _, span = clause.patterns[0]
    place = (first.span if first else span).to(clause.patterns[-1][2])
    return replace(clause, patterns=((None, _union(taken, negated), place),))


def _union(taken: dict[str, Element], negated: set[str]) -> EventPattern:
    positive = [element for element in taken.values() if element.variable not in negated]
    absent = tuple(Not(element) for element in taken.values() if element.variable in negated)
    union = positive[0] if len(positive) == 1 else Or(tuple(positive))
    return Seq((union, *absent)) if absent else union


def _check_same(element: Element, other: Element, span: Span) -> None:
    if element.variable != other.variable:
        raise _conflict(element, span, f"written {other.variable} elsewhere")
    if set(element.types) != set(other.types):
        raise _conflict(element, span, "of another type in another pattern")
    if element.kleene != other.kleene:
        raise _conflict(element, span, "a closure in one pattern and a single event in another")


def _check_name(name: Name) -> None:
    if name.value.lower() == PATTERN:
        raise CepAnalysisError(
            "the result column pattern names the pattern",
            code="DUPLICATE_NAME",
            span=name.span,
            hint="give this column another name",
        )


def _conflict(element: Element, span: Span, reason: str) -> CepAnalysisError:
    return CepAnalysisError(
        f"the variable {element.variable} is {reason}",
        code="DUPLICATE_VARIABLE",
        span=span,
        hint="patterns share variables of equal name: rename it if it is meant to be another one",
    )
