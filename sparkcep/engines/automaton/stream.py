"""Automata on a stream: the batch engine over the rows whose windows are open.

What a run does at an event depends on no later event, so a match is known when its last event is final. With arcs ON WINDOW END in the graph, all
matches of a first event are known when its window has closed. In a turn the runs are made again over the rows that are kept, and matches that an
earlier turn has emitted are left out. Without WITHIN the runs themselves go on (``open_runs``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.automaton import engine
from sparkcep.engines.automaton.codes import NEVER
from sparkcep.engines.automaton.open_runs import START, resume
from sparkcep.engines.automaton.structures import Found
from sparkcep.engines.event_pattern.events import ceilings_of
from sparkcep.engines.kept_rows import places, rows_by_place
from sparkcep.engines.turn import Answer, Decide, Turn, partitions
from sparkcep.engines.within import times
from sparkcep.errors import CepInternalError
from sparkcep.spec.automaton import AutomatonSpec
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
        return partial(_decide_open, OpenClause(engine.compile(clause), spec))
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
    """A clause without WITHIN. ``spec``: names the columns by which rows become final and are told apart."""

    automaton: engine.AutomatonEngine
    spec: StreamSpec


def _decide_open(clause: OpenClause, turn: Turn) -> Answer:
    rows = turn.rows
    old = rows.column(clause.spec.time).to_numpy() < turn.since
    if old.all():
        return Answer((), old, turn.begin, turn.numbers, None, carried=turn.carried)
    number, _ = partitions(rows.column(clause.spec.masks[0]).to_numpy())
    identity = rows.column(clause.spec.identity).to_numpy()
    row = np.argsort(old, kind="stable")  # the new ones, then those that were kept
    count = int(np.count_nonzero(~old))
    runs, goes_on = turn.carried, np.zeros(0, np.int64)
    if runs is not None:
        start = rows_by_place(identity, old)[runs[START].to_numpy()]
        goes_on = _first_rows(number[row[:count]], number[start])
        place = np.empty(len(row), np.int64)
        place[row] = np.arange(len(row))
        runs = runs.set_column(runs.schema.get_field_index(START), START, pa.array(place[start]))
    new = _as_partitions(clause.spec, rows.take(pa.array(row[:count])), number[row[:count]])
    answer = resume(clause.automaton, new, rows.take(pa.array(row[count:])), runs, goes_on)
    start = row[answer.runs[START].to_numpy()]
    keep = np.zeros(len(old), np.bool_)
    keep[start] = True
    named = pa.array(places(identity, keep)[start])
    left = answer.runs.set_column(answer.runs.schema.get_field_index(START), START, named)
    return Answer(answer.found, keep, turn.begin, turn.numbers, None, carried=left if left.num_rows else None)


def _first_rows(new: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first of the ``new`` rows of each partition ``wanted``; NEVER: it has none. ``new`` [rows]: their partitions, ascending."""
    at = np.searchsorted(new, wanted)
    return np.where(np.append(new, -1)[at] == wanted, at, NEVER)


def _as_partitions(spec: StreamSpec, rows: pa.Table, number: NDArray[np.int64]) -> pa.Table:
    """``rows`` with bit 0 of the first mask where the partition's ``number`` changes."""
    name = spec.masks[0]
    mask = rows.column(name).to_numpy() & ~np.int64(1) | (np.diff(number, prepend=-1) != 0)
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(mask))


def _decided(
    clause: Clause, turn: Turn, time: NDArray[np.int64], deadline: NDArray[np.int64], found: Found
) -> NDArray[np.bool_]:
    """Which matches are known now and were not in the turn before."""
    if clause.waits:
        ends = deadline[found.start]
        return (ends > turn.since) & (ends <= turn.until)
    new: NDArray[np.bool_] = time[found.end] >= turn.since
    return new
