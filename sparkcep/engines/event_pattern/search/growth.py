"""Growing closures: all sets of events that a Kleene variable takes (paper, section 4.5: iterate edges).

In: the first events of closures, as pairs with partial matches. Out: partial matches with closures of every admitted size, in bounded sets.
``planner.states`` decides when each condition is evaluated.

Closures grow in order, one event at a time, all closures of one size together. A chunk is grown to the end before the next is made, so memory is
bounded by sizes times chunk size; chunks shrink as sizes grow (see ``budget``). A closure that fails a condition on its elements is pruned with
everything that would grow from it: the condition must hold for every element, so it fails for every longer closure too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import Buffers, InputBuffer, expansions
from sparkcep.engines.event_pattern.candidates.pairs import Pairs, apart, equal, satisfied
from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray
from sparkcep.engines.event_pattern.planner.states import Growth, State
from sparkcep.engines.event_pattern.values.closures import Closures, Frame, gathered, length
from sparkcep.engines.event_pattern.values.monotone import Signs, doom
from sparkcep.engines.event_pattern.values.predicates import Condition, condition, conditions, evaluate, evaluate_all
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import walked

CEILING = "<ceiling>"
"""Column of a frame: the exclusive upper bound of candidates that may enter the closure."""

LOW, HIGH = "<low>", "<high>"
"""Columns of a frame that bound the candidates of its partial matches, instead of partition and window."""

Found = tuple[Frame, bool]
"""Partial matches, and whether a predicate's value was an error on one of them."""


@dataclass(frozen=True, slots=True)
class Grower:
    """A state's growth over one table. ``dooms``: conditions that rule out every closure grown from the one where they hold."""

    variable: str
    low: int
    high: int | None
    buffer: InputBuffer
    each: tuple[Condition, ...]
    finished: tuple[Condition, ...]
    dooms: tuple[Condition, ...]


def grower(state: State, index: int, buffers: Buffers) -> Grower | None:
    """None for a single event. ``index``: the variable's position in the spec."""
    if state.growth is None:
        return None
    growth, payload = state.growth, buffers.payload
    buffer = buffers.fill(index, growth.equalities, state.same)
    signs = Signs(state.variable, payload, buffers.events.taken_by(index))
    return Grower(
        state.variable,
        growth.low,
        growth.high,
        buffer,
        conditions(growth.each, payload),
        conditions(growth.finished, payload),
        _dooms(growth, signs, payload),
    )


def _dooms(growth: Growth, signs: Signs, payload: Payload) -> tuple[Condition, ...]:
    whole = [predicate for predicate in growth.finished if not walked(predicate.condition)]
    found = ((predicate, doom(predicate.condition, signs)) for predicate in whole)
    return tuple(condition(Predicate(sign, p.text), payload) for p, sign in found if sign is not None)


def closures(
    events: Events,
    payload: Payload,
    grower: Grower,
    others: Sequence[str],
    first: Iterable[tuple[Pairs, bool]],
    high: IntArray,
    budget: Budget,
) -> Iterator[Found]:
    """Partial matches with closures of ``grower.low`` to ``grower.high`` events.

    ``first``: pairs with the closures' first events; ``high``: per partial match the exclusive upper bound of candidates.
    """
    stack = [_begun(events, first, high)]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        frame, suspect = found
        size = len(stack)
        budget.counters.created[grower.variable] += length(frame)
        if size >= grower.low:
            yield _finished(grower, payload, frame, suspect, budget)
        alive = gathered(frame, ~_doomed(grower, payload, frame)) if grower.dooms else frame
        if (grower.high is None or size < grower.high) and length(alive):
            stack.append(_grown(events, payload, grower, others, alive, suspect, budget))


def _begun(events: Events, first: Iterable[tuple[Pairs, bool]], high: IntArray) -> Iterator[Found]:
    """Closures of one event, each with the upper bound of what may follow: also the end of the window that this event opens, if it is the earliest of
    the match (an event of a negated group does not belong to the match)."""
    ends = events.partition_end if events.window is None else events.window.end
    for pairs, suspect in first:
        ceiling = high[pairs.parents]
        if LOW not in pairs.parents_frame:
            ceiling = np.minimum(ceiling, ends[pairs.taken])
        frame = pairs.frame()
        if len(ceiling):
            yield {**frame, CEILING: ceiling}, suspect


def _grown(
    events: Events,
    payload: Payload,
    grower: Grower,
    others: Sequence[str],
    frame: Frame,
    suspect: bool,
    budget: Budget,
) -> Iterator[Found]:
    """The closures of ``frame`` with one more event."""
    shorter, ceiling = frame[grower.variable], frame[CEILING]
    assert isinstance(shorter, Closures) and isinstance(ceiling, np.ndarray)
    low = events.tie_end[shorter.last]
    begin, end = grower.buffer.ranges(low, np.maximum(low, ceiling), frame)
    size = shorter.size + 1
    for expansion in expansions(grower.buffer, begin, end, budget.chunk_of(size)):
        budget.spend_on_closures(len(expansion.rows), grower.variable, size)
        budget.count("state", f"{grower.variable}[i]", len(expansion.rows), 0)
        pairs = Pairs(frame, grower.variable, expansion.rows, expansion.parents, kleene=True)
        apart(pairs, others)
        equal(pairs, grower.buffer, budget)
        faulty = satisfied(pairs, grower.each, payload, budget)
        budget.count("state", f"{grower.variable}[i]", 0, len(pairs.taken))
        if len(pairs.taken):
            yield pairs.frame(), suspect or faulty


def _finished(grower: Grower, payload: Payload, frame: Frame, suspect: bool, budget: Budget) -> Found:
    """The closures that may end here; those with an error are kept until everything else is decided."""
    frame = {name: column for name, column in frame.items() if name != CEILING}
    for wanted in grower.finished:
        budget.counters.predicates += length(frame)
        outcome = evaluate_all(wanted, payload, frame)
        suspect |= outcome.faults is not None
        kept = outcome.holds if outcome.faults is None else outcome.holds | (outcome.faults != 0)
        budget.count("predicate", wanted.predicate.text, len(kept), int(kept.sum()))
        frame = gathered(frame, kept)
    return frame, suspect


def _doomed(grower: Grower, payload: Payload, frame: Frame) -> BoolArray:
    doomed = np.zeros(length(frame), dtype=np.bool_)
    for wanted in grower.dooms:
        outcome = evaluate(wanted, payload, frame)
        doomed |= outcome.holds if outcome.faults is None else outcome.holds & (outcome.faults == 0)
    return doomed
