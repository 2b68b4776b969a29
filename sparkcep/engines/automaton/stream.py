"""Automata on a stream: the batch engine over the rows whose windows are open.

What a run does at an event depends on no later event, so a match is known when its last event is final. With arcs ON WINDOW END in the graph, all
matches of a first event are known when its window has closed. In a turn the runs are made again over the rows that are kept, and matches that an
earlier turn has emitted are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.automaton import engine
from sparkcep.engines.automaton.structures import Found
from sparkcep.engines.event_pattern.events import ceilings_of
from sparkcep.engines.turn import Answer, Decide, Turn, partitions
from sparkcep.engines.within import times
from sparkcep.errors import CepInternalError, CepUnsupportedError
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.stream import StreamSpec


@dataclass(frozen=True, slots=True)
class Clause:
    """A compiled clause. ``waits``: whether matches wait for their windows to close."""

    spec: AutomatonSpec
    automaton: engine.AutomatonEngine
    waits: bool


def compile(spec: StreamSpec) -> Decide:
    """What decides the turns of ``spec``. Raises CepUnsupportedError for runs that never end, and what ``engine.compile`` raises."""
    clause = spec.of
    if not isinstance(clause, AutomatonSpec):
        raise CepInternalError("a clause that is no MATCH AUTOMATON on the engine of automata")
    if clause.within is None:
        raise CepUnsupportedError(
            "MATCH AUTOMATON without WITHIN over a streaming relation: any run may go on for ever",
            code="STREAM",
            hint="Add WITHIN INTERVAL ….",
        )
    waits = any(arc.kind == "window_end" for arc in clause.arcs)
    return partial(_decide, Clause(clause, engine.compile(clause), waits))


def _decide(clause: Clause, turn: Turn) -> Answer:
    assert clause.spec.within is not None
    time, deadline = times(turn.rows, clause.spec.within)
    found = tuple(clause.automaton.chosen(turn.rows, partial(_decided, clause, turn, time, deadline)))
    is_open = deadline > turn.until
    _, start = partitions(turn.rows.column(clause.spec.masks[0]).to_numpy())
    keep = ceilings_of(deadline, start) > turn.until
    due = int(deadline[is_open].min()) if clause.waits and is_open.any() else None
    return Answer(found, keep, turn.begin, turn.numbers, due)


def _decided(
    clause: Clause, turn: Turn, time: NDArray[np.int64], deadline: NDArray[np.int64], found: Found
) -> NDArray[np.bool_]:
    """Which matches are known now and were not in the turn before."""
    if clause.waits:
        ends = deadline[found.start]
        return (ends > turn.since) & (ends <= turn.until)
    new: NDArray[np.bool_] = time[found.end] >= turn.since
    return new
