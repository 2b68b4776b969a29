"""Pairs of a partial match and an event it may take, while they are being filtered.

In: chunks of an expansion. Out: the extended partial matches. The caller chooses the filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import InputBuffer
from sparkcep.engines.event_pattern.candidates.equality import holds
from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.engines.event_pattern.values.closures import Closures, Column, Frame, lacks, rows_of
from sparkcep.engines.event_pattern.values.predicates import Condition, evaluate, evaluate_all
from sparkcep.engines.event_pattern.values.values import Payload


@dataclass(frozen=True, slots=True)
class Ranges:
    """Buffer slots ``[begin, end)`` per partial match; ``high``: the exclusive upper bound of the candidates that may be taken."""

    begin: IntArray
    end: IntArray
    high: IntArray


@dataclass(slots=True)
class Pairs:
    """A chunk being filtered: columns of partial matches are gathered only when a filter needs them, and at the end. ``kleene``: the event is
    appended to the partial match's closure of ``variable``, if it has one."""

    parents_frame: Frame
    variable: str
    taken: IntArray
    parents: IntArray
    kleene: bool = False

    def column(self, name: str) -> Column:
        """The extended partial matches' column."""
        if name != self.variable:
            return self.parents_frame[name][self.parents]
        if not self.kleene:
            return self.taken
        shorter = self.parents_frame.get(name)
        return Closures(self.taken, shorter, self.parents) if isinstance(shorter, Closures) else Closures(self.taken)

    def only(self, names: Iterable[str]) -> Frame:
        """Some columns."""
        return {name: self.column(name) for name in dict.fromkeys(names)}

    def keep(self, mask: BoolArray) -> None:
        """Drop the other pairs."""
        if not mask.all():
            self.taken, self.parents = self.taken[mask], self.parents[mask]

    def frame(self) -> Frame:
        """The extended partial matches; hidden columns stay last."""
        names = [name for name in self.parents_frame if not name.startswith("<")]
        hidden = [name for name in self.parents_frame if name.startswith("<")]
        return self.only((*names, self.variable, *hidden))


def apart(pairs: Pairs, others: Sequence[str]) -> None:
    """Drop the pairs whose event another variable has taken: an event fills at most one."""
    for name in others:
        pairs.keep(lacks(pairs.column(name), pairs.taken))


def equal(pairs: Pairs, buffer: InputBuffer, budget: Budget) -> None:
    """Keep the pairs that satisfy the equalities that the buffer was not searched by."""
    for part in buffer.compared:
        budget.counters.predicates += len(pairs.taken)
        pairs.keep(holds(part, pairs.taken, rows_of(pairs.parents_frame, part.term)[pairs.parents]))


def satisfied(pairs: Pairs, conditions: Sequence[Condition], payload: Payload, budget: Budget) -> bool:
    """Keep the pairs that satisfy the conditions or whose value is an error; returns whether any is an error.

    A condition over the elements of the growing closure is evaluated on the new element only: earlier elements have passed.
    """
    suspect = False
    for wanted in conditions:
        budget.counters.predicates += len(pairs.taken)
        ask = evaluate if wanted.walked == pairs.variable else evaluate_all
        outcome = ask(wanted, payload, pairs.only(term.variable for term in wanted.columns))
        suspect |= outcome.faults is not None
        tried = len(pairs.taken)
        pairs.keep(outcome.holds if outcome.faults is None else outcome.holds | (outcome.faults != 0))
        budget.count("predicate", wanted.predicate.text, tried, len(pairs.taken))
    return suspect
