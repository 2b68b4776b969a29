"""The chain: partial matches taken through the states of one branch, a set at a time (paper, sections 3 and 4).

In: the states of a branch and the events. Out: complete combinations of positive events, in bounded sets, computed lazily. Not here: negation, output
columns, and the growth of closures (``growth``).

A set of partial matches is a ``Frame``: one column of candidate numbers or closures per bound variable. Taking the next
variable finds, for each partial match, the range of its input buffer that order, window and equality admit, expands those ranges in chunks, and
filters each chunk by the predicates that have become decidable. Chunks are processed depth first, so memory is bounded by states times chunk size
whatever the number of matches, and a consumer that stops early stops the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import Buffers, InputBuffer, KeyedBuffer
from sparkcep.engines.event_pattern.candidates.differences import search
from sparkcep.engines.event_pattern.candidates.pairs import Pairs, Ranges, apart, satisfied
from sparkcep.engines.event_pattern.candidates.ranges import Finder
from sparkcep.engines.event_pattern.events import Events, IntArray
from sparkcep.engines.event_pattern.planner.branches import Branch, extremes
from sparkcep.engines.event_pattern.planner.states import Fence, State
from sparkcep.engines.event_pattern.search.growth import HIGH, LOW, Grower, closures, grower
from sparkcep.engines.event_pattern.values.closures import Frame, earliest, gathered, latest, length
from sparkcep.engines.event_pattern.values.predicates import Condition, conditions, evaluate_all, fault_error
from sparkcep.engines.event_pattern.values.values import Payload

Rest = Callable[[Frame, Budget], Iterator[tuple[Frame, bool]]]
"""Takes partial matches through the states that follow."""

Refute = Callable[[Frame, str, Budget, Rest], Frame]
"""Drops partial matches that a negation refutes: see ``first_chance``."""


@dataclass(frozen=True, slots=True)
class Step:
    """A state over one table: its input buffer, the finder of pairs in it, its other conditions, its fences with the buffers of their negated events,
    and for a Kleene variable the grower of its closures.
    ``searched``: the predicates that the finder decides or narrows.
    ``others``: bound variables that may have taken the same event."""

    state: State
    buffer: InputBuffer
    finder: Finder
    searched: tuple[str, ...]
    conditions: tuple[Condition, ...]
    fences: tuple[tuple[Fence, InputBuffer], ...]
    others: tuple[str, ...]
    grower: Grower | None


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps of a branch over one table. ``earliest``/``latest``: the variables that may hold a match's first and last event. ``refute``: called
    with each set of partial matches."""

    events: Events
    payload: Payload
    steps: tuple[Step, ...]
    earliest: tuple[str, ...]
    latest: tuple[str, ...]
    refute: Refute | None = None


def prepare(
    branch: Branch,
    states: Sequence[State],
    indexes: Mapping[str, int],
    buffers: Buffers,
    given: Sequence[str] = (),
) -> Chain:
    """Fill the input buffers. ``indexes``: the position of each variable in the spec (its mask bit). ``given``:
    variables bound before, whose events may not be taken again."""
    steps = tuple(prepared_step(state, indexes, buffers, given) for state in states)
    return Chain(buffers.events, buffers.payload, steps, *extremes(branch.variables, branch.precedes))


def combinations(chain: Chain, budget: Budget) -> Iterator[Frame]:
    """All combinations of positive events, ordered by (the candidate taken at the first state, at the second, …).

    Raises CepDataError if a predicate is an error on a combination that is admitted otherwise, CepLimitError.
    """
    for frame, suspect in extensions(chain, {}, budget):
        yield completed(chain, frame, suspect, budget)


def extensions(
    chain: Chain, frame: Frame, budget: Budget, position: int = 0, suspect: bool = False
) -> Iterator[tuple[Frame, bool]]:
    """``frame`` extended through the states from ``position`` on, and whether a predicate's value was an error."""
    if not length(frame):
        return
    if position == len(chain.steps):
        yield frame, suspect
        return
    step = chain.steps[position]
    for extended, faulty in taken(chain, step, frame, admitted(chain.events, step, frame), budget):
        if chain.refute is not None:
            rest = partial(_rest, replace(chain, refute=None), position + 1)
            extended = chain.refute(extended, step.state.variable, budget, rest)
        budget.counters.hold(length(extended))
        yield from extensions(chain, extended, budget, position + 1, suspect or faulty)
        budget.counters.hold(-length(extended))


def _rest(chain: Chain, position: int, frame: Frame, budget: Budget) -> Iterator[tuple[Frame, bool]]:
    return extensions(chain, frame, budget, position)


def raise_faults(chain: Chain, frame: Frame) -> None:
    """Raise the CepDataError of the first condition whose value is an error on one of these matches."""
    if not length(frame):
        return
    for step in chain.steps:
        finished = () if step.grower is None else (*step.grower.each, *step.grower.finished)
        for wanted in (*step.conditions, *finished):
            faults = evaluate_all(wanted, chain.payload, frame).faults
            if faults is not None:
                raise fault_error(wanted, int(faults[faults != 0][0]))


def completed(chain: Chain, frame: Frame, suspect: bool, budget: Budget) -> Frame:
    """The complete combinations of ``frame`` that are matches. Raises CepDataError if ``suspect`` (a value may be an error) is confirmed."""
    kept = _within(chain, frame)
    if chain.events.window is not None and not chain.events.window.exact:
        budget.count("predicate", "WITHIN, first to last", length(frame), length(kept))
    if suspect:
        raise_faults(chain, kept)
    return kept


def taken(chain: Chain, step: Step, frame: Frame, ranges: Ranges, budget: Budget) -> Iterator[tuple[Frame, bool]]:
    """``frame`` with the variable of ``step`` bound to the events that ``ranges`` admit; and whether a value was an error."""
    if budget.counts is not None:
        _count_admitted(chain.events, step, frame, ranges, budget)
    first = _first_events(chain, step, frame, ranges, budget)
    if step.grower is None:
        for pairs, suspect in first:
            budget.counters.created[step.state.variable] += len(pairs.taken)
            yield pairs.frame(), suspect
    else:
        yield from closures(chain.events, chain.payload, step.grower, step.others, first, ranges.high, budget)


def _first_events(
    chain: Chain, step: Step, frame: Frame, ranges: Ranges, budget: Budget
) -> Iterator[tuple[Pairs, bool]]:
    """Pairs of a partial match and an event that satisfy what is decidable now; and whether a value was an error. A pair with an error is kept:
    another predicate may exclude it at a later state, and only a pair that is admitted otherwise may fail the query.
    """
    variable, found = step.state.variable, 0
    if budget.counts is not None and step.finder.intervals:
        budget.count("predicate", _comparisons(step), int(np.maximum(ranges.end - ranges.begin, 0).sum()), 0)
    for expansion in step.finder.pairs(ranges.begin, ranges.end, frame, budget):
        budget.spend(len(expansion.rows), (*_named(frame), variable))
        pairs = Pairs(frame, variable, expansion.rows, expansion.parents, step.grower is not None)
        if not frame and chain.events.window is not None:
            # A single event always fits the window, unless WITHIN is zero or negative.
            pairs.keep(chain.events.window.end[pairs.taken] > pairs.taken)
        found += len(expansion.rows)
        apart(pairs, step.others)
        if step.others:
            budget.count("predicate", f"{variable}: an event of its own", len(expansion.rows), len(pairs.taken))
        suspect = satisfied(pairs, step.conditions, chain.payload, budget)
        budget.count("state", _state_name(frame, variable), 0, len(pairs.taken))
        yield pairs, suspect
    if budget.counts is not None and step.finder.intervals:
        budget.count("predicate", _comparisons(step), 0, found)


def _named(frame: Frame) -> list[str]:
    return [name for name in frame if not name.startswith("<")]


def _state_name(frame: Frame, variable: str) -> str:
    return ", ".join([*_named(frame), variable])


def _comparisons(step: Step) -> str:
    """The name under which EXPLAIN ANALYZE counts the predicates that the finder decides together."""
    return " AND ".join(
        [*dict.fromkeys(step.searched), *(f"{step.state.variable}: equality" for _ in step.buffer.compared[:1])]
    )


def _count_admitted(events: Events, step: Step, frame: Frame, ranges: Ranges, budget: Budget) -> None:
    """Count the pairs of a partial match and an event of its partition, and how many pass order, window, negation and equality."""
    variable, rows = step.state.variable, np.sort(step.buffer.rows)

    def between(low: IntArray, high: IntArray) -> int:
        return int(np.maximum(np.searchsorted(rows, high) - np.searchsorted(rows, low), 0).sum())

    low, high = _partition(events, frame)
    left = between(low, high)
    budget.count("state", _state_name(frame, variable), left, 0)
    reached = _reach(events, step.state, frame)
    ordered = _ordered(events, step.state, frame, low, high)
    inside = np.maximum(ordered[0], reached[0]), np.minimum(ordered[1], reached[1])
    fenced = inside
    for fence, negated in step.fences:
        fenced = _fenced(events, fence, negated, frame, *fenced)
    found = int(np.maximum(ranges.end - ranges.begin, 0).sum())
    for name, applies, stayed in (
        ("order", bool(step.state.after or step.state.before), between(*ordered)),
        ("WITHIN", bool(frame) and events.window is not None, between(*inside)),
        ("nothing negated between", bool(step.fences), between(*fenced)),
        ("equality", isinstance(step.buffer, KeyedBuffer), found),
    ):
        if applies:
            budget.count("predicate", f"{variable}: {name}", left, stayed)
            left = stayed


def admitted(events: Events, step: Step, frame: Frame, block: tuple[int, int] | None = None) -> Ranges:
    """Buffer slots that order, window and equality admit, per partial match; ``block``: only within these candidates.

    The window: the new event must not lie past the end of the earliest bound event's window, nor before the first event
    whose window still holds the latest bound event. Ends of windows do not fall with time, so every complete match
    passes this at every state, and a combination that passed it at each state spans less than the window.
    """
    low, high = _ordered(events, step.state, frame, *_reach(events, step.state, frame))
    if block is not None:
        low, high = np.maximum(low, block[0]), np.minimum(high, block[1])
    ceiling = high
    for fence, negated in step.fences:
        low, high = _fenced(events, fence, negated, frame, low, high)
    return Ranges(*step.buffer.ranges(low, np.maximum(low, high), frame), ceiling)


def _ordered(events: Events, state: State, frame: Frame, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """``low`` and ``high`` narrowed to the candidates that follow and precede the bound events named by the state."""
    if state.after:
        low = np.maximum(low, events.tie_end[latest(frame, state.after)])
    if state.before:
        high = np.minimum(high, events.tie_start[earliest(frame, state.before)])
    return low, high


def _reach(events: Events, state: State, frame: Frame) -> tuple[IntArray, IntArray]:
    if LOW in frame:
        low, high = frame[LOW], frame[HIGH]
        assert isinstance(low, np.ndarray) and isinstance(high, np.ndarray)
        return low, high
    if frame and events.window is not None:
        begin = events.window.begin[latest(frame, state.latest)]
        return begin, events.window.end[earliest(frame, state.earliest)]
    return _partition(events, frame)


def _partition(events: Events, frame: Frame) -> tuple[IntArray, IntArray]:
    """The candidates of each partial match's partition; without one, all of them."""
    if not frame:
        return np.zeros(1, dtype=np.int64), np.full(1, len(events), dtype=np.int64)
    some = earliest(frame, tuple(frame)[:1])
    return events.partition_start[some], events.partition_end[some]


def _fenced(
    events: Events, fence: Fence, negated: InputBuffer, frame: Frame, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """``low`` and ``high`` narrowed to where no negated event lies between the new event and the bound endpoints.

    An event concurrent with the nearest negated one is admitted: neither precedes the other.
    """
    if not len(negated.rows):
        return low, high
    some = earliest(frame, tuple(frame)[:1])
    if fence.after:
        begin, end = negated.ranges(events.tie_end[latest(frame, fence.after)], events.partition_end[some], frame)
        nearest = negated.rows[np.minimum(begin, len(negated.rows) - 1)]
        return low, np.where(begin < end, np.minimum(high, events.tie_end[nearest]), high)
    begin, end = negated.ranges(events.partition_start[some], events.tie_start[earliest(frame, fence.before)], frame)
    nearest = negated.rows[end - 1]
    return np.where(begin < end, np.maximum(low, events.tie_start[nearest]), low), high


def _within(chain: Chain, frame: Frame) -> Frame:
    """The matches inside the window: needed where deadlines are not monotone, so that pruning lets too many through."""
    window = chain.events.window
    if window is None or window.exact:
        return frame
    kept = window.time[latest(frame, chain.latest)] < window.deadline[earliest(frame, chain.earliest)]
    return gathered(frame, kept)


def prepared_step(state: State, indexes: Mapping[str, int], buffers: Buffers, given: Sequence[str] = ()) -> Step:
    """A state over the buffers of a table."""
    index = indexes[state.variable]
    # Only the fences before a closure apply to its first event; those after it concern its last event.
    usable = [fence for fence in state.fences if state.growth is None or fence.after]
    fences = [(fence, buffers.fill(indexes[fence.negated], fence.equalities)) for fence in usable]
    buffer = buffers.fill(index, state.equalities, state.same)
    found = search(state.variable, state.comparisons, state.differences, buffer, buffers.payload)
    asked = (*state.filters, *(comparison.predicate for comparison in state.comparisons))
    return Step(
        state,
        buffer,
        Finder(buffer, found.intervals),
        (*(part.text for part in found.decided), *(f"{part.text}, widened" for part in found.widened)),
        conditions([part for part in asked if part not in found.decided], buffers.payload),
        # If an equality is not part of the buffer search, an event found need not be a negated one.
        tuple((fence, negated) for fence, negated in fences if not negated.compared),
        (*given, *state.unordered),
        grower(state, index, buffers),
    )
