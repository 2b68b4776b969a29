"""Automata on a stream: the batch engine over the rows whose windows are open.

What a run does at an event depends on no later event, so a match is known when its last event is final. With arcs ON WINDOW END in the graph, all
matches of a first event are known when its window has closed. In a turn the runs are made again over the rows that are kept, and matches that an
earlier turn has emitted are left out. Without WITHIN rows are kept from the first one on whose run is open: in a state that an arc leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.automaton import engine
from sparkcep.engines.automaton.structures import Found
from sparkcep.engines.event_pattern.events import ceilings_of
from sparkcep.engines.turn import Answer, Decide, Turn, partitions
from sparkcep.engines.within import times
from sparkcep.errors import CepInternalError
from sparkcep.spec.automaton import AutomatonSpec, Output
from sparkcep.spec.event import LastEvent
from sparkcep.spec.stream import StreamSpec


@dataclass(frozen=True, slots=True)
class Clause:
    """A compiled clause. ``waits``: whether matches wait for their windows to close."""

    spec: AutomatonSpec
    automaton: engine.AutomatonEngine
    waits: bool


def compile(spec: StreamSpec) -> Decide:
    """What decides the turns of ``spec``. Raises what ``engine.compile`` raises."""
    clause = spec.of
    if not isinstance(clause, AutomatonSpec):
        raise CepInternalError("a clause that is no MATCH AUTOMATON on the engine of automata")
    if clause.within is None:
        left = tuple(dict.fromkeys(arc.source for arc in clause.arcs))
        begun = replace(clause, finals=left, outputs=(Output("end", LastEvent(spec.time)),))
        return partial(_decide_open, OpenClause(engine.compile(clause), engine.compile(begun), spec))
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


@dataclass(frozen=True, slots=True)
class OpenClause:
    """A clause without WITHIN. ``begun``: the automaton that accepts in every state that an arc leaves, which finds the runs that are open."""

    automaton: engine.AutomatonEngine
    begun: engine.AutomatonEngine
    spec: StreamSpec


def _decide_open(clause: OpenClause, turn: Turn) -> Answer:
    rows = turn.rows
    new = rows.column(clause.spec.time).to_numpy() >= turn.since
    found = tuple(clause.automaton.chosen(rows, lambda found: new[found.end]))
    number, start = partitions(rows.column(clause.spec.masks[0]).to_numpy())
    is_last = np.append(start[1:] != start[:-1], True)
    first = np.full(len(turn.begin), rows.num_rows)

    def noted(found: Found) -> NDArray[np.bool_]:
        began = found.start[is_last[found.end]]
        np.minimum.at(first, number[began], began)
        return np.zeros(len(found.start), np.bool_)

    for _ in clause.begun.chosen(rows, noted):
        pass
    return Answer(found, np.arange(rows.num_rows) >= first[number], turn.begin, turn.numbers, None)


def _decided(
    clause: Clause, turn: Turn, time: NDArray[np.int64], deadline: NDArray[np.int64], found: Found
) -> NDArray[np.bool_]:
    """Which matches are known now and were not in the turn before."""
    if clause.waits:
        ends = deadline[found.start]
        return (ends > turn.since) & (ends <= turn.until)
    new: NDArray[np.bool_] = time[found.end] >= turn.since
    return new
