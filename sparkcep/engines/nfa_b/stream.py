"""NFA^b on a stream: the batch engine over the rows whose windows are open; without WITHIN the runs themselves go on.

Which events a run selects depends on no later event (semantics.md, "Selection strategies"), so a match is known when its last event is final, or,
where a negated event may lie behind it, when the window of its first event has closed; if such matches share a row or exclude each other, when that
of their last event has. In a turn the runs are made again over the rows that are kept, and matches that an earlier turn has emitted are left out.

Without WITHIN a run may stay open for long. It is kept as it stands, with the rows that it has taken, and meets each event once (``_decide_open``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.engine import compressed_tables
from sparkcep.engines.event_pattern.events import TimeArray, ceilings_of
from sparkcep.engines.event_pattern.output.output import Matches, Writer
from sparkcep.engines.event_pattern.output.overlap import non_overlapping
from sparkcep.engines.event_pattern.planner.outlook import looks_ahead, looks_back
from sparkcep.engines.event_pattern.stream import check, check_order
from sparkcep.engines.nfa_b.evaluation import Plan, chooses, found_by, found_in, plan, search
from sparkcep.engines.nfa_b.events import Stream, load, without
from sparkcep.engines.nfa_b.open_runs import NO_RUNS, OpenRuns, as_table, of_table
from sparkcep.engines.nfa_b.search import Resumption
from sparkcep.engines.turn import Answer, Decide, Turn, partitions
from sparkcep.engines.within import times
from sparkcep.errors import CepInternalError, CepUnsupportedError
from sparkcep.spec.event import EventPatternSpec, WithinTime
from sparkcep.spec.row import MASK_BITS
from sparkcep.spec.stream import PLACE, StreamSpec

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Scene:
    """The rows of a turn. ``partition``, ``start`` [rows]: the number of the partition, and its first row; ``taken`` [rows]: whether a variable
    takes the row; ``ceiling`` [rows]: the greatest deadline of such rows up to this one."""

    turn: Turn
    partition: Longs
    start: Longs
    taken: Flags
    time: TimeArray
    deadline: TimeArray
    ceiling: TimeArray


def compile(spec: StreamSpec) -> Decide:
    """What decides the turns of ``spec``. Raises CepUnsupportedError, by name, for clauses whose windows never close, and what ``evaluation.plan``
    raises."""
    clause = spec.of
    if not isinstance(clause, EventPatternSpec):
        raise CepInternalError("a MATCH_RECOGNIZE clause on an event pattern engine")
    if clause.within is None:
        check_order(spec)
        if clause.engine == "backtrack":
            raise CepUnsupportedError(
                "the engine backtrack over a streaming relation without WITHIN: it follows one run at a time to its end",
                code="STREAM",
                hint="Add WITHIN INTERVAL …, or leave the engine to sparkcep (auto, basic).",
            )
        compiled = plan(clause)
        return partial(_decide_open, OpenClause(compiled, spec.identity))
    check(spec, clause)
    compiled = plan(clause)
    branches = [automaton.line.branch for automaton in compiled.automata]
    ahead = any(map(looks_ahead, branches))
    waits = ahead and clause.matches != "all"
    both = waits or any(looks_ahead(branch) and looks_back(branch) for branch in branches)
    return partial(_decide, Compiled(compiled, ahead, waits, both))


@dataclass(frozen=True, slots=True)
class Compiled:
    """A clause. ``ahead``: matches may wait for their windows to close; ``waits``: in order of their ends, because they are compared or share a row;
    ``both``: events that lie before them are to be looked at then, too."""

    plan: Plan
    ahead: bool
    waits: bool
    both: bool


def _decide(clause: Compiled, turn: Turn) -> Answer:
    compiled, ahead = clause.plan, clause.ahead
    spec = compiled.spec
    strict = spec.strategy == "strict_contiguity"
    scene = _scene(spec, replace(turn, rows=_apart(spec, turn.rows)) if strict else turn)
    keep = scene.ceiling > (_border(scene) if clause.both else turn.until)
    matches, begin = list(_decided(clause, scene)), turn.begin
    if spec.matches == "non_overlapping":
        matches, begin = _chosen(compiled, turn, scene.partition, matches)
        if chooses(compiled):  # the search itself leaves out what overlaps, so it must not see what lies before
            keep &= np.arange(len(keep)) >= begin[scene.partition]
    if strict:
        keep = _from_the_first(scene.turn.rows, keep)
    ends = scene.ceiling if clause.waits else scene.deadline
    due = ends[scene.taken & (ends > turn.until)] if ahead else ends[:0]
    return Answer(_written(spec, turn.rows, matches), keep, begin, turn.numbers, int(due.min()) if len(due) else None)


@dataclass(frozen=True, slots=True)
class OpenClause:
    """A clause without WITHIN. ``identity``: the column by which rows are told apart."""

    plan: Plan
    identity: str


def _decide_open(clause: OpenClause, turn: Turn) -> Answer:
    compiled, spec = clause.plan, clause.plan.spec
    strict = spec.strategy == "strict_contiguity"
    rows = _apart(spec, turn.rows) if strict else turn.rows
    old = turn.old
    identity = rows.column(clause.identity).to_numpy()
    partition, start = partitions(rows.column(spec.masks[0]).to_numpy())
    last = rows.column(PLACE).to_numpy() == rows.num_rows - 1 if strict else np.ones(rows.num_rows, np.bool_)
    every = load(rows, spec)
    events = without(every, old)
    before = [NO_RUNS] * len(compiled.automata) if turn.carried is None else of_table(turn.carried, identity, old)
    resumptions = [Resumption(runs, _next_events(runs, partition, start, old)) for runs in before]
    searches = [search(compiled, at, rows, events, before=runs) for at, runs in enumerate(resumptions)]
    matches = [part for at, searched in enumerate(searches) for part in found_in(compiled, at, rows, searched)]
    begin = turn.begin
    if spec.matches == "non_overlapping":
        matches, begin = _chosen(compiled, turn, partition, matches)
    wanted = np.arange(rows.num_rows) >= begin[partition]
    left = [searched.open_runs(wanted, last) for searched in searches]
    keep = _rows_of(left, partition, every, compiled)
    carried = as_table(left, identity, keep)
    return Answer(_written(spec, turn.rows, matches), keep, begin, turn.numbers, None, carried=carried)


def _next_events(runs: OpenRuns, partition: Longs, start: Longs, old: Flags) -> Longs:
    """[runs]: the first row of its partition that is not ``old``, or the number of rows."""
    known = np.bincount(partition, old).astype(np.int64)  # of a partition, they come first
    at = start[runs.last] + known[partition[runs.last]]
    end = np.append(np.flatnonzero(np.diff(partition)) + 1, len(partition))[partition[runs.last]]
    return np.where(at < end, at, len(partition))


def _rows_of(left: list[OpenRuns], partition: Longs, events: Stream, compiled: Plan) -> Flags:
    """The rows that open runs have taken, and those behind the first of these that may refute a match."""
    keep = np.zeros(len(partition), np.bool_)
    for runs in left:
        keep[runs.events] = True
    spec = compiled.spec
    positive = {component.variable for automaton in compiled.automata for component in automaton.components}
    negated = [name for name in spec.variables if name not in positive]
    if negated and keep.any():
        first = np.full(int(partition[-1]) + 1, len(partition))
        rows = np.flatnonzero(keep)
        np.minimum.at(first, partition[rows], rows)
        keep |= events.taken_by(negated) & (np.arange(len(partition)) >= first[partition])
    return keep


def _written(spec: EventPatternSpec, rows: pa.Table, matches: list[Matches]) -> tuple[pa.Table, ...]:
    if spec.matches == "compressed":
        return tuple(compressed_tables(spec, rows, matches))
    return tuple(map(Writer(spec, rows).write, matches))


def _apart(spec: EventPatternSpec, rows: pa.Table) -> pa.Table:
    """``rows`` with the bit of those that do not follow the one before them in the whole input."""
    word, bit = divmod(len(spec.variables) + 1, MASK_BITS)
    apart = np.diff(rows.column(PLACE).to_numpy(), prepend=-2) != 1
    name = spec.masks[word]
    mask = rows.column(name).to_numpy() & ~(1 << bit) | apart.astype(np.int64) << bit
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(mask))


def _from_the_first(rows: pa.Table, keep: Flags) -> Flags:
    """All rows from the first one on that is kept: those between tell whether others are neighbours."""
    place = rows.column(PLACE).to_numpy()
    return place >= place[keep].min() if keep.any() else keep


def _scene(spec: EventPatternSpec, turn: Turn) -> Scene:
    assert isinstance(spec.within, WithinTime)
    time, deadline = times(turn.rows, spec.within)
    flags: list[Longs] = [turn.rows.column(name).to_numpy() for name in spec.masks]
    taken = (flags[0] > 1) | np.logical_or.reduce([word != 0 for word in flags[1:]], axis=0)
    partition, start = partitions(flags[0])
    last = np.maximum.accumulate(np.where(taken, np.arange(len(taken)), -1))
    ceiling = ceilings_of(np.where(last >= start, deadline[last], _NEVER), start)
    return Scene(turn, partition, start, taken, time, deadline, ceiling)


def _decided(clause: Compiled, scene: Scene) -> Iterator[Matches]:
    """The matches that are known now and were not in the turn before."""
    compiled, turn = clause.plan, scene.turn
    events = load(turn.rows, compiled.spec)
    for at, automaton in enumerate(compiled.automata):
        ahead = clause.waits or looks_ahead(automaton.line.branch)
        ends = scene.ceiling if clause.waits else scene.deadline
        known = ends <= turn.until if ahead else np.ones(len(scene.time), np.bool_)
        before = ends <= turn.since if ahead else turn.old
        for part in found_by(compiled, at, turn.rows, events):
            row = part.first if ahead and not clause.waits else part.last
            now = np.flatnonzero(known[row] & ~before[row])
            if len(now):
                yield part.chosen(now)


def _chosen(compiled: Plan, turn: Turn, partition: Longs, matches: list[Matches]) -> tuple[list[Matches], Longs]:
    """Of the ``matches`` those that do not overlap, nor reach into what earlier turns have output; and for each partition the row behind the last.
    ``partition`` [rows]: its number."""
    begin = turn.begin.copy()
    first = begin[partition]
    free: Iterable[Matches] = [part.chosen(np.flatnonzero(part.first >= first[part.first])) for part in matches]
    if not chooses(compiled):
        free = non_overlapping(free, np.arange(len(first)), partition, compiled.spec.variables)
    chosen = [part for part in free if len(part)]
    for part in chosen:
        np.maximum.at(begin, partition[part.last], part.last + 1)
    return chosen, begin


def _border(scene: Scene) -> TimeArray:
    """For each row, the time of the first of its partition whose window is open, or of what is still to come: events that lie before a match which
    waits for its window to close may refute it."""
    border = np.full(len(scene.time), scene.turn.until)
    waiting = np.flatnonzero(scene.taken & (scene.deadline > scene.turn.until))[::-1]
    border[scene.start[waiting]] = scene.time[waiting]  # of several rows the last one named, which is the first
    return border[scene.start]
