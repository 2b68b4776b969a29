"""What the lazy Chain NFA engine supports: the one list of its limits.

In: the parts of an ``EventPatternSpec``. Out: nothing, or the error that names the unsupported feature. Imports
neither numpy nor Polars, so that the driver can check a query before it ships it.
"""

from __future__ import annotations

from itertools import pairwise

from sparkcep.engines.event_pattern.planner.branches import Branch, branches, has_open_ends
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.pattern.event import EventPattern, Not, Or, elements, walk
from sparkcep.spec.event import Predicate, WithinEvents, WithinTime
from sparkcep.spec.expression import AggregateOf, ColumnOf, ElementOf, slow_parts, terms, variables, walked


def check(
    pattern: EventPattern, within: WithinTime | WithinEvents | None = None, predicates: tuple[Predicate, ...] = ()
) -> None:
    """Return if the engines run a clause with these parts, whatever its selection strategy.

    Raises CepUnsupportedError naming the feature that they lack, CepAnalysisError where the clause itself is
    wrong (negation at an open end without WITHIN, a branch without a positive event), CepLimitError for too many
    branches.
    """
    for node in walk(pattern):
        if isinstance(node, Not):
            _check_negation(node)
    for branch in branches(pattern):
        _check_open_ends(pattern, branch, within)
    groups = negated_groups(pattern)
    kleene = {element.variable for element in elements(pattern) if element.kleene}
    for predicate in predicates:
        _check_functions(predicate)
        _check_predicate(predicate, groups)
        _check_closures(predicate, kleene)


def _check_negation(node: Not) -> None:
    if any(isinstance(below, Not) for below in walk(node.item)) and has_open_ends(node.item):
        raise CepUnsupportedError(
            f"NOT first, last or in AND inside NOT: {node}.",
            code="NESTED_NOT",
            span=node.span,
            hint="a NOT inside a NOT must be between two events: NOT SEQ(A a, NOT B b, C c)",
        )


def _check_open_ends(pattern: EventPattern, branch: Branch, within: WithinTime | WithinEvents | None) -> None:
    open_ends = [n.variable for part in branch.alternatives for n in part if not (n.before and n.after)]
    if open_ends and within is None:
        negations = [node for node in walk(pattern) if isinstance(node, Not)]
        named = (node.span for node in negations if open_ends[0] in {one.variable for one in elements(node.item)})
        raise CepAnalysisError(
            f"NOT {open_ends[0]} comes first, last, in AND, or beside what may be absent, where only WITHIN bounds how far it reaches.",
            code="NEGATION_WITHOUT_WITHIN",
            span=next(named, None),
            hint="Add WITHIN.",
        )


def negated_groups(pattern: EventPattern) -> tuple[frozenset[str], ...]:
    """The variables of each negated item, including those of a NOT nested in it; NOT (x OR y) counts as two items."""
    items = [node.item for node in walk(pattern) if isinstance(node, Not)]
    while any(isinstance(item, Or) for item in items):
        items = [part for item in items for part in (item.items if isinstance(item, Or) else (item,))]  # type: ignore[misc]
    return tuple(frozenset(element.variable for element in elements(item)) for item in items)


def _check_predicate(predicate: Predicate, groups: tuple[frozenset[str], ...]) -> None:
    names = variables(predicate.condition)
    touched = sorted((group for group in groups if group.intersection(names)), key=len)
    if not all(inner <= outer for inner, outer in pairwise(touched)):
        below = [name for name in names if any(name in group for group in touched)]
        raise CepUnsupportedError(
            f"A predicate over two negated items ({', '.join(below)}) is not supported: {predicate.text}.",
            code="PREDICATE_OVER_NEGATIONS",
            span=predicate.span,
            hint="Negated events are independent of each other; compare each with positive events.",
        )


def _check_functions(predicate: Predicate) -> None:
    """Check that every function on the slow path is implemented."""
    slow = slow_parts(predicate.condition)
    if slow:
        from sparkcep.engines.functions import check as check_function  # 149 functions, which few clauses need

        for function in slow:
            check_function(function)


def _check_closures(predicate: Predicate, kleene: set[str]) -> None:
    """Check that each closure is addressed by its elements, with a single index i at a time."""
    for term in terms(predicate.condition):
        if isinstance(term, ColumnOf) == (term.variable in kleene):
            raise CepAnalysisError(
                f"{term} in {predicate.text}: "
                + (
                    "b[i] and aggregates require a Kleene variable."
                    if isinstance(term, ElementOf | AggregateOf)
                    else f"{term.variable} is a closure of events."
                ),
                code="KLEENE_REFERENCE",
                span=predicate.span,
                hint=f"Write {term.variable}[i].column, {term.variable}[1], {term.variable}[LAST] or an aggregate of a "
                "Kleene variable; the variable alone of any other.",
            )
    if len(walked(predicate.condition)) > 1:
        names = ", ".join(walked(predicate.condition))
        raise CepUnsupportedError(
            f"A predicate over the elements of two closures ({names}) is not supported: {predicate.text}.",
            code="TWO_CLOSURES",
            span=predicate.span,
            hint="Compare the elements of one closure with the first, the last or an aggregate of the other.",
        )
