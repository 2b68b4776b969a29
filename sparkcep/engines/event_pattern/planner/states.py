"""The chain of states of one branch, for a given order of its variables.

In: a ``BranchPlan`` and an order. Out: ``State``s: what to bind, which bound events it must follow and precede (paper,
section 4.1: prec and succ), which equalities its input buffer is searched by, which predicates become decidable; for a
Kleene variable also what each further element must satisfy. Any order gives the same matches (paper, Theorem 1). No data or array is involved here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.engines.event_pattern.planner.branches import extremes
from sparkcep.engines.event_pattern.planner.comparisons import (
    Comparison,
    Difference,
    comparison_of,
    differences_of,
    is_point,
)
from sparkcep.engines.event_pattern.planner.plan import BranchPlan, Equality, NegatedEvent, Point, equated
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import AggregateOf, ElementOf, terms, variables, walked


@dataclass(frozen=True, slots=True)
class Fence:
    """A negation that bounds the position of its one endpoint still to be bound. The endpoint lies at or before the first ``negated`` event after the
    latest of ``after``, or at or after the last one before the earliest of ``before``; one of the two is empty.
    """

    negated: str
    after: tuple[str, ...]
    before: tuple[str, ...]
    equalities: tuple[Equality, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """Taking further events into a closure of ``low`` to ``high`` events (paper, section 4.5: the iterate edge).

    ``equalities``: what each further element is searched by. ``each``: predicates that become decidable with every further element and those before
    it. ``finished``: predicates that only the whole closure decides.
    """

    low: int
    high: int | None
    equalities: tuple[Equality, ...]
    each: tuple[Predicate, ...]
    finished: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Taking ``variable`` (of a closure: its first event) when the variables of the states before it are bound.

    ``after``/``before``: bound variables it must follow/precede, without those implied by others. ``unordered``: bound variables not ordered relative
    to it. ``earliest``/``latest``: bound variables among which the first and last event of the partial match are found. ``same``: columns of the
    event itself that must be equal. ``comparisons``: range predicates with bound events; ``filters``: all other predicates; ``differences``: the
    filters that may also be searched by value.
    """

    variable: str
    after: tuple[str, ...]
    before: tuple[str, ...]
    unordered: tuple[str, ...]
    earliest: tuple[str, ...]
    latest: tuple[str, ...]
    equalities: tuple[Equality, ...]
    same: tuple[tuple[str, str], ...]
    filters: tuple[Predicate, ...]
    fences: tuple[Fence, ...]
    growth: Growth | None = None
    comparisons: tuple[Comparison, ...] = ()
    differences: tuple[Difference, ...] = ()


def ascending(branch_plan: BranchPlan, counts: Mapping[str, float]) -> tuple[str, ...]:
    """Variables in ascending frequency (paper, section 4), Kleene variables last (section 4.5); ties keep the
    pattern's order."""
    branch = branch_plan.branch
    return tuple(sorted(branch.variables, key=lambda name: (branch.closure(name) is not None, counts[name])))


def chain(branch_plan: BranchPlan, order: Sequence[str], given: Sequence[str] = ()) -> tuple[State, ...]:
    """The states in the given ``order``. ``given``: variables bound before the first state and not ordered relative to these."""
    return tuple(state(branch_plan, order[:position], name, given) for position, name in enumerate(order))


def state(branch_plan: BranchPlan, bound: Sequence[str], variable: str, given: Sequence[str] = ()) -> State:
    """Taking ``variable`` when ``bound`` are bound."""
    precedes = branch_plan.branch.precedes
    after = [name for name in bound if (name, variable) in precedes]
    before = [name for name in bound if (variable, name) in precedes]
    earliest, latest = extremes(bound, precedes)
    known = (*given, *bound)
    choice = _Choice(branch_plan, known, variable, _decided(branch_plan.filters, {*known, variable}, variable))
    return State(
        variable,
        after=extremes(after, precedes)[1],
        before=extremes(before, precedes)[0],
        unordered=tuple(name for name in bound if name not in after and name not in before),
        earliest=earliest,
        latest=latest,
        equalities=choice.equalities(first=True),
        same=choice.same(),
        filters=choice.filters(),
        fences=_fences(branch_plan, bound, variable),
        growth=choice.growth(),
        comparisons=choice.comparisons(),
        differences=choice.differences(),
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    """Binding ``variable`` next: which conjuncts this decides (``decided``), and how."""

    plan: BranchPlan
    bound: tuple[str, ...]
    variable: str
    decided: tuple[Predicate, ...]

    @property
    def kleene(self) -> bool:
        return self.plan.branch.closure(self.variable) is not None

    def equalities(self, *, first: bool) -> tuple[Equality, ...]:
        """The equalities by which the first (or each further) event is searched. Each term of ``variable`` is paired with one bound term of its
        class: the bound ones are already equal to each other.
        Elements of a closure that no bound term fixes are equal to its first: the group-by-attribute optimisation
        (paper, section 4.5.3).
        """
        known = self.bound if first else (*self.bound, self.variable)
        found: list[Equality] = []
        for class_terms in self.plan.classes:
            term = next((term for name in known for term in class_terms if term.variable == name), None)
            if term is not None:
                found += [(own.column, term) for own in class_terms if own.variable == self.variable]
        searched = (_searched(predicate, self.variable, self.bound, first) for predicate in self.decided)
        found += [equality for equality in searched if equality is not None]
        return tuple(dict.fromkeys(found))

    def same(self) -> tuple[tuple[str, str], ...]:
        """Columns of the event itself that a class makes equal, as adjacent pairs."""
        found: list[tuple[str, str]] = []
        for class_terms in self.plan.classes:
            own = [term.column for term in class_terms if term.variable == self.variable]
            found += list(zip(own, own[1:], strict=False))
        return tuple(found)

    def filters(self) -> tuple[Predicate, ...]:
        """For a closure: the predicates that its first element decides."""
        ranges = {comparison.predicate for comparison in self.comparisons()}
        return tuple(p for p in self.decided if p not in ranges and not self._is_searched(p) and self._at_first(p))

    def comparisons(self) -> tuple[Comparison, ...]:
        """Of a single event."""
        if self.kleene:
            return ()
        found = (comparison_of(predicate, self.variable, self.bound) for predicate in self.decided)
        return tuple(comparison for comparison in found if comparison is not None)

    def differences(self) -> tuple[Difference, ...]:
        """Of a single event."""
        if self.kleene:
            return ()
        return tuple(part for p in self.filters() for part in differences_of(p, self.variable, self.bound))

    def growth(self) -> Growth | None:
        element = self.plan.branch.closure(self.variable)
        if element is None:
            return None
        left = [p for p in self.decided if not self._is_searched(p)]
        each = [p for p in left if self._at_each(p)]
        finished = [p for p in left if not self._at_each(p) and not self._at_first(p)]
        return Growth(element.low, element.high, self.equalities(first=False), tuple(each), tuple(finished))

    def _is_searched(self, predicate: Predicate) -> bool:
        return any(_searched(predicate, self.variable, self.bound, first) is not None for first in (True, False))

    def _at_first(self, predicate: Predicate) -> bool:
        """Decided once the first element is known: there is no i-1 yet, and b[1] never changes."""
        own = [term for term in terms(predicate.condition) if term.variable == self.variable]
        return not self.kleene or all(isinstance(term, ElementOf) and term.place in ("each", "first") for term in own)

    def _at_each(self, predicate: Predicate) -> bool:
        """Decided by each further element: it ranges over the closure and reads nothing after the element."""
        if walked(predicate.condition) != (self.variable,):
            return False
        own = [term for term in terms(predicate.condition) if term.variable == self.variable]
        return all(
            term.prefix if isinstance(term, AggregateOf) else isinstance(term, ElementOf) and term.place != "last"
            for term in own
        )


def _decided(predicates: Iterable[Predicate], known: set[str], variable: str) -> tuple[Predicate, ...]:
    """The predicates over ``variable`` whose other variables are all bound: they run at the earliest state possible."""
    seen = ((predicate, variables(predicate.condition)) for predicate in predicates)
    return tuple(predicate for predicate, names in seen if variable in names and known.issuperset(names))


def _searched(predicate: Predicate, variable: str, bound: Iterable[str], first: bool) -> Equality | None:
    """An equality conjunct as part of the buffer search; None where it must be evaluated.

    ``b[i].x = b[i-1].y`` finds each further element, ``b[1].x = a.y`` the first one.
    """
    sides = equated(predicate.condition)
    if sides is None:
        return None
    for own, other in (sides, sides[::-1]):
        if own.variable == variable and is_point(other, variable, bound, first) and _is_taken(own, first):
            return own.column, other
    return None


def _is_taken(own: Point, first: bool) -> bool:
    """Whether ``own`` is the event to take."""
    if not isinstance(own, ElementOf):
        return first
    return own.place == "each" or (first and own.place == "first")


def _fences(branch_plan: BranchPlan, bound: Sequence[str], variable: str) -> tuple[Fence, ...]:
    """The negations whose last endpoint to be bound is ``variable``, alone on its side. The nearest negated event is then known before the variable
    is bound (the paper's First-Chance negation, section 4.4.2, checks just after), so a frequent negated event narrows the search instead of
    filtering its result. Only for negations whose events are determined by equality with bound events alone; each is still verified at the end.
    """
    if len(branch_plan.alternatives) > 1:
        return ()
    fences = (_fence(negated, branch_plan, bound, variable) for negated in branch_plan.alternatives[0])
    return tuple(fence for fence in fences if fence is not None)


def _fence(negated: NegatedEvent, branch_plan: BranchPlan, bound: Sequence[str], variable: str) -> Fence | None:
    negation, precedes = negated.negation, branch_plan.branch.precedes
    after, before = extremes(negation.before, precedes)[1], extremes(negation.after, precedes)[0]
    equalities = [_rebound(equality, branch_plan.classes, bound) for equality in negated.equalities]
    if negated.group is not None or negated.filters or negated.unordered or None in equalities:
        return None
    if not (after and before):
        return None
    known = tuple(dict.fromkeys(equality for equality in equalities if equality is not None))
    if before == (variable,) and set(after) <= set(bound):
        return Fence(negation.variable, after, (), known)
    if after == (variable,) and set(before) <= set(bound):
        return Fence(negation.variable, (), before, known)
    return None


def _rebound(equality: Equality, classes: Iterable[tuple[Point, ...]], bound: Sequence[str]) -> Equality | None:
    """The same equality with a bound event, if the equalities among positive events imply it."""
    column, term = equality
    same = next((terms for terms in classes if term in terms), (term,))
    known = next((other for other in (term, *same) if other.variable in bound), None)
    return None if known is None else (column, known)
