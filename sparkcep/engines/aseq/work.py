"""Counting over one table: which sequences run in which kernel, and which of them together.

In: the table, patterns as sequences, a sharing plan. Out: for a pattern, a ``Weighing`` and an arithmetic, one number per partition. Patterns that
the plan groups are counted in one pass, which caches the results of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq import counting_kernels, kernels, neighbour_kernels, semiring, values
from sparkcep.engines.aseq.events import Coded, Rows, Table, code, select
from sparkcep.engines.aseq.neighbours import Sides, sides
from sparkcep.engines.aseq.programs import Counted, compile_program
from sparkcep.engines.aseq.sequences import EITHER, STRICT, Marked, Sequence, marked
from sparkcep.engines.aseq.spelling import countable
from sparkcep.engines.aseq.structures import Compared, Groups, Positions
from sparkcep.engines.aseq.values import Column, Ints, reversed_keys
from sparkcep.spec.neighbours import Linked

Weight = Literal["one", "counted", "positive", "negative", "value", "least", "greatest"]

MAX_TESTS = 62
"""Tests of one program: bits of a word."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """How a match is weighted: ``one`` each, or by the attribute ``column`` of each of ``variable``'s events.

    ``counted``: 1 where it has a value; ``positive``, ``negative``: its value, or 0 if it has the other sign; ``value``: unchanged (doubles and exact
    sums only); ``least``, ``greatest``: order keys.
    """

    weight: Weight = "one"
    variable: str = ""
    column: str = ""


@dataclass(slots=True)
class Work:
    """The table being processed. ``together``: patterns (by number) that are counted in one pass."""

    table: Table
    variables: tuple[str, ...]
    patterns: tuple[tuple[Sequence, ...], ...]
    together: tuple[tuple[int, ...], ...]
    linked: Linked = Linked()
    _coded: dict[Sequence, Coded] = field(default_factory=dict)
    _rows: dict[tuple[tuple[str, ...], int], Rows] = field(default_factory=dict)
    _columns: dict[str, Column] = field(default_factory=dict)
    _orders: dict[str, tuple[Ints, pa.Array]] = field(default_factory=dict)
    _weights: dict[tuple[Weighing, int], NDArray] = field(default_factory=dict)
    _sides: dict[tuple[str, Linked], Sides] = field(default_factory=dict)
    _done: dict[tuple[int, Weighing, int], NDArray] = field(default_factory=dict)

    def column(self, name: str) -> Column:
        """An input column; converted once."""
        if name not in self._columns:
            self._columns[name] = values.column(self.table.arrow, name)
        return self._columns[name]

    def order(self, name: str) -> tuple[Ints, pa.Array]:
        """Per row the rank of its value in an input column, and the values in order (``Column.order``); once."""
        if name not in self._orders:
            self._orders[name] = self._ranked(name)
        return self._orders[name]

    def numbers(self, pattern: int, weighing: Weighing, mode: int) -> NDArray:
        """Per partition the sum over the matches of ``pattern`` in the arithmetic ``mode`` (``semiring``)."""
        key = pattern, weighing, mode
        if key not in self._done:
            group = next(group for group in self.together if pattern in group)
            for one, numbers in zip(group, self._run(group, weighing, mode), strict=True):
                self._done[one, weighing, mode] = numbers
        return self._done[key]

    def marked(self, pattern: int, variable: str) -> tuple[Marked, ...]:
        """What a pass over ``pattern`` counts; with a variable, each match once per event of that variable."""
        every = self.patterns[pattern]
        return marked(every, variable) if variable else tuple(Marked(sequence) for sequence in every)

    def weights(self, weighing: Weighing, mode: int) -> NDArray:
        """One weight per row of the table; empty where every match counts one."""
        if weighing.weight == "one":
            return np.empty(0, np.float64 if mode == semiring.FLOAT else np.int64)
        key = weighing, mode
        if key not in self._weights:
            self._weights[key] = self._new_weights(weighing, mode)
        return self._weights[key]

    def code(self, sequence: Sequence) -> Coded:
        """The table's rows, coded for one sequence."""
        if sequence not in self._coded:
            self._coded[sequence] = code(self.table, self.variables, sequence)
        return self._coded[sequence]

    def _run(self, group: tuple[int, ...], weighing: Weighing, mode: int) -> NDArray:
        kind = np.float64 if mode == semiring.FLOAT else np.int64
        nothing = semiring.MAX if mode == semiring.LEAST else 0
        out = np.full((len(group), len(self.table.starts)), nothing, kind)
        counted = [
            Counted(one, place)
            for place, pattern in enumerate(group)
            for one in self.marked(pattern, weighing.variable)
        ]
        linked = [one for one in counted if self._links(one.marked.sequence)]
        for one in linked:
            self._neighbours(one, weighing, mode, out[one.out])
        counted = [one for one in counted if one not in linked]
        programs = [one for one in counted if countable(one.marked.sequence)]
        if len(_used(programs)) <= MAX_TESTS:
            self._program(programs, weighing, mode, out)
        else:
            for one in programs:
                self._program([one], weighing, mode, out)
        for one in counted:
            if not countable(one.marked.sequence):
                self._sequence(one, weighing, mode, out[one.out])
        return out

    def _program(self, counted: Items[Counted], weighing: Weighing, mode: int, out: NDArray) -> None:
        if not counted:
            return
        used = _used(counted)
        tests = self.variables if len(self.table.masks) == 1 else used
        program = compile_program(tuple(counted), tests, windowed=self.table.time is not None)
        selected = self._select(tests, sum(1 << tests.index(name) for name in used))
        arrays = program.push, program.pull, program.finals, program.snapshots
        rows = selected.rows, selected.words
        if weighing.weight == "one" and mode == semiring.SATURATING:
            counting_kernels.count(*rows, arrays, out)
            return
        weights = self.weights(weighing, mode)
        weights = weights if len(weights) else np.ones(len(self.table.rank), out.dtype)
        counting_kernels.weigh(mode, *rows, semiring.words(weights), arrays, semiring.words(out))

    def _select(self, tests: tuple[str, ...], used: int) -> Rows:
        if (tests, used) not in self._rows:
            self._rows[tests, used] = select(self.table, self.variables, tests, used)
        return self._rows[tests, used]

    def _sequence(self, counted: Counted, weighing: Weighing, mode: int, out: NDArray) -> None:
        sequence, position = counted.marked.sequence, counted.marked.position
        coded = self.code(sequence)
        if not len(coded.part):
            return
        rows = coded.code, coded.first, coded.part
        weights = self.weights(weighing, mode)[coded.row] if position else np.zeros(1, out.dtype)
        weights, out = semiring.words(weights), semiring.words(out)
        if coded.windows is None:
            kernels.unbounded(mode, *rows, weights, coded.gaps, position, out)
            return
        low, high, widest = coded.windows.low, coded.windows.high, coded.windows.widest
        kernels.windowed(mode, *rows, low, high, weights, coded.gaps, position, widest, sequence.open_ended, out)

    def _links(self, sequence: Sequence) -> bool:
        """Whether neighbours in a closure of ``sequence`` are compared."""
        several = {name for i, name in enumerate(sequence.variables) if i in sequence.loops or i in _inner(sequence)}
        return not self.linked.variables.isdisjoint(several)

    def _neighbours(self, counted: Counted, weighing: Weighing, mode: int, out: NDArray) -> None:
        sequence, position = counted.marked.sequence, counted.marked.position
        coded = self.code(sequence)
        if not len(coded.part):
            return
        found = self._compared(sequence)
        inner = np.array([i in _inner(sequence) for i in range(len(sequence.variables))], np.int8)
        links = np.array([found.links(name) for name in sequence.variables])
        low = np.empty(0, np.int64) if coded.windows is None else coded.windows.low
        weights = self.weights(weighing, mode)[coded.row] if position else np.zeros(1, out.dtype)

        groups = Groups(coded.code, coded.first, coded.part, low)
        positions = Positions(coded.gaps, position, inner, links)

        def count(holds: NDArray[np.uint8], out: NDArray) -> None:
            each, previous = found.each.take(coded.row, axis=1), found.previous.take(coded.row, axis=1)
            compared = Compared(found.operators, each, previous, holds)
            neighbour_kernels.neighbours(mode, groups, weights, positions, compared, len(coded.code), out)

        weights, out = semiring.words(weights), semiring.words(out)
        allowed = out.copy()
        count(found.holds, out)
        if found.error is not None:
            count(found.excused, allowed)
            if not np.array_equal(out, allowed):  # an error alone decides some match
                raise found.error

    def _compared(self, sequence: Sequence) -> Sides:
        """The conditions on closures of ``sequence``, ready for the kernel."""
        start, own = sequence.variables[0], self.linked.of(sequence.variables)
        if (start, own) not in self._sides:
            self._sides[start, own] = sides(
                self.table.arrow,
                own,
                self.column,
                lambda name: self.code(Sequence((start, name), (STRICT, EITHER), ((),))),
            )
        return self._sides[start, own]

    def _ranked(self, name: str) -> tuple[Ints, pa.Array]:
        return self.column(name).order()

    def _new_weights(self, weighing: Weighing, mode: int) -> NDArray:
        column = self.column(weighing.column)
        match weighing.weight:
            case "counted":
                numbers = column.counted
            case "value":
                if mode == semiring.FLOAT:
                    return column.doubles()
                if column.floating:
                    return column.remainders(mode)
                numbers = column.integers()
            case "least" | "greatest":
                keys, distinct = self.order(weighing.column)
                return keys if weighing.weight == "least" else reversed_keys(keys, len(distinct))
            case "positive":
                numbers = np.maximum(column.integers(), 0)
            case _:
                # -(-2^63) is no int64: MAX sends its partitions to the exact sum.
                numbers = -np.maximum(np.minimum(column.integers(), 0), -semiring.MAX)
        if mode > semiring.FLOAT:
            return numbers % mode
        return numbers.astype(np.float64) if mode == semiring.FLOAT else numbers


def _inner(sequence: Sequence) -> set[int]:
    """Positions that continue the closure of the previous position."""
    return {i for i in range(1, len(sequence.variables)) if sequence.variables[i] == sequence.variables[i - 1]}


def _used(counted: Items[Counted]) -> tuple[str, ...]:
    """The variables of all sequences, negated ones too."""
    sequences = [one.marked.sequence for one in counted]
    names = [name for sequence in sequences for part in (sequence.variables, *sequence.between) for name in part]
    return tuple(dict.fromkeys(names))
