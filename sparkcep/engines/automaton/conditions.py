"""Conditions and new values of registers → bytecode of ``row_match``, and what Python evaluates.

In: an AutomatonSpec, its registers as they are kept, the input's kinds. Out: ``Conditions``: operations, numbered, and for each assignment a
move. The operators are those of ``row_match.bytecode``: results are Spark's under ANSI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparkcep.engines.arrow_types import other_type
from sparkcep.engines.automaton import codes
from sparkcep.engines.automaton.comparisons import Comparisons, Fence
from sparkcep.engines.automaton.registers import Held, Inputs, reads_handle
from sparkcep.engines.row_match import codes as operations
from sparkcep.engines.row_match.constants import kind_of_constant, word_of
from sparkcep.engines.row_match.structures import Code
from sparkcep.engines.row_match.values import Kind, Pool
from sparkcep.engines.row_match.writer import BOOLEAN, DOUBLE, LONG, Operation, Writer
from sparkcep.errors import CepInternalError
from sparkcep.spec.automaton import Arc, Assignment, AutomatonSpec, EventValue, RegisterValue, Value
from sparkcep.spec.expression import Call, Constant, SparkFunction

LABEL = 1
"""In a CONSTANT's last word: the constant is a string, and the word its number among the strings of ``Conditions``."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """``fences`` [arcs]: each condition in parts, and the number of its ``rest`` (-1: there is none); ``moves`` [arcs]: of each arc. ``depth``: of
    the stack; ``slow``: values that Python computes, with the register that takes it (None: a condition); ``strings``: constants."""

    code: Code
    fences: tuple[tuple[Fence, int], ...]
    moves: tuple[tuple[tuple[int, ...], ...], ...]
    depth: int
    slow: tuple[tuple[Value, Held | None], ...]
    strings: tuple[str, ...]


def assemble(spec: AutomatonSpec, held: Mapping[str, Held], inputs: Inputs, pool: Pool) -> Conditions:
    """The operations of all arcs; the columns that they read are added to ``pool``.

    Raises CepUnsupportedError for an operator on kinds that it is not made for.
    """
    writer = _ArcWriter(held=held, inputs=inputs, pool=pool)
    writer.strings = {value: i for i, value in enumerate(_default_strings(spec, held))}
    comparisons = Comparisons(held, inputs, pool, writer.strings)
    fences, moves = [], []
    for arc in spec.arcs:
        writer.arc = arc
        fence = comparisons.fence(arc.condition)
        fences.append((fence, writer.number(_all(fence.rest), BOOLEAN) if fence.rest else -1))
        moves.append(tuple(writer.move(assignment) for assignment in arc.sets))
    found = np.zeros((len(writer.operations), 6), np.int64)
    for i, operation in enumerate(writer.operations):
        found[i, : len(operation)] = operation
    code = Code(np.array(writer.starts, np.int32), found)
    return Conditions(code, tuple(fences), tuple(moves), writer.leaves + 2, tuple(writer.slow), tuple(writer.strings))


def _all(parts: tuple[Value, ...]) -> Value:
    return parts[0] if len(parts) == 1 else Call("and", parts)


def _default_strings(spec: AutomatonSpec, held: Mapping[str, Held]) -> list[str]:
    """The defaults of string registers, each once."""
    given = [one.default for one in spec.registers if held[one.name].kind.name == "string" and one.default is not None]
    return list(dict.fromkeys(default.value for default in given if default.value is not None))


@dataclass(slots=True)
class _ArcWriter(Writer):
    held: Mapping[str, Held] = field(kw_only=True)
    inputs: Inputs = field(kw_only=True)
    pool: Pool = field(kw_only=True)
    arc: Arc | None = None
    starts: list[int] = field(default_factory=lambda: [0])
    slow: list[tuple[Value, Held | None]] = field(default_factory=list)
    strings: dict[str, int] = field(default_factory=dict)

    def number(self, value: Value, wanted: Kind) -> int:
        """Writes ``value`` as a condition of its own, brought to the kind ``wanted``; its number."""
        self._fit(self.condition(value), wanted)
        self.starts.append(len(self.operations))
        return len(self.starts) - 2

    def move(self, assignment: Assignment) -> tuple[int, ...]:
        """What sets a register."""
        target = self.held[assignment.register]
        place = target.word, target.flag
        if target.handle or isinstance(assignment.value, SparkFunction) or self._reads_handle(assignment.value):
            self.slow.append((assignment.value, target))
            return *place, codes.CALL, len(self.slow) - 1, 0, 0
        short = self._added(assignment.value, target) or self._copied(assignment.value, target)
        if short is not None:
            return *place, *short
        return *place, codes.COMPUTE, self.number(assignment.value, target.kind), 0, 0

    def condition(self, node: Any) -> Kind:
        """As ``Writer.condition``; what compares values that only Python has is its affair."""
        if isinstance(node, Call) and node.operator not in ("and", "or", "not", "is_null") and self._reads_handle(node):
            return self._apply(node)
        return Writer.condition(self, node)

    def _reads_handle(self, value: Value) -> bool:
        return reads_handle(value, {name for name, one in self.held.items() if one.handle})

    def _added(self, value: Value, target: Held) -> tuple[int, ...] | None:
        """``r + 1`` of integers."""
        match value:
            case Call(
                operator="add" | "sub" as operator, arguments=(RegisterValue(register=name), Constant() as constant)
            ):
                source, kind = self.held[name], kind_of_constant(constant)
                if not (source.kind.name == target.kind.name == kind.name == "integer") or source.flag >= 0:
                    return None
                bits = min(target.kind.bits, max(source.kind.bits, kind.bits))
                amount = word_of(constant)
                return codes.ADD_CONSTANT, source.word, amount if operator == "add" else -amount, bits
        return None

    def _copied(self, value: Value, target: Held) -> tuple[int, ...] | None:
        """A column of the same words."""
        if not isinstance(value, EventValue):
            return None
        kind = self.inputs.kind(value.column)
        narrow = kind.name in ("integer", "float") and kind.bits > target.kind.bits
        if kind.name != target.kind.name or kind.scale != target.kind.scale or narrow:
            return None
        return codes.COPY_COLUMN, self.pool.column(value.column), 0, 0

    def _fit(self, kind: Kind, wanted: Kind) -> None:
        """Brings the value on the stack to a register's kind."""
        if kind.name == "integer" and wanted.name == "integer" and kind.bits > wanted.bits:
            self._write(LONG, operations.CONSTANT, 0, 0)
            self._write(wanted, operations.ADD, wanted.bits)
        elif wanted.name == "float" and kind.name in ("integer", "decimal"):
            self._write(DOUBLE, operations.TO_FLOAT, 0, kind.scale)
        elif wanted.name == "decimal" and kind.name in ("integer", "decimal") and kind.scale < wanted.scale:
            self._write(wanted, operations.RESCALE, 0, 10 ** (wanted.scale - kind.scale))
        elif kind.name not in (wanted.name, "null") or kind.scale > wanted.scale:
            raise other_type(kind.name, wanted.name)

    def _leaf(self, leaf: Value) -> Kind:
        match leaf:
            case EventValue(column=name):
                operation: Operation = (operations.COLUMN, operations.CURRENT, 0, 0, 0, self.pool.column(name))
                return self._write(self.inputs.kind(name), *operation)
            case RegisterValue(register=name):
                found = self.held[name]
                return self._write(found.kind, operations.TOTAL, found.word, found.flag)
            case SparkFunction():
                return self._apply(leaf) if self._reads_handle(leaf) else self.attempt(leaf, lambda: self._apply(leaf))
        raise CepInternalError(f"unknown source {type(leaf).__name__} in {self._text()}")

    def _constant(self, constant: Constant) -> Kind:
        kind = kind_of_constant(constant)
        if kind.name == "string":
            label = self.strings.setdefault(constant.value, len(self.strings))
            return self._write(kind, operations.CONSTANT, label, 0, LABEL)
        return Writer._constant(self, constant)

    def _apply(self, value: Value) -> Kind:
        self.leaves += 1
        self.slow.append((value, None))
        return self._write(BOOLEAN, operations.APPLY, len(self.slow) - 1)

    def _text(self) -> str:
        assert self.arc is not None
        return f"the arc {self.arc.name or self.arc}"
