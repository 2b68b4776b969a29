"""Conditions → operations of the stack machine in ``condition_kernels``.

In: DEFINE conditions, their registers, the kinds of the columns. Out: arrays of operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.registers import Layout, Place
from sparkcep.engines.row_match.values import Kind, Pool
from sparkcep.engines.row_match.writer import BOOLEAN, DOUBLE, LONG, Writer
from sparkcep.errors import CepInternalError
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.row import (
    MEAN_DIGITS,
    MOMENTS,
    Aggregate,
    ClassifierAt,
    ColumnAt,
    Condition,
    CurrentRow,
    Define,
    MatchNumber,
)


@dataclass(frozen=True, slots=True)
class Bytecode:
    """``start`` [variables + 1]: the operations of each variable's condition (none: it always holds);
    ``operations`` [n, 6]; ``depth``: the stack that they need; ``slow``: conditions that Python evaluates, and whose they are."""

    start: NDArray[np.int32]
    operations: NDArray[np.int64]
    depth: int
    slow: tuple[tuple[str, SparkFunction], ...] = ()


def assemble(defines: tuple[Define, ...], layout: Layout, kinds: Mapping[str, Kind], pool: Pool) -> Bytecode:
    """The operations of all conditions; what they read is added to ``pool``.

    Raises CepUnsupportedError for an operator on kinds that it is not made for.
    """
    by_variable = {define.variable: define for define in defines}
    writer = _DefineWriter(layout=layout, kinds=kinds, pool=pool)
    start = [0]
    for variable in layout.variables:
        if variable in by_variable:
            writer.define = by_variable[variable]
            writer.condition(writer.define.condition)
        start.append(len(writer.operations))
    operations = np.zeros((len(writer.operations), 6), np.int64)
    for i, operation in enumerate(writer.operations):
        operations[i, : len(operation)] = operation
    return Bytecode(np.array(start, np.int32), operations, writer.leaves + 1, tuple(writer.slow))


@dataclass(slots=True)
class _DefineWriter(Writer):
    CHECKED = True

    layout: Layout = field(kw_only=True)
    kinds: Mapping[str, Kind] = field(kw_only=True)
    pool: Pool = field(kw_only=True)
    define: Define | None = None
    slow: list[tuple[str, SparkFunction]] = field(default_factory=list)

    def _text(self) -> str:
        return self.define.text if self.define and self.define.text else f"the condition of {self._variable}"

    def _leaf(self, leaf: Condition) -> Kind:
        match leaf:
            case CurrentRow(column=name):
                self._write(LONG, codes.COLUMN, codes.CURRENT, 0, 0, 0, self.pool.column(name))
                return self.kinds[name]
            case ColumnAt(column=name, at=at):
                where = self._place(self.layout.places[self._variable, at])
                return self._write(self.kinds[name], codes.COLUMN, *where, at.physical, self.pool.column(name))
            case ClassifierAt(at=at):
                where = self._place(self.layout.places[self._variable, at])
                members = frozenset(self.layout.variables if at.variables is None else at.variables)
                return self._write(Kind("string"), codes.CLASSIFIER, *where, at.physical, self.pool.set(members))
            case MatchNumber():
                return self._write(LONG, codes.NUMBER)
            case Aggregate():
                return self._aggregate(leaf)
            case SparkFunction():
                return self.attempt(leaf, lambda: self._apply(leaf))
        raise CepInternalError(f"unknown source {type(leaf).__name__} in the condition of {self._variable}")

    def _apply(self, tree: SparkFunction) -> Kind:
        self.slow.append((self._variable, tree))
        return self._write(BOOLEAN, codes.APPLY, len(self.slow) - 1)

    @property
    def _variable(self) -> str:
        assert self.define is not None
        return self.define.variable

    def _place(self, place: Place) -> tuple[int, int, int]:
        if place.word is None:
            return codes.CURRENT, 0, 0
        return codes.FIRST_OR_CURRENT if place.or_current else codes.SLOT, place.word, place.index

    def _aggregate(self, source: Aggregate) -> Kind:
        if source.function == "array_agg":
            raise self._unsupported("with ARRAY_AGG as with a number")
        word = self.layout.totals[self.layout.total(source)].word
        if source.function == "count":
            return self._write(LONG, codes.TOTAL, word, -1)
        if source.function in MOMENTS:
            return self._write(DOUBLE, codes.MOMENT, word, MOMENTS.index(source.function))
        kind = self.kinds[source.column or ""]
        if source.function == "avg":
            return self._write(Kind("decimal", scale=kind.scale + MEAN_DIGITS), codes.MEAN, word)
        if source.function in ("min", "max"):
            if kind.name == "opaque":
                raise self._unsupported(f"{source.function.upper()}({source.column})")
            return self._write(kind, codes.TOTAL, word, word + 2)
        if kind.name == "float":
            return self._write(DOUBLE, codes.FLOAT_SUM, word)
        if kind.name not in ("integer", "decimal", "duration", "null"):
            raise self._unsupported(f"SUM({source.column})")
        return self._write(Kind(kind.name, scale=kind.scale), codes.INT_SUM, word)
