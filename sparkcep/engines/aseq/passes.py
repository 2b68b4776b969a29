"""Passes of the kernels over one table: one number per partition for every way of weighing its matches.

In: the table, the sequences, a ``Weighing``. Out: arrays with one entry per partition; a pass serves all aggregates that
ask for the same. What the numbers mean, and their types, is ``results``' affair.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.aseq import exact, values
from sparkcep.engines.aseq.events import Coded, Table, code
from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.aseq.values import MAX, Column, Ints

Weight = Literal["one", "counted", "positive", "negative", "value", "least", "greatest"]


@dataclass(frozen=True, slots=True)
class Weighing:
    """How a match counts: ``one`` each, or by the attribute ``column`` of ``variable``'s event.

    ``counted``: 1 where it has a value; ``positive``, ``negative``: its value, or 0 where the sign is the other;
    ``value``: as it is (doubles and exact sums only); ``least``, ``greatest``: order keys.
    """

    weight: Weight = "one"
    variable: str = ""
    column: str = ""


@dataclass(slots=True)
class Passes:
    """One table under work."""

    table: Table
    variables: tuple[str, ...]
    sequences: tuple[Sequence, ...]
    _coded: dict[Sequence, Coded] = field(default_factory=dict)
    _columns: dict[str, Column] = field(default_factory=dict)
    _done: dict[tuple[Weighing, bool], NDArray] = field(default_factory=dict)

    def integers(self, weighing: Weighing) -> Ints:
        """Per partition the sum of non-negative weights, where MAX means MAX or more; or the least key, MAX for none."""
        return self._pass(weighing, floats=False)

    def doubles(self, weighing: Weighing) -> NDArray[np.float64]:
        """Per partition the sum of weights as doubles."""
        return self._pass(weighing, floats=True)

    def exact(self, weighing: Weighing, part: int) -> int:
        """The sum of weights of one partition, whatever its size."""
        found = 0
        for sequence in self._taking(weighing.variable):
            coded = self._code(sequence)
            groups = range(int(np.searchsorted(coded.part, part)), int(np.searchsorted(coded.part, part + 1)))
            by_value = weighing.weight != "one"
            weights = self._weights(weighing, floats=False)[coded.row].tolist() if by_value else None
            found += exact.total(coded, groups, weights, _position(sequence, weighing.variable))
        return found

    def column(self, name: str) -> Column:
        """An input column; converted once."""
        if name not in self._columns:
            self._columns[name] = values.column(self.table.arrow, name)
        return self._columns[name]

    def _pass(self, weighing: Weighing, *, floats: bool) -> NDArray:
        key = weighing, floats
        if key not in self._done:
            self._done[key] = self._run(weighing, floats=floats)
        return self._done[key]

    def _run(self, weighing: Weighing, *, floats: bool) -> NDArray:
        from sparkcep.engines.aseq import kernels

        by_order = weighing.weight in ("least", "greatest")
        mode = kernels.FLOAT if floats else kernels.LEAST if by_order else kernels.SATURATING
        out = np.full(len(self.table.starts), MAX if by_order else 0, np.float64 if floats else np.int64)
        for sequence in self._taking(weighing.variable):
            coded = self._code(sequence)
            if not len(coded.part):
                continue
            rows = coded.code, coded.first, coded.part
            position = _position(sequence, weighing.variable)
            weights = self._weights(weighing, floats=floats)[coded.row] if position else np.zeros(1, out.dtype)
            if coded.windows is None:
                kernels.unbounded(mode, *rows, weights, coded.gaps, position, out)
                continue
            low, high, widest = coded.windows.low, coded.windows.high, coded.windows.widest
            open_ended = sequence.open_ended
            kernels.windowed(mode, *rows, low, high, weights, coded.gaps, position, widest, open_ended, out)
        return out

    def _taking(self, variable: str) -> list[Sequence]:
        """The sequences whose matches have a value of ``variable``."""
        return [sequence for sequence in self.sequences if not variable or variable in sequence.variables]

    def _weights(self, weighing: Weighing, *, floats: bool) -> NDArray:
        """One weight per row of the table."""
        column = self.column(weighing.column)
        match weighing.weight:
            case "counted":
                numbers = column.counted
            case "value":
                return column.doubles() if floats else column.integers()
            case "least" | "greatest":
                keys, distinct = column.order()
                reverse = np.where(column.valid, len(distinct) - 1 - keys, MAX)
                return keys if weighing.weight == "least" else reverse
            case "positive":
                numbers = np.maximum(column.integers(), 0)
            case _:
                # -(-2^63) is no int64: MAX sends its partitions to the exact sum.
                numbers = -np.maximum(np.minimum(column.integers(), 0), -MAX)
        return numbers.astype(np.float64) if floats else numbers

    def _code(self, sequence: Sequence) -> Coded:
        if sequence not in self._coded:
            self._coded[sequence] = code(self.table, self.variables, sequence)
        return self._coded[sequence]


def _position(sequence: Sequence, variable: str) -> int:
    """The position whose step is weighed; 0: none."""
    return sequence.variables.index(variable) + 1 if variable else 0
