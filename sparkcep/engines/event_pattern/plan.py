"""The plan of a clause and, once the frequencies are known, its chain of states.

In: an ``EventPatternSpec``. Out: a ``Plan``, fixed for the whole task (``plan``), and per table, from the counts of
its events, the ``State``s of each branch in ascending frequency (``chain``): what to bind, which bound events it must
follow and precede (paper, section 4.1: prec and succ), which equalities its input buffer is searched by, which
predicates become decidable. No data and no array is looked at here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkcep.engines.event_pattern.branches import Branch, Negation, branches, extremes
from sparkcep.engines.event_pattern.support import check
from sparkcep.spec.event import EventPatternSpec, Predicate
from sparkcep.spec.expression import Call, ColumnOf, variables

Equality = tuple[str, ColumnOf]
"""A column of the event to find, and the value of a bound event that it must equal."""


@dataclass(frozen=True, slots=True)
class NegatedEvent:
    """One negation with the predicates its events must satisfy to count."""

    negation: Negation
    equalities: tuple[Equality, ...]
    filters: tuple[Predicate, ...]
    unordered: tuple[str, ...]
    """Positive variables whose own event could lie in the interval: it does not count as the negated one."""


@dataclass(frozen=True, slots=True)
class BranchPlan:
    """A branch with its predicates sorted by use.

    ``classes``: terms of positive variables that equality conjuncts make equal (closed transitively). ``filters``:
    the other conjuncts over positive variables. ``alternatives``: as in ``Branch``.
    """

    branch: Branch
    classes: tuple[tuple[ColumnOf, ...], ...]
    filters: tuple[Predicate, ...]
    alternatives: tuple[tuple[NegatedEvent, ...], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled clause. Immutable; holds no data."""

    spec: EventPatternSpec
    branches: tuple[BranchPlan, ...]


@dataclass(frozen=True, slots=True)
class Fence:
    """A negation that narrows where its one endpoint still to be bound can lie.

    At or before the first ``negated`` event after the latest of ``after``, or at or after the last one before the
    earliest of ``before``; one of both is empty.
    """

    negated: str
    after: tuple[str, ...]
    before: tuple[str, ...]
    equalities: tuple[Equality, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Taking ``variable`` when the variables of the states before it are bound.

    ``after``/``before``: bound variables it must follow/precede, only the latest/earliest of them that can matter.
    ``unordered``: bound variables in no order to it. ``earliest``/``latest``: bound variables among which the first
    and last event of the partial match are found.
    """

    variable: str
    after: tuple[str, ...]
    before: tuple[str, ...]
    unordered: tuple[str, ...]
    earliest: tuple[str, ...]
    latest: tuple[str, ...]
    equalities: tuple[Equality, ...]
    filters: tuple[Predicate, ...]
    fences: tuple[Fence, ...]


def plan(spec: EventPatternSpec) -> Plan:
    """Compile ``spec``. Raises what ``support.check`` raises."""
    check(
        spec.pattern,
        strategy=spec.strategy,
        matches=spec.matches,
        within=spec.within,
        predicates=spec.predicates,
    )
    return Plan(spec, tuple(_branch_plan(branch, spec.predicates) for branch in branches(spec.pattern)))


def chain(branch_plan: BranchPlan, counts: Mapping[str, int]) -> tuple[State, ...]:
    """The states in ascending frequency of their variables (paper, section 4); ties keep the pattern's order."""
    order = sorted(branch_plan.branch.variables, key=lambda name: counts[name])
    return tuple(_state(branch_plan, order[:position], name) for position, name in enumerate(order))


def _state(branch_plan: BranchPlan, bound: list[str], variable: str) -> State:
    precedes = branch_plan.branch.precedes
    after = [name for name in bound if (name, variable) in precedes]
    before = [name for name in bound if (variable, name) in precedes]
    earliest, latest = extremes(bound, precedes)
    return State(
        variable,
        after=extremes(after, precedes)[1],
        before=extremes(before, precedes)[0],
        unordered=tuple(name for name in bound if name not in after and name not in before),
        earliest=earliest,
        latest=latest,
        equalities=_equalities(branch_plan.classes, bound, variable),
        filters=_decidable(branch_plan.filters, bound, variable),
        fences=_fences(branch_plan, bound, variable),
    )


def _fences(branch_plan: BranchPlan, bound: list[str], variable: str) -> tuple[Fence, ...]:
    """The negations of which ``variable`` is the last endpoint to be bound, and alone on its side.

    Then where the nearest negated event lies is known before the variable is taken (the paper's First-Chance
    negation, section 4.4.2, checks just after), and a frequent negated event makes the search cheaper instead of the
    result smaller. Only negations whose events are told by equality with bound events alone; each is still proved at
    the end.
    """
    if len(branch_plan.alternatives) > 1:
        return ()
    fences = (_fence(negated, branch_plan, bound, variable) for negated in branch_plan.alternatives[0])
    return tuple(fence for fence in fences if fence is not None)


def _fence(negated: NegatedEvent, branch_plan: BranchPlan, bound: list[str], variable: str) -> Fence | None:
    negation, precedes = negated.negation, branch_plan.branch.precedes
    after, before = extremes(negation.before, precedes)[1], extremes(negation.after, precedes)[0]
    equalities = [_rebound(equality, branch_plan.classes, bound) for equality in negated.equalities]
    if negated.filters or negated.unordered or None in equalities or not (after and before):
        return None
    known = tuple(dict.fromkeys(equality for equality in equalities if equality is not None))
    if before == (variable,) and set(after) <= set(bound):
        return Fence(negation.variable, after, (), known)
    if after == (variable,) and set(before) <= set(bound):
        return Fence(negation.variable, (), before, known)
    return None


def _rebound(equality: Equality, classes: Iterable[tuple[ColumnOf, ...]], bound: list[str]) -> Equality | None:
    """The same equality with a bound event, if the positive events' own equalities allow it."""
    column, term = equality
    same = next((terms for terms in classes if term in terms), (term,))
    known = next((other for other in (term, *same) if other.variable in bound), None)
    return None if known is None else (column, known)


def _equalities(classes: Iterable[tuple[ColumnOf, ...]], bound: list[str], variable: str) -> tuple[Equality, ...]:
    """Each term of ``variable`` with one bound term of its class: the bound ones are equal to each other already."""
    found = []
    for terms in classes:
        known = next((term for term in terms if term.variable in bound), None)
        if known is not None:
            found += [(term.column, known) for term in terms if term.variable == variable]
    return tuple(found)


def _decidable(filters: Iterable[Predicate], bound: list[str], variable: str) -> tuple[Predicate, ...]:
    """The predicates over ``variable`` whose other variables are all bound: they run at the earliest state possible."""
    known = {*bound, variable}
    return tuple(
        predicate
        for predicate in filters
        if variable in variables(predicate.condition) and known.issuperset(variables(predicate.condition))
    )


def _branch_plan(branch: Branch, predicates: tuple[Predicate, ...]) -> BranchPlan:
    positive = [p for p in predicates if set(branch.variables).issuperset(variables(p.condition))]
    equalities = [terms for predicate in positive if (terms := _equated(predicate)) is not None]
    return BranchPlan(
        branch,
        _classes(equalities),
        tuple(predicate for predicate in positive if _equated(predicate) is None),
        tuple(tuple(_negated_event(n, branch, predicates) for n in part) for part in branch.alternatives),
    )


def _negated_event(negation: Negation, branch: Branch, predicates: tuple[Predicate, ...]) -> NegatedEvent:
    """The conjuncts over the negated variable whose other variables this branch binds."""
    known = {*branch.variables, negation.variable}
    own = [
        predicate
        for predicate in predicates
        if negation.variable in variables(predicate.condition) and known.issuperset(variables(predicate.condition))
    ]
    equated = [(predicate, _equality_of(negation.variable, predicate)) for predicate in own]
    ordered = {*negation.before, *negation.after}
    return NegatedEvent(
        negation,
        tuple(equality for _, equality in equated if equality is not None),
        tuple(predicate for predicate, equality in equated if equality is None),
        tuple(name for name in branch.variables if name not in ordered),
    )


def _equality_of(variable: str, predicate: Predicate) -> Equality | None:
    terms = _equated(predicate)
    if terms is None:
        return None
    own, other = terms if terms[0].variable == variable else terms[::-1]
    return own.column, other


def _equated(predicate: Predicate) -> tuple[ColumnOf, ColumnOf] | None:
    """The two sides of ``x.c = y.d`` with different variables."""
    condition = predicate.condition
    if not isinstance(condition, Call) or condition.operator != "eq":
        return None
    left, right = condition.arguments
    if isinstance(left, ColumnOf) and isinstance(right, ColumnOf) and left.variable != right.variable:
        return left, right
    return None


def _classes(pairs: list[tuple[ColumnOf, ColumnOf]]) -> tuple[tuple[ColumnOf, ...], ...]:
    """Connected components. All pairs hold in a match and a NULL holds in none, so equality is transitive here."""
    classes: list[tuple[ColumnOf, ...]] = []
    for pair in pairs:
        touched = [terms for terms in classes if pair[0] in terms or pair[1] in terms]
        merged = tuple(dict.fromkeys(term for terms in (*touched, pair) for term in terms))
        classes = [terms for terms in classes if terms not in touched] + [merged]
    return tuple(classes)
