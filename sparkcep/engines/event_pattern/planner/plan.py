"""The plan of a clause: its branches, each with its predicates classified by use.

In: an ``EventPatternSpec``. Out: a ``Plan``, fixed for the whole task. The order of evaluation is not chosen here (see ``search.order``): it needs
the frequencies of a table. No data or array is involved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sparkcep.engines.event_pattern.planner.branches import Branch, Negation, branches
from sparkcep.engines.event_pattern.planner.linear import MIRRORED, is_linear
from sparkcep.engines.event_pattern.planner.support import check
from sparkcep.spec.event import EventPatternSpec, Predicate
from sparkcep.spec.expression import Call, ColumnOf, ElementOf, Expression, Operator, terms, variables

Point = ColumnOf | ElementOf
"""A column of one event that the condition names."""

Equality = tuple[str, Point]
"""A column of the event to find, and the value of a bound event that it must equal."""


@dataclass(frozen=True, slots=True)
class NegatedEvent:
    """One negation with the predicates its events must satisfy to count."""

    negation: Negation
    equalities: tuple[Equality, ...]
    filters: tuple[Predicate, ...]
    unordered: tuple[str, ...]
    """Positive variables whose own event could lie in the interval; it does not count as the negated event."""
    group: BranchPlan | None = None
    """The plan of a negated group; its predicates may name positive variables."""


@dataclass(frozen=True, slots=True)
class BranchPlan:
    """A branch with its predicates classified by use.

    ``classes``: terms that equality conjuncts make equal (closed transitively): ``a.x`` of single events, ``b[i].x`` of
    closures, whose elements then all agree. ``filters``: the other conjuncts over positive variables.
    ``alternatives``: as in ``Branch``.
    """

    branch: Branch
    classes: tuple[tuple[Point, ...], ...]
    filters: tuple[Predicate, ...]
    alternatives: tuple[tuple[NegatedEvent, ...], ...] = ((),)


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled clause. Immutable; holds no data."""

    spec: EventPatternSpec
    branches: tuple[BranchPlan, ...]


def plan(spec: EventPatternSpec) -> Plan:
    """Compile ``spec``. Raises what ``support.check`` raises."""
    check(spec.pattern, spec.within, spec.predicates)
    return Plan(spec, tuple(branch_plan(branch, spec.asked(branch.variables)) for branch in branches(spec.pattern)))


def equated(condition: Expression) -> tuple[Point, Point] | None:
    """The two sides of ``x.c = y.d``: columns of two events."""
    if not isinstance(condition, Call) or condition.operator != "eq":
        return None
    left, right = condition.arguments
    if isinstance(left, Point) and isinstance(right, Point) and left != right:
        return left, right
    return None


def compared(condition: Expression) -> tuple[Point, Point, Operator] | None:
    """The two sides of ``x.c < y.d`` (or <=, >, >=): columns of two events."""
    if not isinstance(condition, Call) or condition.operator not in MIRRORED:
        return None
    left, right = condition.arguments
    if isinstance(left, Point) and isinstance(right, Point) and left.variable != right.variable:
        return left, right, condition.operator
    return None


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """``a.x <= b.y AND b.y <= a.z`` (BETWEEN) over single events split into conjuncts, each of its own class; anything else unchanged. (Over the
    elements of a closure, a conjunct without ``i-1`` would be evaluated on one element more.)
    """
    parts = _flattened(predicate.condition)
    if len(parts) == 1 or not all(isinstance(term, ColumnOf) for term in terms(predicate.condition)):
        return (predicate,)
    return tuple(Predicate(part, predicate.text) for part in parts)


def _flattened(condition: Expression) -> list[Expression]:
    if not isinstance(condition, Call) or condition.operator != "and":
        return [condition]
    return [part for argument in condition.arguments for part in _flattened(argument)]


PredicateClass = Literal["row-only", "equality", "range", "general"]


def predicate_class(predicate: Predicate) -> PredicateClass:
    """How a predicate, or the best of its conjuncts, is decided: ``row-only``: a bit that Spark computed; ``equality`` and ``range``: by search in
    the input buffer of the variable bound last (ranges over sorted values where sorting pays; sums and differences if the values of the table can
    neither overflow nor be NaN or infinite, else pair by pair); ``general``: pair by pair."""
    conditions = [part.condition for part in conjuncts(predicate)]
    if len(variables(predicate.condition)) < 2:
        return "row-only"
    if any(equated(condition) is not None for condition in conditions):
        return "equality"
    ranges = any(compared(condition) is not None or is_linear(condition) for condition in conditions)
    return "range" if ranges else "general"


def branch_plan(branch: Branch, predicates: tuple[Predicate, ...]) -> BranchPlan:
    """The branch with the predicates whose variables it binds."""
    known = set(branch.variables)
    positive = [part for p in predicates if known.issuperset(variables(p.condition)) for part in conjuncts(p)]
    classed = [(predicate, _classed(predicate.condition)) for predicate in positive]
    return BranchPlan(
        branch,
        _classes([terms for _, terms in classed if terms is not None]),
        tuple(predicate for predicate, terms in classed if terms is None),
        tuple(tuple(_negated_event(n, branch, predicates) for n in part) for part in branch.alternatives),
    )


def _classed(condition: Expression) -> tuple[Point, Point] | None:
    """The two sides of an equality between two variables that must hold for all their events."""
    terms = equated(condition)
    if terms is None or terms[0].variable == terms[1].variable:
        return None
    return terms if all(isinstance(term, ColumnOf) or term.place == "each" for term in terms) else None


def _negated_event(
    negation: Negation, branch: Branch, predicates: tuple[Predicate, ...], given: tuple[str, ...] = ()
) -> NegatedEvent:
    """The negation with the conjuncts over its variables whose other variables this branch binds or the context has ``given``."""
    own_variables = (negation.variable,) if negation.group is None else negation.group.variables
    bound = (*given, *branch.variables)
    known = {*bound, *own_variables}
    own = [
        predicate
        for predicate in predicates
        if (seen := set(variables(predicate.condition))) & set(own_variables) and seen <= known
    ]
    ordered = {*negation.before, *negation.after}
    unordered = tuple(name for name in bound if name not in ordered)
    if negation.group is not None:
        return NegatedEvent(negation, (), (), unordered, _group_plan(negation.group, own, predicates, bound))
    found = [(predicate, _equality_of(negation.variable, predicate)) for predicate in own]
    return NegatedEvent(
        negation,
        tuple(equality for _, equality in found if equality is not None),
        tuple(predicate for predicate, equality in found if equality is None),
        unordered,
    )


def _group_plan(
    group: Branch, own: list[Predicate], predicates: tuple[Predicate, ...], given: tuple[str, ...]
) -> BranchPlan:
    """A negated group with its ``own`` predicates; ``given``: the variables bound outside it.

    Equalities inside the group form classes; those with positive events do not.

    Two positive events that must equal the same negated event need not equal each other: in a match there is no negated event.
    """
    inside = set(group.variables)
    classed = [(p, _classed(p.condition) if inside.issuperset(variables(p.condition)) else None) for p in own]
    return BranchPlan(
        group,
        _classes([terms for _, terms in classed if terms is not None]),
        tuple(predicate for predicate, terms in classed if terms is None),
        tuple(tuple(_negated_event(n, group, predicates, given) for n in part) for part in group.alternatives),
    )


def _equality_of(variable: str, predicate: Predicate) -> Equality | None:
    """``n.x = a.y`` of a negated event n; the other side must be one event."""
    terms = equated(predicate.condition)
    if terms is None or terms[0].variable == terms[1].variable:
        return None
    own, other = terms if terms[0].variable == variable else terms[::-1]
    return None if isinstance(other, ElementOf) and other.place in ("each", "previous") else (own.column, other)


def _classes(pairs: Iterable[tuple[Point, Point]]) -> tuple[tuple[Point, ...], ...]:
    """Connected components. In a match all pairs hold, and a NULL satisfies none, so equality is transitive here."""
    classes: list[tuple[Point, ...]] = []
    for pair in pairs:
        touched = [terms for terms in classes if pair[0] in terms or pair[1] in terms]
        merged = tuple(dict.fromkeys(term for terms in (*touched, pair) for term in terms))
        classes = [terms for terms in classes if terms not in touched] + [merged]
    return tuple(classes)
