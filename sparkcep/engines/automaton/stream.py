"""Automata on a stream.

What a run does at an event depends on no later event, so a match is known when its last event is final. With arcs ON WINDOW END in the graph, all
matches of a first event are known when its window has closed: the runs are made again over the rows of windows that are open. Without such arcs the
runs themselves go on (``open_runs``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.automaton import engine
from sparkcep.engines.automaton.codes import NEVER
from sparkcep.engines.automaton.open_runs import START, resume
from sparkcep.engines.automaton.structures import Found
from sparkcep.engines.automaton.versions import merged
from sparkcep.engines.event_pattern.events import ceilings_of
from sparkcep.engines.kept_rows import places, rows_by_place
from sparkcep.engines.turn import Answer, Decide, Turn, partitions, taken
from sparkcep.engines.within import times
from sparkcep.errors import CepInternalError
from sparkcep.spec import from_json
from sparkcep.spec.automaton import AutomatonSpec, waits
from sparkcep.spec.stream import StreamSpec

VERSIONS = 256
"""Versions of a clause, and time lines of versions, that are remembered."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A compiled clause. ``stream``: names the columns by which rows become final and are told apart."""

    spec: AutomatonSpec
    automaton: engine.AutomatonEngine
    stream: StreamSpec


def compile(spec: StreamSpec) -> Decide:
    """What decides the turns of ``spec``. Raises what ``engine.compile`` raises."""
    clause = spec.of
    if not isinstance(clause, AutomatonSpec):
        raise CepInternalError("a clause that is no MATCH AUTOMATON on the engine of automata")
    decide = _decide_windows if waits(clause) else _decide
    if spec.followed is None:
        return partial(decide, Clause(clause, engine.compile(clause), spec))
    changed = lru_cache(maxsize=VERSIONS)(partial(_changed, clause, spec))
    return lambda turn: decide(changed(turn.versions), turn)


def _changed(clause: AutomatonSpec, stream: StreamSpec, versions: tuple[tuple[int, str], ...]) -> Clause:
    """The clause with what its pattern has become."""
    if not versions:
        raise CepInternalError(f"no version of the pattern {stream.followed} has come")
    now = merged(clause, [(since, spec_of(text)) for since, text in versions])
    return Clause(now, engine.compile(now), stream)


@lru_cache(maxsize=VERSIONS)
def spec_of(text: str) -> AutomatonSpec:
    """The spec of a version."""
    found: Any = from_json(text)
    assert isinstance(found, AutomatonSpec)
    return found


def _decide_windows(clause: Clause, turn: Turn) -> Answer:
    """With arcs ON WINDOW END: the matches of the windows that have closed."""
    assert clause.spec.within is not None
    _, deadline = times(turn.rows, clause.spec.within)

    now = (deadline > turn.since) & (deadline <= turn.until)

    def closed(found: Found) -> NDArray[np.bool_]:
        return now[found.start]

    found = tuple(clause.automaton.chosen(turn.rows, closed))
    _, start = partitions(turn.rows.column(clause.spec.masks[0]).to_numpy())
    is_open = deadline > turn.until
    due = int(deadline[is_open].min()) if is_open.any() else None
    return Answer(found, ceilings_of(deadline, start) > turn.until, turn.begin, turn.numbers, due)


def _decide(clause: Clause, turn: Turn) -> Answer:
    rows = turn.rows
    old = turn.old
    identity = rows.column(clause.stream.identity).to_numpy()
    runs = turn.carried
    if runs is not None:
        runs = _starting(runs, rows_by_place(identity, old)[runs[START].to_numpy()])
    found: tuple[pa.Table, ...] = ()
    if not old.all():
        found, runs = _resumed(clause, rows, old, runs)
    if runs is not None and clause.spec.within is not None:
        _, deadline = times(rows, clause.spec.within)
        is_open = (deadline > turn.until)[runs[START].to_numpy()]
        runs = runs if is_open.all() else runs.filter(pa.array(is_open))
    keep = np.zeros(len(old), np.bool_)
    if runs is not None and runs.num_rows:
        start = runs[START].to_numpy()
        keep[start] = True
        runs = _starting(runs, places(identity, keep)[start])
    return Answer(found, keep, turn.begin, turn.numbers, None, carried=runs if keep.any() else None)


def _resumed(
    clause: Clause, rows: pa.Table, old: NDArray[np.bool_], runs: pa.Table | None
) -> tuple[tuple[pa.Table, ...], pa.Table]:
    """The matches that end with rows that are not ``old``, and the runs that are open behind these."""
    number, _ = partitions(rows.column(clause.spec.masks[0]).to_numpy())
    row = np.argsort(~old, kind="stable")  # those that were kept, then the new ones
    place = np.empty(len(row), np.int64)
    place[row] = np.arange(len(row))
    kept, number = int(np.count_nonzero(old)), number[row]
    goes_on = np.zeros(0, np.int64)
    if runs is not None:
        start = place[runs[START].to_numpy()]
        goes_on = _first_rows(number, kept, number[start])
        runs = _starting(runs, start)
    answer = resume(
        clause.automaton, _as_partitions(clause.stream, taken(rows, row), number, kept), kept, runs, goes_on
    )
    return answer.found, _starting(answer.runs, row[answer.runs[START].to_numpy()])


def _starting(runs: pa.Table, start: NDArray[np.signedinteger[Any]]) -> pa.Table:
    """The runs with other numbers of their first rows."""
    return runs.set_column(runs.schema.get_field_index(START), START, pa.array(start))


def _first_rows(number: NDArray[np.int64], new: int, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first row from ``new`` on of each partition ``wanted``; NEVER: it has none. ``number`` [rows]: their partitions, ascending from there."""
    at = new + np.searchsorted(number[new:], wanted)
    return np.where(np.append(number, -1)[at] == wanted, at, NEVER)


def _as_partitions(spec: StreamSpec, rows: pa.Table, number: NDArray[np.int64], new: int) -> pa.Table:
    """``rows`` with bit 0 of the first mask where, from ``new`` on, the partition's ``number`` changes."""
    if not new:  # as they came
        return rows
    name = spec.masks[0]
    mask = rows.column(name).to_numpy() & ~np.int64(1)
    mask[new:] |= np.diff(number[new:], prepend=-1) != 0
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(mask))
