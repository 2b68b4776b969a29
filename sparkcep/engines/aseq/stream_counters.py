"""MEASURES without WITHIN over a stream: prefix counters as state, and no event at all (A-Seq section 3.1, Dynamic Prefix Counting).

For each partition and each sequence of the pattern the bucket keeps the numbers of its prefixes that have been matched so far, once for every way of
weighting matches. A turn goes on from them with the new events; what the last counter gains is what the turn has found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.aseq import kernels, semiring
from sparkcep.engines.aseq.engine import aggregates
from sparkcep.engines.aseq.events import Table, read
from sparkcep.engines.aseq.passes import Passes
from sparkcep.engines.aseq.plan import Plan
from sparkcep.engines.aseq.plan import plan as plan_of
from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.aseq.stream_rows import first_of_group
from sparkcep.engines.aseq.totals import PLACE, PRESENT, with_presence
from sparkcep.engines.aseq.values import Ints
from sparkcep.engines.aseq.work import Weighing, Work
from sparkcep.engines.turn import Answer, Turn, partitions
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.aggregate import AggregateSpec, MatchAggregate

COUNTERS = "__cep_counters"
_HINT = "Write WITHIN INTERVAL …, or set sparkcep.stream.retention."


@dataclass(frozen=True, slots=True)
class Compiled:
    """A clause whose spec has two more outputs, PRESENT and PLACE. ``keys``: the columns that tell partitions apart."""

    plan: Plan
    keys: tuple[str, ...]


def compile(plan: Plan, keys: tuple[str, ...]) -> Compiled:
    """Raises CepUnsupportedError, by name, for what counters alone do not tell."""
    sequences = [sequence for _, every in plan.patterns for sequence in every]
    functions = {one.source.function for one in plan.spec.outputs if isinstance(one.source, MatchAggregate)}
    for refused, what in (
        (any(sequence.open_ended for sequence in sequences), "NOT before or behind a match"),
        (bool(functions & {"min", "max"}), "MIN, MAX and expressions that may fail in MEASURES"),
        (bool(plan.spec.neighbours), "MEASURES with conditions between the events of a closure"),
    ):
        if refused:
            raise CepUnsupportedError(f"{what} without WITHIN over a streaming relation", code="STREAM", hint=_HINT)
    return Compiled(plan_of(with_presence(plan.spec)), keys)


def decide(compiled: Compiled, turn: Turn) -> Answer:
    """The aggregates over the matches of this turn; no row is needed any more. It carries the counters."""
    spec, states = compiled.plan.spec, turn.carried
    partition, start = partitions(turn.rows.column(spec.masks[0]).to_numpy())
    rows = turn.rows.append_column(PLACE, pa.array(partition))
    keys = rows.select(list(compiled.keys)).take(pa.array(np.unique(start)))
    work = ResumedWork(read(rows, spec), spec.variables, tuple(every for _, every in compiled.plan.patterns))
    known = _known(keys, states, compiled.keys)
    if states is not None and (known >= 0).any():
        work.resume(_matrix(states), known)
    found = []
    for number, (name, own) in enumerate(compiled.plan.patterns):
        passes = _Passes(work.table, spec.variables, own, work, number)
        for weighing, mode in _ways(spec, passes):
            work.numbers(number, weighing, mode)
        part = aggregates(spec, passes, name)
        found.append(part.filter(pc.greater(part.column(PRESENT), 0)))
    kept = _with(states, keys, known, work.counters())
    nothing = np.zeros(turn.rows.num_rows, np.bool_)
    parts = tuple(part for part in found if part.num_rows)
    return Answer(parts, nothing, turn.begin, turn.numbers, None, carried=kept)


class ResumedWork(Work):
    """``Work`` that counts on from counters [partitions, all] and gives what the last ones gain; a pass per pattern."""

    def __init__(self, table: Table, variables: tuple[str, ...], patterns: tuple[tuple[Sequence, ...], ...]) -> None:
        super().__init__(table, variables, patterns, tuple((number,) for number in range(len(patterns))))
        self._before: tuple[Ints, Ints] | None = None
        self._after: list[Ints] = []
        self._used = 0

    def resume(self, counters: Ints, rows: Ints) -> None:
        """``rows`` [partitions]: where in ``counters`` a partition's are; -1: nowhere, it is new."""
        self._before = counters, rows

    def counters(self) -> Ints:
        """Those of all passes, in the order in which they were made, which is always the same."""
        return np.concatenate(self._after, axis=1)

    def _run(self, group: tuple[int, ...], weighing: Weighing, mode: int) -> NDArray:
        floats = mode == semiring.FLOAT
        out = np.zeros(len(self.table.starts), np.float64 if floats else np.int64)
        for one in self.marked(group[0], weighing.variable):
            coded = self.code(one.sequence)
            states = self._states(len(coded.gaps) + 1, floats=floats)
            before = states[:, -1].copy()
            if len(coded.part):
                weights = self.weights(weighing, mode)[coded.row] if one.position else np.zeros(1, out.dtype)
                rows = coded.code, coded.first, coded.part
                kernels.resumed(mode, *rows, semiring.words(weights), coded.gaps, one.position, semiring.words(states))
            out += states[:, -1] - before
            if not floats:
                out[states[:, -1] == semiring.MAX] = semiring.MAX
            self._after.append(states.view(np.int64))
        return out[np.newaxis]

    def _states(self, width: int, *, floats: bool) -> NDArray:
        """The next ``width`` counters of each partition; those of a new one are of the empty prefix only."""
        kind = np.float64 if floats else np.int64
        states = np.zeros((len(self.table.starts), width), kind)
        states[:, 0] = 1
        if self._before is not None:
            counters, rows = self._before
            known = rows >= 0
            states[known] = np.ascontiguousarray(counters[rows[known], self._used : self._used + width]).view(kind)
        self._used += width
        return states


class _Passes(Passes):
    """Counters that are full stay so: no second count tells the exact number."""

    def exact(self, weighing: Weighing, part: int) -> int | None:
        return None


def _ways(spec: AggregateSpec, passes: Passes) -> Iterator[tuple[Weighing, int]]:
    """Every pass that any turn may need: a counter that is not carried on once is wrong ever after."""
    yield Weighing(), semiring.SATURATING
    for output in spec.outputs:
        source = output.source
        if not isinstance(source, MatchAggregate) or source.column is None:
            continue
        variable, column = source.variable or "", source.column
        yield Weighing("counted", variable, column), semiring.SATURATING
        if source.function == "sum" and passes.column(column).floating:
            yield Weighing("value", variable, column), semiring.FLOAT
        elif source.function == "sum":
            yield Weighing("positive", variable, column), semiring.SATURATING
            yield Weighing("negative", variable, column), semiring.SATURATING


def _known(keys: pa.Table, states: pa.Table | None, names: tuple[str, ...]) -> Ints:
    """[partitions]: the row of ``states`` with the same keys; -1: there is none."""
    if states is None:
        return np.full(max(keys.num_rows, 1), -1)
    if not names:
        return np.zeros(1, np.int64)
    first = first_of_group(pa.concat_tables([states.select(list(names)), keys]), names)[states.num_rows :]
    return np.where(first < states.num_rows, first, -1)


def _with(states: pa.Table | None, keys: pa.Table, known: Ints, counters: Ints) -> pa.Table:
    """``states`` with the ``counters`` of the partitions ``keys``."""
    values = pa.FixedSizeListArray.from_arrays(pa.array(counters.reshape(-1)), counters.shape[1])
    now = pa.table({name: keys.column(name) for name in keys.column_names} | {COUNTERS: values})
    if states is None:
        return now
    others = np.ones(states.num_rows, np.bool_)
    others[known[known >= 0]] = False
    return pa.concat_tables([states.filter(pa.array(others)), now]).combine_chunks()


def _matrix(states: pa.Table) -> Ints:
    column = states.column(COUNTERS).combine_chunks()
    counters: Ints = column.flatten().to_numpy().reshape(len(column), -1)
    return counters
