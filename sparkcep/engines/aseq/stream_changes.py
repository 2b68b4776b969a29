"""EMIT CHANGES over a stream: the aggregates over the matches alive at each event time, once the watermark says that they stay as they are.

The values at a time are known when its events are final; where a negated event may lie behind a match, when a window that begins there has closed. A
row tells what the aggregates were before, so a group in which matches were alive at its last known time keeps the rows of that window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.aseq.changes import run_changes
from sparkcep.engines.aseq.plan import Plan, plan
from sparkcep.engines.aseq.results import nothing
from sparkcep.engines.aseq.stream_rows import Flags, first_of_group, looks_ahead, looks_back, open_rows, taken
from sparkcep.engines.aseq.values import Ints
from sparkcep.engines.turn import Answer, Turn, partitions
from sparkcep.engines.within import times
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, EmitTime, GroupColumn, MatchAggregate
from sparkcep.spec.event import WithinTime
from sparkcep.spec.stream import BEFORE, KNOWN

_GROUP, _DEADLINE = "__cep_group", "__cep_due"
_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Compiled:
    """A clause whose spec also gives the group, the time and the deadline of each row. ``ahead``, ``back``: where negated events may lie."""

    plan: Plan
    ahead: bool
    back: bool

    @property
    def spec(self) -> AggregateSpec:
        """The clause."""
        return self.plan.spec


@dataclass(frozen=True, slots=True)
class Scene:
    """The rows of a turn, group after group, class after class; ``order``: their numbers in the turn. ``group`` [rows]: from 0, ascending.
    ``known``, ``new`` [rows]: whether the aggregates at the row's time are known now, and were not in the turn before."""

    rows: pa.Table
    order: Ints
    group: Ints
    time: Ints
    deadline: Ints
    known: Flags
    new: Flags


def compile(spec: AggregateSpec) -> Compiled:
    """EMIT CHANGES, compiled. Raises what ``plan.plan`` raises."""
    assert spec.emit is not None
    hidden = (
        AggregateOutput(_GROUP, GroupColumn(_GROUP)),
        AggregateOutput(spec.emit, EmitTime(spec.emit)),
        AggregateOutput(_DEADLINE, EmitTime(_DEADLINE)),
    )
    found = plan(replace(spec, outputs=(*spec.outputs, *hidden)))
    sequences = [sequence for _, every in found.patterns for sequence in every]
    return Compiled(found, looks_ahead(sequences), looks_back(sequences))


def decide(compiled: Compiled, turn: Turn) -> Answer:
    """The times at which aggregates changed, that are known now."""
    spec = compiled.spec
    scene = _scene(compiled, turn)
    alive = np.zeros(int(scene.group[-1]) + 1, np.bool_)
    found = []
    for table in run_changes(spec, compiled.plan.patterns, scene.rows):
        group = table.column(_GROUP).to_numpy()
        known, new = _decided(compiled, turn, table)
        last = np.append(group[1:] != group[:-1], True) & known if len(group) else known
        last[:-1] |= known[:-1] & ~known[1:]
        alive[group[last & _something(spec, table)]] = True
        shown = _with_before(spec, table, group)
        found.append(shown.filter(pa.array(new)))
    keep = np.zeros(turn.rows.num_rows, np.bool_)
    keep[scene.order] = _kept(compiled, turn, scene, alive)
    waiting = scene.deadline[~scene.known]
    due = int(waiting.min()) if len(waiting) else None
    return Answer(tuple(part for part in found if part.num_rows), keep, turn.begin, turn.numbers, due)


def _scene(compiled: Compiled, turn: Turn) -> Scene:
    spec, rows = compiled.spec, turn.rows
    assert isinstance(spec.within, WithinTime)
    partition, _ = partitions(rows.column(spec.masks[0]).to_numpy())
    group, order = partition, np.arange(rows.num_rows)
    if spec.classes is not None:
        group = np.unique(first_of_group(rows, spec.partition), return_inverse=True)[1]
        order = np.lexsort((partition, group))
        rows, group, partition = rows.take(pa.array(order)), group[order], partition[order]
        rows = _with_classes(spec, rows, group, partition)
    time, deadline = times(rows, spec.within)
    rows = rows.append_column(_GROUP, pa.array(group)).append_column(_DEADLINE, pa.array(deadline))
    known, new = _when(compiled, turn, time, deadline)
    return Scene(rows, order, group, time, deadline, known, new)


def _with_classes(spec: AggregateSpec, rows: pa.Table, group: Ints, partition: Ints) -> pa.Table:
    """Bit 0 at the first rows of groups only, and the number of the class."""
    name = spec.masks[0]
    starts = np.diff(group, prepend=-1) != 0
    mask = rows.column(name).to_numpy() & ~np.int64(1) | starts
    rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(mask))
    return rows.append_column(str(spec.classes), pa.array(partition))


def _when(compiled: Compiled, turn: Turn, time: Ints, deadline: Ints) -> tuple[Flags, Flags]:
    """Whether the aggregates at these times are known, and were not in the turn before."""
    if compiled.ahead:
        return deadline <= turn.until, (deadline <= turn.until) & (deadline > turn.since)
    return np.ones(len(time), np.bool_), time >= turn.since


def _decided(compiled: Compiled, turn: Turn, table: pa.Table) -> tuple[Flags, Flags]:
    time, deadline = (table.column(name).to_numpy() for name in (str(compiled.spec.emit), _DEADLINE))
    return _when(compiled, turn, time, deadline)


def _something(spec: AggregateSpec, table: pa.Table) -> Flags:
    """Whether the aggregates are not those of no matches."""
    found = np.zeros(table.num_rows, np.bool_)
    for output in spec.outputs:
        if isinstance(output.source, MatchAggregate):
            column = table.column(output.name)
            some = pc.not_equal(column, 0) if output.source.function == "count" else column.is_valid()
            found |= some.to_numpy()
    return found


def _with_before(spec: AggregateSpec, table: pa.Table, group: Ints) -> pa.Table:
    """The outputs of the clause, and the aggregates BEFORE."""
    hidden = (_GROUP, spec.emit, _DEADLINE)
    shown = [output for output in spec.outputs if output.name not in hidden]
    first = np.diff(group, prepend=-1) != 0
    rows = pa.array(np.maximum(np.arange(table.num_rows) - 1, 0))
    columns = {output.name: table.column(output.name) for output in shown} | {
        KNOWN: pa.array(np.ones(table.num_rows, np.bool_))
    }
    for output in shown:
        if isinstance(output.source, MatchAggregate):
            column = table.column(output.name)
            before = pc.if_else(pa.array(first), nothing(output.source, column.type), column.take(rows))
            columns[BEFORE + output.name] = before
    return pa.table(columns)


def _kept(compiled: Compiled, turn: Turn, scene: Scene, alive: Flags) -> Flags:
    """The rows of later times' windows, those whose times wait, and of groups with matches ``alive`` at the last known time a row of that time.

    What stays because it lies before an open window has lost its own past, so that it may look like a match: its group keeps that time's windows.
    """
    groups = len(alive)
    first_waiting = np.full(groups, turn.until)
    np.minimum.at(first_waiting, scene.group[~scene.known], scene.time[~scene.known])
    last_known = np.full(groups, -_LAST)
    np.maximum.at(last_known, scene.group[scene.known], scene.time[scene.known])
    rows = taken(scene.rows, compiled.spec.masks)
    place = scene.time, scene.deadline, scene.group
    if compiled.back:
        alive = alive.copy()
        alive[scene.group[open_rows(rows, *place, first_waiting, back=True) | ~scene.known]] = True
    beyond = np.where(alive, last_known, first_waiting)
    found = open_rows(rows, *place, beyond, back=compiled.back)
    found |= ~scene.known | (alive[scene.group] & (scene.time == last_known[scene.group]))
    return found
