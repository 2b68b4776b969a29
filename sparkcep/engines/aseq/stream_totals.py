"""MEASURES over a stream: the aggregates over the matches that a turn decides.

They are counted alone where one variable decides (its bit stays on the events that do so); otherwise as the difference of two counts, over all rows
and over those of earlier turns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.aseq.engine import AseqEngine
from sparkcep.engines.aseq.events import table_bit
from sparkcep.engines.aseq.plan import Plan
from sparkcep.engines.aseq.plan import plan as plan_of
from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.aseq.stream_rows import Flags, looks_ahead, looks_back, open_rows, taken
from sparkcep.engines.aseq.totals import PLACE, PRESENT, subtracted, with_presence, with_values
from sparkcep.engines.aseq.values import Ints
from sparkcep.engines.turn import Answer, Turn, partitions
from sparkcep.engines.within import times
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.aggregate import AggregateSpec, MatchAggregate
from sparkcep.spec.event import WithinTime


@dataclass(frozen=True, slots=True)
class Compiled:
    """A clause whose spec has two more outputs, PRESENT and PLACE. ``ahead``, ``back``: where negated events may lie. ``deciding``: the variables
    whose events decide the matches; none: they are told apart by a difference. ``positive``: the variables that are not negated."""

    plan: Plan
    ahead: bool
    back: bool
    deciding: frozenset[str]
    positive: frozenset[str]

    @property
    def spec(self) -> AggregateSpec:
        """The clause."""
        return self.plan.spec


@dataclass(frozen=True, slots=True)
class Clock:
    """Times and deadlines of a turn's rows."""

    time: Ints
    deadline: Ints


def compile(plan: Plan) -> Compiled:
    """Raises CepUnsupportedError for MIN and MAX whose matches only a difference tells."""
    sequences = [sequence for _, every in plan.patterns for sequence in every]
    ahead = looks_ahead(sequences)
    deciding = _deciding(sequences, 0 if ahead else -1)
    functions = {one.source.function for one in plan.spec.outputs if isinstance(one.source, MatchAggregate)}
    if ahead and not deciding and functions & {"min", "max"}:
        raise CepUnsupportedError(
            "MIN and MAX over a streaming relation, of a pattern with NOT behind it whose first event is not of one variable",
            code="STREAM",
            hint="aggregate the matches: GROUP BY window(match_end, …) in the sink",
        )
    positive = frozenset(name for sequence in sequences for name in sequence.variables)
    spec = with_presence(plan.spec if deciding else with_values(plan.spec))
    return Compiled(plan_of(spec), ahead, looks_back(sequences), deciding, positive)


def _deciding(sequences: list[Sequence], end: int) -> frozenset[str]:
    """The variables that stand at this end of a sequence, if they stand nowhere else and take one event."""
    names = frozenset(sequence.variables[end] for sequence in sequences)
    places = [(sequence, at) for sequence in sequences for at, name in enumerate(sequence.variables) if name in names]
    alone = all(at == end % len(sequence.variables) and at not in sequence.loops for sequence, at in places)
    return names if alone else frozenset()


def decide(compiled: Compiled, turn: Turn) -> Answer:
    """The aggregates over the matches of this turn."""
    spec = compiled.spec
    assert isinstance(spec.within, WithinTime)
    clock = Clock(*times(turn.rows, spec.within))
    partition, _ = partitions(turn.rows.column(spec.masks[0]).to_numpy())
    found = tuple(part for part in _decided(compiled, turn, clock, partition) if part.num_rows)
    rows = taken(turn.rows, spec.masks)
    beyond = np.broadcast_to(turn.until, len(rows))[np.diff(partition, prepend=-1) != 0]
    keep = open_rows(rows, clock.time, clock.deadline, partition, beyond, back=compiled.back)
    waiting = clock.deadline[rows & (clock.deadline > turn.until)] if compiled.ahead else clock.deadline[:0]
    due = int(waiting.min()) if len(waiting) else None
    return Answer(found, keep, turn.begin, turn.numbers, due)


def _decided(compiled: Compiled, turn: Turn, clock: Clock, partition: Ints) -> Iterable[pa.Table]:
    """For each pattern the aggregates over the matches that this turn decides, by partition."""
    rows = turn.rows.append_column(PLACE, pa.array(partition))
    run = AseqEngine(compiled.plan).run
    if compiled.ahead:
        counted, earlier = clock.deadline > turn.since, clock.deadline > turn.until
    else:
        counted, earlier = np.ones(len(clock.time), np.bool_), turn.old
    if compiled.deciding:
        now = counted & ~earlier
        return _present(run(_restricted(compiled.spec, rows, compiled.deciding, now)))
    counts = list(run(_restricted(compiled.spec, rows, compiled.positive, counted)))
    before = list(run(_restricted(compiled.spec, rows, compiled.positive, earlier)))
    return _present(subtracted(compiled.spec, *pair) for pair in zip(counts, before, strict=True))


def _present(parts: Iterable[pa.Table]) -> Iterable[pa.Table]:
    return (part.filter(pc.greater(part.column(PRESENT), 0)) for part in parts)


def _restricted(spec: AggregateSpec, rows: pa.Table, variables: Iterable[str], allowed: Flags) -> pa.Table:
    """``rows`` in which the ``variables`` take only those ``allowed``."""
    if allowed.all():
        return rows
    bits: dict[int, int] = {}
    for name in variables:
        column, bit = table_bit(spec.variables, name)
        bits[column] = bits.get(column, 0) | 1 << bit
    for column, cleared in bits.items():
        name = spec.masks[column]
        mask = rows.column(name).to_numpy()
        kept = np.where(allowed, mask, mask & ~np.int64(cleared))
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(kept))
    return rows
