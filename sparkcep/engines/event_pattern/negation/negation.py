"""Negation by Post-Processing (paper, section 4.4.1): which complete combinations a negated event refutes.

In: complete combinations of positive events of a branch. Out: those for which all negations of at least one
alternative hold.

A negated event is searched for; a negated group (SEQ, AND, closure) is matched by a chain of its own that starts from the match.

The interval of a negated event is a range of candidates, exclusive at both ends in ORDER BY order: after the latest event that precedes it, before
the earliest one that follows it; at an open end WITHIN bounds it, from ``match_end - W`` or up to ``match_start + W``. Events that the match itself
took do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import Buffers
from sparkcep.engines.event_pattern.candidates.differences import search
from sparkcep.engines.event_pattern.candidates.ranges import Finder
from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray, Window
from sparkcep.engines.event_pattern.planner.branches import Branch, extremes
from sparkcep.engines.event_pattern.planner.comparisons import comparison_of, differences_of
from sparkcep.engines.event_pattern.planner.plan import NegatedEvent
from sparkcep.engines.event_pattern.planner.states import ascending
from sparkcep.engines.event_pattern.planner.states import chain as chain_of
from sparkcep.engines.event_pattern.search.chain import Chain, extensions, raise_faults
from sparkcep.engines.event_pattern.search.chain import prepare as prepare_chain
from sparkcep.engines.event_pattern.search.growth import HIGH, LOW
from sparkcep.engines.event_pattern.values.closures import Frame, earliest, gathered, lacks, latest, length
from sparkcep.engines.event_pattern.values.predicates import Condition, conditions, evaluate_all, fault_error
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.expression import variables

ORIGIN = "<origin>"
"""Column of a frame: the index of the match being refuted."""


GROUP_SHIFT = 6
"""Group negations process matches in sets of ``chunk >> GROUP_SHIFT``."""


FIRST_LOOK, LOOKS = 1 << 4, 1 << 2
"""The number of events tried first in each match's range, and the factor by which it grows."""


@dataclass(frozen=True, slots=True)
class Absence:
    """One negation over one table. ``own``: positive variables whose own event could be found in the interval.

    ``size``: the number of candidate events. ``finder``: finds them; ``group``: instead, the chain of a negated group; ``inside``: what may not occur
    between the events of that group.
    ``needs``: the positive variables it depends on; None where it depends on the whole match.
    """

    variable: str
    after: tuple[str, ...]
    before: tuple[str, ...]
    own: tuple[str, ...]
    size: int
    finder: Finder
    conditions: tuple[Condition, ...]
    group: Chain | None
    inside: Negations | None
    needs: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Negations:
    """The alternatives of a branch; the first/last event of a match is one of those of ``earliest``/``latest``."""

    events: Events
    payload: Payload
    earliest: tuple[str, ...]
    latest: tuple[str, ...]
    alternatives: tuple[tuple[Absence, ...], ...]


def prepare(
    branch: Branch,
    alternatives: Sequence[Sequence[NegatedEvent]],
    indexes: Mapping[str, int],
    buffers: Buffers,
) -> Negations:
    """Fill the input buffers of the negated events, the rarest first: a cheap refutation saves the more expensive ones.

    (The paper takes the most frequent first, which refutes more at once; here a search costs the same either way, and an empty buffer costs nothing.)
    """
    absences = [
        tuple(sorted((_absence(negated, branch, indexes, buffers) for negated in part), key=_size))
        for part in alternatives
    ]
    return Negations(buffers.events, buffers.payload, *extremes(branch.variables, branch.precedes), tuple(absences))


def unrefuted(negations: Negations, frame: Frame, budget: Budget) -> Frame:
    """The matches of ``frame`` that are not refuted. Raises CepDataError, CepLimitError."""
    if negations.alternatives == ((),):
        return frame
    stands = np.zeros(length(frame), dtype=np.bool_)
    for absences in negations.alternatives:
        open_cases = np.flatnonzero(~stands)
        for absence in absences:
            part = gathered(frame, open_cases)
            tried = len(open_cases)
            open_cases = open_cases[~refuted(negations, absence, part, budget)]
            budget.count("predicate", f"NOT {absence.variable}", tried, len(open_cases))
        stands[open_cases] = True
    return gathered(frame, stands)


def _size(absence: Absence) -> int:
    return absence.size


def _absence(negated: NegatedEvent, branch: Branch, indexes: Mapping[str, int], buffers: Buffers) -> Absence:
    negation = negated.negation
    index = indexes[negation.variable]
    buffer = buffers.fill(index, negated.equalities)
    group = _group(negated, indexes, buffers)
    own = _own(negated, indexes, buffers.events)
    compared = [comparison_of(p, negation.variable, branch.variables) for p in negated.filters]
    found = search(
        negation.variable,
        [part for part in compared if part is not None],
        [part for p in negated.filters for part in differences_of(p, negation.variable, branch.variables)],
        buffer,
        buffers.payload,
    )
    wanted = conditions([p for p in negated.filters if p not in found.decided], buffers.payload)
    return Absence(
        negation.variable,
        after=extremes(negation.before, branch.precedes)[1],
        before=extremes(negation.after, branch.precedes)[0],
        own=own,
        size=len(buffer.rows) if group is None else min(len(step.buffer.rows) for step in group.steps),
        finder=Finder(buffer, found.intervals),
        conditions=wanted,
        group=group,
        inside=_inside(negated, indexes, buffers),
        needs=_needs(negated, branch, own, wanted),
    )


def _needs(
    negated: NegatedEvent, branch: Branch, own: tuple[str, ...], conditions: tuple[Condition, ...]
) -> frozenset[str] | None:
    """The variables needed to decide. An open end depends on the whole match; so does a predicate that may raise an error, since a match that fails
    anyway must not raise it."""
    negation = negated.negation
    if negated.group is not None or not (negation.before and negation.after):
        return None
    if any(wanted.fault is not None for wanted in conditions):
        return None
    ends = {*extremes(negation.before, branch.precedes)[1], *extremes(negation.after, branch.precedes)[0]}
    seen = {name for predicate in negated.filters for name in variables(predicate.condition)}
    equal = {term.variable for _, term in negated.equalities}
    return frozenset(ends | equal | set(own) | (seen - {negation.variable}))


def _own(negated: NegatedEvent, indexes: Mapping[str, int], events: Events) -> tuple[str, ...]:
    """The positive variables that may hold an event that the negated item could take too."""
    names = (negated.negation.variable,) if negated.group is None else negated.group.branch.variables
    taken = np.any([events.taken_by(indexes[name]) for name in names], axis=0)
    return tuple(name for name in negated.unordered if (taken & events.taken_by(indexes[name])).any())


def _group(negated: NegatedEvent, indexes: Mapping[str, int], buffers: Buffers) -> Chain | None:
    """The chain of a negated SEQ, AND or closure: it starts from the match and stays within the interval."""
    if negated.group is None:
        return None
    plan = negated.group
    counts = {name: int(buffers.events.taken_by(indexes[name]).sum()) for name in plan.branch.variables}
    given = (*negated.negation.before, *negated.negation.after, *negated.unordered)
    states = chain_of(plan, ascending(plan, counts), given)
    return prepare_chain(plan.branch, states, indexes, buffers, _own(negated, indexes, buffers.events))


def _inside(negated: NegatedEvent, indexes: Mapping[str, int], buffers: Buffers) -> Negations | None:
    if negated.group is None or negated.group.alternatives == ((),):
        return None
    return prepare(negated.group.branch, negated.group.alternatives, indexes, buffers)


def refuted(negations: Negations, absence: Absence, frame: Frame, budget: Budget) -> BoolArray:
    """Which (complete or sufficiently bound partial) matches have a match of the negated item in their interval."""
    count = length(frame)
    if not count or not absence.size:
        return np.zeros(count, dtype=np.bool_)
    low, high = _interval(negations, absence, frame)
    if absence.group is not None:
        return _refuted_by_group(negations, absence, absence.group, frame, (low, high), budget)
    begin, end = absence.finder.buffer.ranges(low, np.maximum(low, high), frame)
    if not _needs_pairs(negations, absence):
        return begin < end
    return _refuted_by_event(negations, absence, frame, (begin, end), budget)


def _refuted_by_event(
    negations: Negations, absence: Absence, frame: Frame, slots: tuple[IntArray, IntArray], budget: Budget
) -> BoolArray:
    """Which matches have a refuting event in their ranges: one is enough. A few events of each range are tried first, then more for the matches still
    undecided, so that few are tried where many would refute. (If a value may be an error, all are tried at once, so that the outcome does not depend
    on the order.)
    """
    begin, end = slots
    found = np.zeros(length(frame), dtype=np.bool_)
    may_fail = any(wanted.fault is not None for wanted in absence.conditions)
    open_cases, looked_at = np.flatnonzero(begin < end), int((end - begin).max()) if may_fail else FIRST_LOOK
    while len(open_cases):
        stop = np.minimum(begin[open_cases] + looked_at, end[open_cases])
        part = gathered(frame, open_cases)
        for expansion in absence.finder.pairs(begin[open_cases], stop, part, budget):
            budget.spend(len(expansion.rows), (*frame, f"NOT {absence.variable}"))
            counts = _counts(negations, absence, part, expansion.parents, expansion.rows)
            budget.counters.predicates += len(absence.conditions) * len(expansion.rows)
            found[open_cases[expansion.parents[counts]]] = True
        begin[open_cases] = stop
        open_cases, looked_at = open_cases[~found[open_cases] & (stop < end[open_cases])], looked_at * LOOKS
    return found


def _refuted_by_group(
    negations: Negations,
    absence: Absence,
    group: Chain,
    frame: Frame,
    interval: tuple[IntArray, IntArray],
    budget: Budget,
) -> BoolArray:
    """Which matches have a match of the group in their interval: one is enough. A few matches at a time: once all of them are refuted, their
    remaining groups are not enumerated.
    """
    low, high = interval
    refuted = np.zeros(length(frame), dtype=np.bool_)
    open_cases = np.flatnonzero(low < high)
    for start in range(0, len(open_cases), max(budget.chunk >> GROUP_SHIFT, 1)):
        cases = open_cases[start : start + max(budget.chunk >> GROUP_SHIFT, 1)]
        seed = {**gathered(frame, cases), LOW: low[cases], HIGH: high[cases], ORIGIN: cases}
        for found, suspect in extensions(group, seed, budget):
            inside = _stays(negations, absence, group, found)
            if suspect:
                raise_faults(group, gathered(found, inside))
            found = gathered(found, inside)
            if absence.inside is not None:
                found = unrefuted(absence.inside, found, budget)
            origins = found[ORIGIN]
            assert isinstance(origins, np.ndarray)
            refuted[origins] = True
            if refuted[cases].all():
                break
    return refuted


def _stays(negations: Negations, absence: Absence, group: Chain, found: Frame) -> BoolArray:
    """Which groups stay in the interval: each event is compared where WITHIN bounds the interval and the window's ranges are not exact."""
    inside = np.ones(length(found), dtype=np.bool_)
    if _is_loose(negations, absence):
        for step in group.steps:
            name = (step.state.variable,)
            inside &= _reaches(negations, absence, found, earliest(found, name))
            inside &= _reaches(negations, absence, found, latest(found, name))
    return inside


def _interval(negations: Negations, absence: Absence, frame: Frame) -> tuple[IntArray, IntArray]:
    """Candidates ``[low, high)`` between the two ends.

    ``match_end - W < e.time`` is ``match_end.time < e.deadline``; ``e.time < match_start + W`` is
    ``e.time < match_start.deadline``: the window's ranges (see ``events.Window``).
    """
    events = negations.events
    if absence.after:
        low = events.tie_end[latest(frame, absence.after)]
    else:
        low = _window(events).begin[latest(frame, negations.latest)]
    if absence.before:
        high = events.tie_start[earliest(frame, absence.before)]
    else:
        high = _window(events).end[earliest(frame, negations.earliest)]
    return low, high


def _window(events: Events) -> Window:
    assert events.window is not None, "support.check refuses an open end without WITHIN"
    return events.window


def _needs_pairs(negations: Negations, absence: Absence) -> bool:
    """Whether an event in the range may turn out not to refute."""
    return bool(absence.conditions or absence.own or absence.finder.intervals or _is_loose(negations, absence))


def _is_loose(negations: Negations, absence: Absence) -> bool:
    """Whether WITHIN bounds the interval, and the window's ranges are not exact."""
    window = negations.events.window
    return not (absence.after and absence.before) and window is not None and not window.exact


def _reaches(negations: Negations, absence: Absence, rows: Frame, found: IntArray) -> BoolArray:
    """Compare the open ends: ``match_end - W < e.time`` and ``e.time < match_start + W``."""
    window = _window(negations.events)
    within = np.ones(len(found), dtype=np.bool_)
    if not absence.after:
        within &= window.time[latest(rows, negations.latest)] < window.deadline[found]
    if not absence.before:
        within &= window.time[found] < window.deadline[earliest(rows, negations.earliest)]
    return within


def _counts(negations: Negations, absence: Absence, frame: Frame, parents: IntArray, found: IntArray) -> BoolArray:
    """Which pairs of a match and an event in its interval are refutations. Raises CepDataError if a predicate is an error on a pair that satisfies
    all other predicates.
    """
    rows = gathered(frame, parents)
    counts = np.ones(len(found), dtype=np.bool_)
    for name in absence.own:
        counts &= lacks(rows[name], found)
    if _is_loose(negations, absence):
        counts &= _reaches(negations, absence, rows, found)
    rows[absence.variable] = found
    return _satisfied(absence, negations.payload, rows, counts)


def _satisfied(absence: Absence, payload: Payload, rows: Frame, counts: BoolArray) -> BoolArray:
    faulty: list[tuple[Condition, IntArray]] = []
    for wanted in absence.conditions:
        outcome = evaluate_all(wanted, payload, rows)
        if outcome.faults is None:
            counts &= outcome.holds
        else:
            counts &= outcome.holds | (outcome.faults != 0)
            faulty.append((wanted, outcome.faults))
    for wanted, faults in faulty:
        left = faults[counts & (faults != 0)]
        if len(left):
            raise fault_error(wanted, int(left[0]))
    return counts
