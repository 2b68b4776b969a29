"""NFA^b on a stream: the batch engine over the rows whose windows are open.

Which events a run selects depends on no later event (semantics.md, "Selection strategies"), so a match is known when its last event is final, or,
where a negated event may lie behind it, when the window of its first event has closed. In a turn the runs are made again over the rows that are kept,
and matches that an earlier turn has emitted are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.events import TimeArray, ceilings_of
from sparkcep.engines.event_pattern.output.output import Matches, Writer
from sparkcep.engines.event_pattern.output.overlap import non_overlapping
from sparkcep.engines.event_pattern.planner.outlook import looks_ahead, looks_back
from sparkcep.engines.event_pattern.stream import check
from sparkcep.engines.nfa_b.evaluation import Plan, chooses, found_by, plan
from sparkcep.engines.nfa_b.events import load
from sparkcep.engines.turn import Answer, Decide, Turn, partitions
from sparkcep.engines.within import times
from sparkcep.errors import CepInternalError, CepUnsupportedError
from sparkcep.spec.event import EventPatternSpec, WithinTime
from sparkcep.spec.stream import StreamSpec

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
    """What decides the turns of ``spec``. Raises CepUnsupportedError, by name, for clauses whose windows never close, whose events are neighbours
    across partitions, or whose matches exclude each other before they are known, and what ``evaluation.plan`` raises."""
    clause = spec.of
    if not isinstance(clause, EventPatternSpec):
        raise CepInternalError("a MATCH_RECOGNIZE clause on an event pattern engine")
    check(spec, clause)
    compiled = plan(clause)
    ahead = any(looks_ahead(automaton.line.branch) for automaton in compiled.automata)
    for refused, name in (
        (clause.strategy == "strict_contiguity", "STRICT CONTIGUITY"),
        (clause.matches == "compressed", "COMPRESSED MATCHES under this selection strategy"),
        (clause.matches == "non_overlapping" and ahead, "NON OVERLAPPING MATCHES with NOT behind the match"),
    ):
        if refused:
            raise CepUnsupportedError(f"{name} over a streaming relation", code="STREAM")
    branches = [automaton.line.branch for automaton in compiled.automata]
    return partial(_decide, compiled, ahead, any(looks_ahead(branch) and looks_back(branch) for branch in branches))


def _decide(compiled: Plan, ahead: bool, both: bool, turn: Turn) -> Answer:
    """``ahead``: matches may wait for their windows to close; ``both``: for events that lie before them, too, to be looked at then."""
    spec = compiled.spec
    scene = _scene(spec, turn)
    keep = scene.ceiling > (_border(scene) if both else turn.until)
    matches, begin = list(_decided(compiled, scene)), turn.begin
    if spec.matches == "non_overlapping":
        matches, begin = _chosen(compiled, scene, matches)
        if chooses(compiled):  # the search itself leaves out what overlaps, so it must not see what lies before
            keep &= np.arange(len(keep)) >= begin[scene.partition]
    found = tuple(map(Writer(spec, turn.rows).write, matches))
    due = scene.deadline[scene.taken & (scene.deadline > turn.until)] if ahead else scene.deadline[:0]
    return Answer(found, keep, begin, turn.numbers, int(due.min()) if len(due) else None)


def _scene(spec: EventPatternSpec, turn: Turn) -> Scene:
    assert isinstance(spec.within, WithinTime)
    time, deadline = times(turn.rows, spec.within)
    flags: list[Longs] = [turn.rows.column(name).to_numpy() for name in spec.masks]
    taken = (flags[0] > 1) | np.logical_or.reduce([word != 0 for word in flags[1:]], axis=0)
    partition, start = partitions(flags[0])
    return Scene(turn, partition, start, taken, time, deadline, ceilings_of(np.where(taken, deadline, _NEVER), start))


def _decided(compiled: Plan, scene: Scene) -> Iterator[Matches]:
    """The matches that are known now and were not in the turn before."""
    turn = scene.turn
    events = load(turn.rows, compiled.spec)
    for at, automaton in enumerate(compiled.automata):
        ahead = looks_ahead(automaton.line.branch)
        known = scene.deadline <= turn.until if ahead else np.ones(len(scene.time), np.bool_)
        before = scene.deadline <= turn.since if ahead else scene.time < turn.since
        for part in found_by(compiled, at, turn.rows, events):
            row = part.first if ahead else part.last
            now = np.flatnonzero(known[row] & ~before[row])
            if len(now):
                yield part.chosen(now)


def _chosen(compiled: Plan, scene: Scene, matches: list[Matches]) -> tuple[list[Matches], Longs]:
    """Of the ``matches`` those that do not overlap, nor reach into what earlier turns have output; and for each partition the row behind the last."""
    begin = scene.turn.begin.copy()
    first = begin[scene.partition]
    free: Iterable[Matches] = [part.chosen(np.flatnonzero(part.first >= first[part.first])) for part in matches]
    if not chooses(compiled):
        free = non_overlapping(free, np.arange(len(first)), scene.partition, compiled.spec.variables)
    chosen = [part for part in free if len(part)]
    for part in chosen:
        np.maximum.at(begin, scene.partition[part.last], part.last + 1)
    return chosen, begin


def _border(scene: Scene) -> TimeArray:
    """For each row, the time of the first of its partition whose window is open, or of what is still to come: events that lie before a match which
    waits for its window to close may refute it."""
    border = np.full(len(scene.time), scene.turn.until)
    waiting = np.flatnonzero(scene.taken & (scene.deadline > scene.turn.until))[::-1]
    border[scene.start[waiting]] = scene.time[waiting]  # of several rows the last one named, which is the first
    return border[scene.start]
