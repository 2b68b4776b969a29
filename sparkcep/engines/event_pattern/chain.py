"""The chain: partial matches taken through the states of one branch, a set at a time (paper, sections 3 and 4).

In: the states of a branch and the events. Out: complete combinations of positive events, in bounded sets, made only
when asked for. Negation and output columns are not done here.

A set of partial matches is a ``Frame``: one array of candidate numbers per bound variable. Taking the next variable
finds, for each partial match, the range of its input buffer that order, window and equality admit, expands those
ranges in chunks, and filters the chunk by the predicates that have become decidable. Chunks are worked off depth
first, so memory is bounded by states times chunk whatever the number of matches, and a consumer that stops early stops
the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sparkcep.engines.event_pattern.branches import Branch, extremes
from sparkcep.engines.event_pattern.buffer import InputBuffer, expansions, fill
from sparkcep.engines.event_pattern.equality import holds
from sparkcep.engines.event_pattern.events import BoolArray, Events, Frame, IntArray
from sparkcep.engines.event_pattern.plan import Fence, State
from sparkcep.engines.event_pattern.predicates import Condition, condition, evaluate, fault_error
from sparkcep.engines.event_pattern.values import Payload
from sparkcep.errors import CepLimitError


@dataclass(slots=True)
class Budget:
    """Partial matches that may still be created, and how many at a time."""

    left: int
    limit: int
    chunk: int

    def spend(self, created: int, bound: Sequence[str]) -> None:
        """Count ``created`` partial matches over ``bound``; raise CepLimitError when the limit is passed."""
        self.left -= created
        if self.left < 0:
            raise CepLimitError(
                f"More than {self.limit} partial matches, the last over {', '.join(bound)}.",
                code="PARTIAL_MATCHES",
                hint="Shorten or add WITHIN, add PARTITION BY, or add a predicate between these variables.",
            )


@dataclass(frozen=True, slots=True)
class Step:
    """A state over one table: its input buffer, its conditions, its fences with the buffers of their negated events."""

    state: State
    buffer: InputBuffer
    conditions: tuple[Condition, ...]
    fences: tuple[tuple[Fence, InputBuffer], ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps of a branch over one table. ``earliest``/``latest``: variables among which a match's first and last
    event are."""

    events: Events
    payload: Payload
    steps: tuple[Step, ...]
    earliest: tuple[str, ...]
    latest: tuple[str, ...]


def prepare(
    branch: Branch, states: Sequence[State], indexes: Mapping[str, int], events: Events, payload: Payload
) -> Chain:
    """Fill the input buffers. ``indexes``: the position of each variable in the spec (its mask bit)."""
    steps = tuple(_step(state, indexes, events, payload) for state in states)
    return Chain(events, payload, steps, *extremes(branch.variables, branch.precedes))


def combinations(chain: Chain, budget: Budget) -> Iterator[Frame]:
    """All combinations of positive events, ordered by (the candidate taken at the first state, at the second, …).

    Raises CepDataError where a predicate's value is an error on a combination that all else admits, CepLimitError.
    """
    first = chain.steps[0]
    rows = first.buffer.rows[_fits_window(chain.events, first.buffer.rows)]
    for start in range(0, len(rows), budget.chunk):
        part = rows[start : start + budget.chunk]
        frame, suspect = _filtered(chain, first, {}, part, np.arange(len(part)))
        budget.spend(len(part), (first.state.variable,))
        yield from _extend(chain, 1, frame, suspect, budget)


def _extend(chain: Chain, position: int, frame: Frame, suspect: bool, budget: Budget) -> Iterator[Frame]:
    if not len(next(iter(frame.values()))):
        return
    if position == len(chain.steps):
        frame = _within(chain, frame)
        if suspect:
            _raise_faults(chain, frame)
        yield frame
        return
    step = chain.steps[position]
    begin, end = _admitted(chain.events, step, frame)
    for expansion in expansions(step.buffer, begin, end, budget.chunk):
        budget.spend(len(expansion.rows), (*frame, step.state.variable))
        extended, faulty = _filtered(chain, step, frame, expansion.rows, expansion.parents)
        yield from _extend(chain, position + 1, extended, suspect or faulty, budget)


def _admitted(events: Events, step: Step, frame: Frame) -> tuple[IntArray, IntArray]:
    """Buffer slots that order, window and equality admit, per partial match.

    The window: the new event must not lie past the end of the earliest bound event's window, nor before the first event
    whose window still holds the latest bound event. Ends of windows do not fall with time, so every complete match
    passes this at every state, and a combination that passed it at each state spans less than the window.
    """
    state = step.state
    some = next(iter(frame.values()))
    low, high = events.partition_start[some], events.partition_end[some]
    if events.window is not None:
        low = events.window.begin[latest(frame, state.latest)]
        high = events.window.end[earliest(frame, state.earliest)]
    if state.after:
        low = np.maximum(low, events.tie_end[latest(frame, state.after)])
    if state.before:
        high = np.minimum(high, events.tie_start[earliest(frame, state.before)])
    for fence, negated in step.fences:
        low, high = _fenced(events, fence, negated, frame, low, high)
    return step.buffer.ranges(low, np.maximum(low, high), frame)


def _fenced(
    events: Events, fence: Fence, negated: InputBuffer, frame: Frame, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """``low`` and ``high`` narrowed to where no negated event lies between the new event and the bound endpoints.

    An event concurrent with the nearest negated one is admitted: neither precedes the other.
    """
    if not len(negated.rows):
        return low, high
    some = next(iter(frame.values()))
    if fence.after:
        begin, end = negated.ranges(events.tie_end[latest(frame, fence.after)], events.partition_end[some], frame)
        nearest = negated.rows[np.minimum(begin, len(negated.rows) - 1)]
        return low, np.where(begin < end, np.minimum(high, events.tie_end[nearest]), high)
    begin, end = negated.ranges(events.partition_start[some], events.tie_start[earliest(frame, fence.before)], frame)
    nearest = negated.rows[end - 1]
    return np.where(begin < end, np.maximum(low, events.tie_start[nearest]), low), high


def earliest(frame: Frame, variables: Sequence[str]) -> IntArray:
    """The first of the candidates that ``variables`` took, per partial match."""
    return reduce(np.minimum, (frame[name] for name in variables))


def latest(frame: Frame, variables: Sequence[str]) -> IntArray:
    """The last of the candidates that ``variables`` took, per partial match."""
    return reduce(np.maximum, (frame[name] for name in variables))


def _filtered(chain: Chain, step: Step, frame: Frame, taken: IntArray, parents: IntArray) -> tuple[Frame, bool]:
    """The extended partial matches that satisfy what is decidable now; and whether a predicate's value was an error.

    A pair with an error is kept: another predicate may exclude it at a later state, and only a pair that all else
    admits may stop the query.
    """
    suspect = False
    pairs = _Pairs(frame, step.state.variable, taken, parents)
    for name in step.state.unordered:
        pairs.keep(pairs.rows(name) != pairs.taken)
    for part in step.buffer.compared:
        pairs.keep(holds(part, pairs.taken, pairs.rows(part.variable)))
    for wanted in step.conditions:
        outcome = evaluate(wanted, chain.payload, pairs.only(term.variable for term in wanted.columns))
        suspect |= outcome.faults is not None
        pairs.keep(outcome.holds if outcome.faults is None else outcome.holds | (outcome.faults != 0))
    return pairs.frame(), suspect


@dataclass(slots=True)
class _Pairs:
    """A chunk under filtering: partial matches' columns are gathered only for a filter that needs them, and at the
    end."""

    parents_frame: Frame
    variable: str
    taken: IntArray
    parents: IntArray

    def rows(self, name: str) -> IntArray:
        return self.taken if name == self.variable else self.parents_frame[name][self.parents]

    def only(self, names: Iterable[str]) -> Frame:
        return {name: self.rows(name) for name in names}

    def keep(self, mask: BoolArray) -> None:
        if not mask.all():
            self.taken, self.parents = self.taken[mask], self.parents[mask]

    def frame(self) -> Frame:
        return {**{name: self.rows(name) for name in self.parents_frame}, self.variable: self.taken}


def _within(chain: Chain, frame: Frame) -> Frame:
    """The matches inside the window where deadlines fall with time, so that pruning let too many through."""
    window = chain.events.window
    if window is None or window.exact:
        return frame
    kept = window.time[latest(frame, chain.latest)] < window.deadline[earliest(frame, chain.earliest)]
    return {name: rows[kept] for name, rows in frame.items()}


def _raise_faults(chain: Chain, frame: Frame) -> None:
    for wanted in (wanted for step in chain.steps for wanted in step.conditions):
        faults = evaluate(wanted, chain.payload, frame).faults
        if faults is not None:
            raise fault_error(wanted.predicate, int(faults[faults != 0][0]))


def _fits_window(events: Events, rows: IntArray) -> BoolArray:
    """Whether a single event spans less than the window: not so where WITHIN is zero or negative."""
    return np.ones(len(rows), dtype=np.bool_) if events.window is None else events.window.end[rows] > rows


def _step(state: State, indexes: Mapping[str, int], events: Events, payload: Payload) -> Step:
    fences = [(fence, fill(events, payload, indexes[fence.negated], fence.equalities)) for fence in state.fences]
    return Step(
        state,
        fill(events, payload, indexes[state.variable], state.equalities),
        tuple(condition(predicate, payload) for predicate in state.filters),
        # With an equality that the buffer is not searched by, a negated event found may be none.
        tuple((fence, negated) for fence, negated in fences if not negated.compared),
    )
