"""MEASURES without WITHIN over a stream: prefix counters as state, and no event at all (A-Seq section 3.1, Dynamic Prefix Counting).

For each partition and each sequence of the pattern the bucket keeps the numbers of its prefixes that have been matched so far, once for every way of
weighting matches. A turn goes on from them with the new events; what the last counter gains is what the turn has found. For a least or greatest value
a counter is the best one of any match of its prefix, and kept as that value: ranks are those of one turn.
"""

from __future__ import annotations

from collections import defaultdict
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
from sparkcep.engines.aseq.values import Column, Ints, reversed_keys
from sparkcep.engines.aseq.work import Weighing, Work
from sparkcep.engines.turn import Answer, Turn, partitions
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.aggregate import AggregateSpec, MatchAggregate

COUNTERS = "__cep_counters"
BEST = "__cep_best_"
"""The prefix of the columns with the best values of an input column."""
_HINT = "Write WITHIN INTERVAL …, or set sparkcep.stream.retention."


@dataclass(frozen=True, slots=True)
class Compiled:
    """A clause whose spec has two more outputs, PRESENT and PLACE. ``keys``: the columns that tell partitions apart."""

    plan: Plan
    keys: tuple[str, ...]


def compile(plan: Plan, keys: tuple[str, ...]) -> Compiled:
    """Raises CepUnsupportedError, by name, for what counters alone do not tell."""
    sequences = [sequence for _, every in plan.patterns for sequence in every]
    for refused, what in (
        (any(sequence.open_ended for sequence in sequences), "NOT before or behind a match"),
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
        work.resume(states, known)
    found = []
    for number, (name, own) in enumerate(compiled.plan.patterns):
        passes = _Passes(work.table, spec.variables, own, work, number)
        for weighing, mode in _ways(spec, passes):
            work.numbers(number, weighing, mode)
        part = aggregates(spec, passes, name)
        found.append(part.filter(pc.greater(part.column(PRESENT), 0)))
    kept = _with(states, keys, known, work.states())
    nothing = np.zeros(turn.rows.num_rows, np.bool_)
    parts = tuple(part for part in found if part.num_rows)
    return Answer(parts, nothing, turn.begin, turn.numbers, None, carried=kept)


class ResumedWork(Work):
    """``Work`` that counts on from counters and gives what the last ones gain; a pass per pattern."""

    def __init__(self, table: Table, variables: tuple[str, ...], patterns: tuple[tuple[Sequence, ...], ...]) -> None:
        super().__init__(table, variables, patterns, tuple((number,) for number in range(len(patterns))))
        self._before: pa.Table | None = None
        self._known = np.zeros(len(table.starts), np.bool_)
        self._best_before: dict[str, Ints] = {}
        self._after: list[Ints] = []
        self._best_after: defaultdict[str, list[Ints]] = defaultdict(list)

    def resume(self, states: pa.Table, rows: Ints) -> None:
        """``rows`` [partitions]: where in ``states`` a partition's are; -1: nowhere, it is new."""
        self._known = rows >= 0
        self._before = states.take(pa.array(rows[self._known]))

    def states(self) -> dict[str, pa.Array]:
        """COUNTERS [partitions][all]; and for each column with a least or greatest value BEST. Those of all passes, in the order in which they were
        made, which is always the same."""
        found = {COUNTERS: _lists(np.concatenate(self._after, axis=1))}
        for name, parts in self._best_after.items():
            keys = np.concatenate(parts, axis=1)
            found[BEST + name] = _lists(keys, self.order(name)[1])
        return found

    def _run(self, group: tuple[int, ...], weighing: Weighing, mode: int) -> NDArray:
        floats, least = mode == semiring.FLOAT, mode == semiring.LEAST
        out = np.full(len(self.table.starts), semiring.MAX if least else 0, np.float64 if floats else np.int64)
        for one in self.marked(group[0], weighing.variable):
            coded = self.code(one.sequence)
            states = self._begun(len(coded.gaps) + 1, mode)
            if least:
                self._take_best(weighing, states[:, one.position :])
            before = states[:, -1].copy()
            if len(coded.part):
                weights = self.weights(weighing, mode)[coded.row] if one.position else np.zeros(1, out.dtype)
                rows = coded.code, coded.first, coded.part
                kernels.resumed(mode, *rows, semiring.words(weights), coded.gaps, one.position, semiring.words(states))
            if least:
                out = np.minimum(out, states[:, -1])
                self._best_after[weighing.column].append(self._straight(weighing, states[:, one.position :]))
            else:
                out += states[:, -1] - before
                if not floats:
                    out[states[:, -1] == semiring.MAX] = semiring.MAX
            self._after.append(states.view(np.int64))
        return out[np.newaxis]

    def _begun(self, width: int, mode: int) -> NDArray:
        """The next ``width`` counters of each partition; those of a new one are of the empty prefix only."""
        least = mode == semiring.LEAST
        kind = np.float64 if mode == semiring.FLOAT else np.int64
        states = np.full((len(self.table.starts), width), semiring.MAX if least else 0, kind)
        states[:, 0] = 0 if least else 1
        if self._before is not None:
            used = sum(one.shape[1] for one in self._after)
            counters = _matrix(self._before.column(COUNTERS))
            states[self._known] = np.ascontiguousarray(counters[:, used : used + width]).view(kind)
        return states

    def _take_best(self, weighing: Weighing, states: Ints) -> None:
        """The best values so far as this turn's keys."""
        self.order(weighing.column)
        if self._before is not None:
            used = sum(one.shape[1] for one in self._best_after[weighing.column])
            best = self._best_before[weighing.column][:, used : used + states.shape[1]]
            states[self._known] = self._straight(weighing, best)

    def _straight(self, weighing: Weighing, keys: Ints) -> Ints:
        """Keys of either direction as ranks, and ranks as such keys."""
        return keys if weighing.weight == "least" else reversed_keys(keys, len(self.order(weighing.column)[1]))

    def _ranked(self, name: str) -> tuple[Ints, pa.Array]:
        """Among the rows' values and the best ones so far."""
        rows = self.column(name)
        if self._before is None:
            return rows.order()
        best = self._before.column(BEST + name).combine_chunks()
        keys, distinct = Column.of(pa.concat_arrays([rows.values, best.flatten()])).order()
        count = len(rows.values)
        self._best_before[name] = keys[count:].reshape(len(best), -1)
        return keys[:count], distinct


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
        elif source.function != "count":
            yield Weighing("least" if source.function == "min" else "greatest", variable, column), semiring.LEAST


def _known(keys: pa.Table, states: pa.Table | None, names: tuple[str, ...]) -> Ints:
    """[partitions]: the row of ``states`` with the same keys; -1: there is none."""
    if states is None:
        return np.full(max(keys.num_rows, 1), -1)
    if not names:
        return np.zeros(1, np.int64)
    first = first_of_group(pa.concat_tables([states.select(list(names)), keys]), names)[states.num_rows :]
    return np.where(first < states.num_rows, first, -1)


def _with(states: pa.Table | None, keys: pa.Table, known: Ints, counters: dict[str, pa.Array]) -> pa.Table:
    """``states`` with the ``counters`` of the partitions ``keys``."""
    now = pa.table({name: keys.column(name) for name in keys.column_names} | counters)
    if states is None:
        return now
    others = np.ones(states.num_rows, np.bool_)
    others[known[known >= 0]] = False
    return pa.concat_tables([states.filter(pa.array(others)), now]).combine_chunks()


def _lists(numbers: Ints, values: pa.Array | None = None) -> pa.Array:
    """A list for each row; with ``values`` those at the places ``numbers``, NULL for MAX."""
    flat = numbers.reshape(-1)
    items = pa.array(flat) if values is None else values.take(pa.array(flat, mask=flat == semiring.MAX))
    return pa.FixedSizeListArray.from_arrays(items, numbers.shape[1])


def _matrix(lists: pa.ChunkedArray) -> Ints:
    column = lists.combine_chunks()
    numbers: Ints = column.flatten().to_numpy().reshape(len(column), -1)
    return numbers
