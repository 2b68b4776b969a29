"""Event patterns under skip till any match, on a stream: the batch engine over the events whose windows are open.

Semi-naive evaluation: a match is found in the turn in which the event that decides it (see ``planner.outlook``) becomes final, because in that turn
the deciding variable takes such events only. Where the event may be that of several variables, there is a run for each: it is the first of them
whose event is such a one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern import engine
from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray, load
from sparkcep.engines.event_pattern.matches import matches
from sparkcep.engines.event_pattern.output.output import Rows, Writer, found, tables
from sparkcep.engines.event_pattern.planner.branches import Branch
from sparkcep.engines.event_pattern.planner.outlook import Outlook, outlooks
from sparkcep.engines.event_pattern.retention import needed
from sparkcep.engines.event_pattern.scene import NOW, OPEN, OVER, Scene, Stage
from sparkcep.engines.event_pattern.values.closures import Frame, earliest, gathered, latest
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.engines.turn import Answer, Decide, Turn, bound_at
from sparkcep.errors import CepInternalError, CepUnsupportedError
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import EventPatternSpec, WithinEvents
from sparkcep.spec.stream import StreamSpec


@dataclass(frozen=True, slots=True)
class Clause:
    """A compiled clause. ``time``: the column by which rows become final."""

    spec: EventPatternSpec
    time: str
    outlooks: tuple[Outlook, ...]


def compile(spec: StreamSpec) -> Decide:
    """What decides the turns of ``spec``. Raises CepUnsupportedError, by name, for clauses whose windows never close, and what ``engine.compile``
    raises."""
    clause = spec.of
    if not isinstance(clause, EventPatternSpec):
        raise CepInternalError("a MATCH_RECOGNIZE clause on an event pattern engine")
    check(spec, clause)
    plan = engine.compile(replace(clause, statistics=())).plan  # the few events that decide go first
    return partial(_decide, Clause(plan.spec, spec.time, outlooks(plan.branches, plan.spec.matches)))


def check(spec: StreamSpec, clause: EventPatternSpec | AggregateSpec) -> None:
    """Raises CepUnsupportedError, by name, where the windows of a clause never close."""
    if clause.within is None:
        raise CepUnsupportedError(
            "MATCH PATTERN without WITHIN over a streaming relation: any event may be part of a later match",
            code="STREAM",
            hint="Add WITHIN INTERVAL …, or set sparkcep.stream.retention.",
        )
    if isinstance(clause.within, WithinEvents):
        raise CepUnsupportedError(
            f"WITHIN {clause.within.count} EVENTS over a streaming relation: no watermark closes such a window",
            code="STREAM",
            hint="Write WITHIN INTERVAL ….",
        )
    check_order(spec)


def check_order(spec: StreamSpec) -> None:
    """Raises CepUnsupportedError where a stream would be read backwards."""
    if spec.order[0].descending:
        raise CepUnsupportedError(
            "a descending ORDER BY over a streaming relation", code="STREAM", hint="Order by the watermarked column."
        )


def _decide(clause: Clause, turn: Turn) -> Answer:
    rows = turn.rows
    events = load(rows, clause.spec.masks, clause.spec.rank, clause.spec.within)
    time = rows.column(clause.time).to_numpy()[events.positions]
    starts = np.flatnonzero(rows.column(clause.spec.masks[0]).to_numpy() & 1)
    index = {name: at for at, name in enumerate(clause.spec.variables)}
    usable = _usable(events, turn.begin, starts, rows.num_rows)
    since, until = bound_at(turn.since, events.positions), bound_at(turn.until, events.positions)
    scene = Scene(turn, turn.old[events.positions], since, until, index, events, time, events.ceilings(), usable)
    written, begin = _written(clause, scene, starts)
    free = scene.usable if begin is turn.begin else _usable(events, begin, starts, rows.num_rows)
    kept = [needed(scene, outlook, free) for outlook in clause.outlooks]
    keep = np.zeros(rows.num_rows, np.bool_)
    keep[events.positions[np.logical_or.reduce(kept)]] = True
    return Answer(written, keep, begin, turn.numbers, _due(clause, scene, kept))


def _usable(events: Events, begin: IntArray, starts: IntArray, count: int) -> BoolArray:
    """The events that do not lie before the row at which the search of their partition begins."""
    usable: BoolArray = events.positions >= np.repeat(begin, np.diff(np.append(starts, count)))[events.positions]
    return usable


def _written(clause: Clause, scene: Scene, starts: IntArray) -> tuple[tuple[pa.Table, ...], IntArray]:
    """The matches that are decided now; and, for each partition, the row from which on later ones may begin."""
    spec, rows, events = clause.spec, scene.turn.rows, scene.events
    frames = _frames(clause, scene, Payload(rows, events.positions), engine.budget(spec))
    if spec.matches == "all":
        return tuple(tables(frames, spec, rows, events.positions)), scene.turn.begin
    parts = found(frames, events.positions, frozenset(spec.variables))
    if spec.matches == "compressed":
        return tuple(engine.compressed_tables(spec, rows, parts)), scene.turn.begin
    chosen = list(engine.chosen(spec, rows, parts))
    begin = scene.turn.begin.copy()
    for part in chosen:
        np.maximum.at(begin, np.searchsorted(starts, part.last, side="right") - 1, _behind(rows, spec, part.last))
    return tuple(map(Writer(spec, rows).write, chosen)), begin


def _behind(rows: pa.Table, spec: EventPatternSpec, last: Rows) -> IntArray:
    """The next row that is later than row ``last`` (a concurrent one is not), or the first of the next partition."""
    new = rows.column(spec.masks[0]).to_numpy() & 1 == 1
    new[1:] |= np.diff(rows.column(spec.rank).to_numpy()) != 0
    later = np.append(np.flatnonzero(new), rows.num_rows)
    return later[np.searchsorted(later, last, side="right")]


def _frames(clause: Clause, scene: Scene, payload: Payload, budget: Budget) -> Iterator[tuple[Frame, Branch]]:
    """The matches that are decided now, each once."""
    for outlook in clause.outlooks:
        stage = scene.stage(outlook)
        if not (stage == NOW).any():
            continue
        of_event = latest if outlook.moment != "first_deadline" else earliest
        for events, names in _runs(scene, outlook, stage):
            for frame in matches(outlook.plan, clause.spec, events, payload, budget):
                decided = stage[of_event(frame, names)] == NOW
                yield (frame if decided.all() else gathered(frame, decided)), outlook.plan.branch


def _runs(scene: Scene, outlook: Outlook, stage: Stage) -> Iterator[tuple[Events, tuple[str, ...]]]:
    """Events to search, and the variables of which the first (or last) event must be one that decides NOW.

    The stages ascend along a partition, but for deadlines that are not monotone (see ``events.Window``): then all is searched.
    """
    branch, index = outlook.plan.branch, scene.index
    first = outlook.moment == "first_deadline"
    assert scene.events.window is not None
    searched = scene.usable
    ascends = not first or scene.events.window.exact
    beyond = stage == (OPEN if first else OVER)
    now = stage == NOW
    if ascends:
        searched = searched & (now | beyond)
    every = scene.events
    if not searched.all():
        for name in branch.variables:
            every = every.restricted(index[name], searched)
    if not ascends:
        yield every, outlook.deciding
        return
    for at, name in enumerate(outlook.deciding):
        deciding = now & every.taken_by(index[name])
        if not deciding.any():
            continue
        events = every
        for earlier in outlook.deciding[:at]:
            events = events.restricted(index[earlier], beyond)
        allowed = deciding if branch.closure(name) is None else _beside(events, deciding)
        yield events.restricted(index[name], allowed), (name,)


def _beside(events: Events, chosen: BoolArray) -> BoolArray:
    """The events of partitions that have a ``chosen`` one."""
    found = np.zeros(len(events), np.bool_)
    found[events.partition_start[chosen]] = True
    return found[events.partition_start]


def _due(clause: Clause, scene: Scene, kept: list[BoolArray]) -> int | None:
    """When the next window closes on which matches wait."""
    found = []
    for outlook, events in zip(clause.outlooks, kept, strict=True):
        if outlook.moment != "end":
            deadline = scene.deadline(outlook)
            waiting = events & (deadline > scene.until) & scene.any_of(outlook.deciding)
            found += [int(deadline[waiting].min())] if waiting.any() else []
    return min(found, default=None)
