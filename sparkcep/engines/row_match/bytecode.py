"""Conditions → operations of the stack machine in ``condition_kernels``.

In: DEFINE conditions, their registers, the kinds of the columns. Out: arrays of operations. Operands of one operator
should come in one type; integers, decimals and floats are brought to one here too, since the driver cannot cast what
only the engine computes (COUNT, SUM). Results are Spark's under ANSI: overflow and division by zero are errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.constants import kind_of_constant, word_of
from sparkcep.engines.row_match.registers import Layout, Place
from sparkcep.engines.row_match.values import Kind, Pool
from sparkcep.errors import CepInternalError, CepUnsupportedError
from sparkcep.spec.expression import Call, Constant, SparkFunction
from sparkcep.spec.row import MOMENTS, Aggregate, ClassifierAt, ColumnAt, Condition, CurrentRow, Define, MatchNumber

BOOLEAN = Kind("boolean")
LONG = Kind("integer")
DOUBLE = Kind("float")

_COMPARISONS = {
    "eq": codes.EQ, "ne": codes.NE, "lt": codes.LT, "le": codes.LE, "gt": codes.GT, "ge": codes.GE,
    "eq_null_safe": codes.EQ_NULL_SAFE,
}  # fmt: skip
_INTEGER = {"add": codes.ADD, "sub": codes.SUB, "mul": codes.MUL}
_FLOAT = {"add": codes.FLOAT_ADD, "sub": codes.FLOAT_SUB, "mul": codes.FLOAT_MUL, "div": codes.FLOAT_DIV}
_NUMBERS = ("integer", "decimal", "float")

Operation = tuple[int, ...]


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
class Writer(ABC):
    """Writes the operations of conditions one after another; subclasses say what a leaf is, and name the condition."""

    operations: list[Operation] = field(default_factory=list)
    leaves: int = 0

    @abstractmethod
    def _leaf(self, leaf: Any) -> Kind:
        """Writes what pushes the leaf's value; the kind of the value."""

    @abstractmethod
    def _text(self) -> str:
        """The condition, for messages."""

    def condition(self, node: Any) -> Kind:
        """Writes ``node``; the kind of its value, which the operations leave on the stack.

        Raises CepUnsupportedError for an operator on kinds that it is not made for.
        """
        if not isinstance(node, Call):
            self.leaves += 1
            return self._leaf(node)
        if node.operator in ("and", "or"):
            return self._logic(node)
        kinds = [self.condition(argument) for argument in node.arguments]
        if node.operator in ("not", "is_null"):
            return self._write(BOOLEAN, codes.NOT if node.operator == "not" else codes.IS_NULL)
        if node.operator == "abs":
            return self._absolute(node, kinds[0])
        left, right = kinds
        if node.operator in _COMPARISONS:
            self._common(node, left, right)
            return self._write(BOOLEAN, _COMPARISONS[node.operator])
        return self._arithmetic(node, left, right)

    def _write(self, kind: Kind, *operation: int) -> Kind:
        self.operations.append(operation)
        return kind

    def _logic(self, node: Call) -> Kind:
        """The right side is computed only where the left does not decide, as in Spark: it may be what guards it."""
        both = node.operator == "and"
        self.condition(node.arguments[0])
        for argument in node.arguments[1:]:
            skip = len(self.operations)
            self.operations.append(())
            self.condition(argument)
            self._write(BOOLEAN, codes.AND if both else codes.OR)
            self.operations[skip] = (codes.SKIP_IF, int(not both), len(self.operations))
        return BOOLEAN

    def _common(self, node: Call, left: Kind, right: Kind) -> Kind:
        """Brings the two operands on the stack to one kind."""
        if "null" in (left.name, right.name):
            return right if left.name == "null" else left
        if left.name in _NUMBERS and right.name in _NUMBERS:
            if "float" in (left.name, right.name):
                self._to_float(left, 1)
                self._to_float(right, 0)
                return Kind("float", max(k.bits if k.name == "float" else 64 for k in (left, right)))
            scale = max(left.scale, right.scale)
            for kind, depth in ((left, 1), (right, 0)):
                if kind.scale < scale:
                    self._write(kind, codes.RESCALE, depth, self._power(scale - kind.scale, node))
            if "decimal" in (left.name, right.name):
                return Kind("decimal", scale=scale)
            return Kind("integer", max(left.bits, right.bits))
        if {left.name, right.name} == {"duration", "integer"}:  # of microseconds
            return Kind("duration")
        if left.name != right.name or left.name == "opaque":
            raise self._unsupported(f"{node.operator} of {left.name} and {right.name} values")
        return left

    def _power(self, digits: int, node: Call) -> int:
        if digits > 18:
            raise self._unsupported(f"{node.operator} of decimals whose scales differ by {digits}")
        return int(10**digits)

    def _to_float(self, kind: Kind, depth: int) -> None:
        if kind.name != "float":
            self._write(DOUBLE, codes.TO_FLOAT, depth, kind.scale)

    def _arithmetic(self, node: Call, left: Kind, right: Kind) -> Kind:
        if node.operator == "div":
            if left.name not in _NUMBERS or right.name not in _NUMBERS:
                raise self._unsupported(f"div of {left.name} and {right.name} values")
            self._to_float(left, 1)
            self._to_float(right, 0)
            return self._write(DOUBLE, codes.FLOAT_DIV, 64)
        result = _temporal(node.operator, left, right)
        if result is None and node.operator == "mul" and {left.name, right.name} <= {"integer", "decimal"}:
            name = "decimal" if "decimal" in (left.name, right.name) else "integer"
            result = Kind(name, max(left.bits, right.bits), left.scale + right.scale)
        if result is None:
            result = self._common(node, left, right)
        if result.name == "float":
            return self._write(result, _FLOAT[node.operator], result.bits)
        if result.name not in ("integer", "decimal", "duration", "timestamp", "null"):
            raise self._unsupported(f"{node.operator} of {left.name} and {right.name} values")
        return self._write(result, _INTEGER[node.operator], result.bits)

    def _absolute(self, node: Call, kind: Kind) -> Kind:
        if kind.name not in (*_NUMBERS, "duration", "null"):
            raise self._unsupported(f"{node.operator} of {kind.name} values")
        return self._write(kind, codes.FLOAT_ABS if kind.name == "float" else codes.ABS, kind.bits)

    def _unsupported(self, what: str) -> CepUnsupportedError:
        return CepUnsupportedError(
            f"{self._text()} computes {what}",
            code="CONDITION_TYPES",
            hint="compute the part that reads only one row on that row's side of the comparison, so that Spark evaluates it",
        )


@dataclass(slots=True)
class _DefineWriter(Writer):
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
            case Constant():
                word = 0 if leaf.value is None else word_of(leaf)
                return self._write(kind_of_constant(leaf), codes.CONSTANT, word, int(leaf.value is None))
            case Aggregate():
                return self._aggregate(leaf)
            case SparkFunction():
                self.slow.append((self._variable, leaf))
                return self._write(BOOLEAN, codes.APPLY, len(self.slow) - 1)
        raise CepInternalError(f"unknown source {type(leaf).__name__} in the condition of {self._variable}")

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
            return self._write(Kind("decimal", scale=kind.scale + codes.MEAN_DIGITS), codes.MEAN, word)
        if source.function in ("min", "max"):
            if kind.name == "opaque":
                raise self._unsupported(f"{source.function.upper()}({source.column})")
            return self._write(kind, codes.TOTAL, word, word + 2)
        if kind.name == "float":
            return self._write(DOUBLE, codes.FLOAT_SUM, word)
        if kind.name not in ("integer", "decimal", "duration", "null"):
            raise self._unsupported(f"SUM({source.column})")
        return self._write(Kind(kind.name, scale=kind.scale), codes.INT_SUM, word)


def _temporal(operator: str, left: Kind, right: Kind) -> Kind | None:
    names = {left.name, right.name}
    if operator == "sub" and names in ({"timestamp"}, {"duration"}, {"timestamp", "integer"}):  # of microseconds
        return Kind("duration")
    if operator in ("add", "sub") and right.name == "duration" and left.name in ("timestamp", "duration"):
        return left
    return None
