"""Conditions as operations of the stack machine in ``condition_kernels``, whatever their leaves are.

In: ``Call``s over leaves. Out: operations. Operands of one operator should come in one type; integers, decimals and floats are brought to one here
too, since the driver cannot cast what only the engine computes (COUNT, SUM). Decimals keep the places that they have, which are fewer than those of
their types where columns or constants have fewer, until another operand has more. Results are Spark's under ANSI: overflow and division by zero are
errors, except in what Python can be asked (``Writer.attempt``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.constants import kind_of_constant, kind_of_type, word_of
from sparkcep.engines.row_match.values import Kind
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Call, Constant, SparkFunction
from sparkcep.spec.word_nodes import Word
from sparkcep.spec.words import in_words, shortest

BOOLEAN = Kind("boolean")
LONG = Kind("integer")
DOUBLE = Kind("float")
MOST = 1 << 63

_COMPARISONS = {
    "eq": codes.EQ, "ne": codes.NE, "lt": codes.LT, "le": codes.LE, "gt": codes.GT, "ge": codes.GE,
    "eq_null_safe": codes.EQ_NULL_SAFE,
}  # fmt: skip
_INTEGER = {"add": codes.ADD, "sub": codes.SUB, "mul": codes.MUL}
_FLOAT = {"add": codes.FLOAT_ADD, "sub": codes.FLOAT_SUB, "mul": codes.FLOAT_MUL, "div": codes.FLOAT_DIV}
_OF_DOUBLE = {
    "sqrt": codes.SQRT, "exp": codes.EXP, "ln": codes.LN, "log10": codes.LOG10, "log2": codes.LOG2, "sin": codes.SIN, "cos": codes.COS,
    "tan": codes.TAN, "asin": codes.ASIN, "acos": codes.ACOS, "atan": codes.ATAN,
}  # fmt: skip
_OF_DOUBLES = {"pow": codes.FLOAT_POW, "atan2": codes.FLOAT_ATAN2}
_DIVISIONS = {"int_div": codes.INT_DIV, "remainder": codes.REMAINDER, "pmod": codes.PMOD}
_EXTREMES = {"least": codes.LEAST, "greatest": codes.GREATEST}
_NUMBERS = ("integer", "decimal", "float")

Operation = tuple[int, ...]


@dataclass(slots=True)
class Writer(ABC):
    """Writes the operations of conditions one after another; subclasses say what a leaf is, and name the condition."""

    CHECKED: ClassVar[bool] = False
    """Whether columns of decimals without room are ``NO_ROOM``."""

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
        if isinstance(node, Word):
            return self._word(node)
        if not isinstance(node, Call):
            self.leaves += 1
            return self._constant(node) if isinstance(node, Constant) else self._leaf(node)
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

    def attempt(self, tree: SparkFunction, ask: Callable[[], Kind]) -> Kind:
        """Writes a condition of Spark's functions. ``ask`` writes what Python says of it: it is asked where words do not say it."""
        node = in_words(tree, checked=self.CHECKED)
        if node is None:
            return ask()
        start = self._jump()
        try:
            self.condition(node)
        except CepUnsupportedError:
            del self.operations[start:]
            return ask()
        end = self._jump()
        self._land(start, codes.TRY)
        kind = ask()
        self._land(end, codes.JUMP)
        return kind

    def _jump(self) -> int:
        """Room for an operation that goes elsewhere."""
        self.operations.append(())
        return len(self.operations) - 1

    def _land(self, at: int, operation: int) -> None:
        """Has the operation at ``at`` go to what is written next."""
        self.operations[at] = (operation, len(self.operations))

    def _word(self, node: Word) -> Kind:
        if node.operator == "if":
            return self._choice(node)
        if node.operator == "coalesce":
            return self._first(node)
        kinds, kind = [self.condition(argument) for argument in node.arguments], kind_of_type(node.type)
        if node.operator == "room":
            return self._write(kinds[0], codes.ROOM)
        if node.operator == "as":
            return self._as(kinds[0], kind)
        if node.operator == "round":
            return self._round(kinds[0], kind)
        if node.operator == "quotient":
            return self._quotient(kinds[0], kinds[1], kind, node)
        if node.operator in _OF_DOUBLE:
            return self._write(kind, codes.FLOAT_FUNCTION, _OF_DOUBLE[node.operator])
        if node.operator in _OF_DOUBLES:
            return self._write(kind, _OF_DOUBLES[node.operator], 64)
        if node.operator in _EXTREMES:
            return self._write(self._common(node, *kinds), _EXTREMES[node.operator])
        return self._write(kind, _DIVISIONS[node.operator])

    def _choice(self, node: Word) -> Kind:
        condition, value, other = node.arguments
        self.condition(condition)
        no = self._jump()
        left, places = self._branch(value)
        end = self._jump()
        self._land(no, codes.BRANCH)
        right, others = self._branch(other)
        self._land(end, codes.JUMP)
        return self._joined(node, (left, right), (places, others))

    def _first(self, node: Word) -> Kind:
        left, places = self._branch(node.arguments[0])
        end = self._jump()
        right, others = self._branch(node.arguments[1])
        self._land(end, codes.KEEP)
        return self._joined(node, (left, right), (places, others))

    def _branch(self, node: Any) -> tuple[Kind, int | None]:
        """One of two ways to a value, and room for the operation that gives a decimal as many places as the other's."""
        kind = self.condition(node)
        return kind, self._jump() if kind.name == "decimal" else None

    def _joined(self, node: Word, kinds: tuple[Kind, Kind], rooms: tuple[int | None, int | None]) -> Kind:
        scale = max(kind.scale for kind in kinds)
        for kind, room in zip(kinds, rooms, strict=True):
            if room is not None:
                self.operations[room] = (codes.RESCALE, 0, self._power(scale - kind.scale, node))
        return replace(kind_of_type(node.type), scale=scale)

    def _as(self, kind: Kind, wanted: Kind) -> Kind:
        """The value on the stack as one of another type, which has all values of its own."""
        if wanted.name == "float" and kind.name == "decimal":
            self._write(wanted, codes.TO_FLOAT, 0, kind.scale, 1)
        elif wanted.name == "float":
            self._to_float(kind, 0)
        return replace(wanted, scale=min(kind.scale, wanted.scale))

    def _round(self, kind: Kind, wanted: Kind) -> Kind:
        if kind.scale <= wanted.scale:
            return kind
        self.leaves += 1
        self._write(LONG, codes.CONSTANT, 10 ** (kind.scale - wanted.scale), 0)
        return self._write(wanted, codes.QUOTIENT, 0)

    def _quotient(self, left: Kind, right: Kind, wanted: Kind, node: Word) -> Kind:
        more = wanted.scale - left.scale + right.scale
        if more < 0:
            self._write(right, codes.RESCALE, 0, self._power(-more, node))
        return self._write(wanted, codes.QUOTIENT, max(more, 0))

    def _constant(self, constant: Constant) -> Kind:
        """A constant that is no string."""
        kind = kind_of_constant(constant)
        if kind.name == "decimal":
            word, places = shortest(constant.value)
            return self._write(replace(kind, scale=places), codes.CONSTANT, word, 0)
        word = 0 if constant.value is None else word_of(constant)
        return self._write(kind, codes.CONSTANT, word, int(constant.value is None))

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

    def _common(self, node: Call | Word, left: Kind, right: Kind) -> Kind:
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
                    self._rescale(node, depth, self._power(scale - kind.scale, node))
            if "decimal" in (left.name, right.name):
                return Kind("decimal", scale=scale)
            return Kind("integer", max(left.bits, right.bits))
        if {left.name, right.name} == {"duration", "integer"}:  # of microseconds
            return Kind("duration")
        if left.name != right.name or left.name == "opaque":
            raise self._unsupported(f"{node.operator} of {left.name} and {right.name} values")
        return left

    def _rescale(self, node: Call | Word, depth: int, factor: int) -> None:
        """Multiplies an operand; a constant on top of the stack at once."""
        last = self.operations[-1]
        if depth == 0 and isinstance(node.arguments[1], Constant) and abs(last[1] * factor) < MOST:
            self.operations[-1] = (last[0], last[1] * factor, *last[2:])
        else:
            self.operations.append((codes.RESCALE, depth, factor))

    def _power(self, digits: int, node: Call | Word) -> int:
        if digits > 18:
            raise self._unsupported(f"{node.operator} of decimals whose scales differ by {digits}")
        return int(10**digits)

    def _to_float(self, kind: Kind, depth: int) -> None:
        if kind.name != "float":
            self._write(DOUBLE, codes.TO_FLOAT, depth, kind.scale)

    def _arithmetic(self, node: Call, left: Kind, right: Kind) -> Kind:
        if node.operator == "div":
            if not {left.name, right.name} <= {*_NUMBERS, "null"}:
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


def _temporal(operator: str, left: Kind, right: Kind) -> Kind | None:
    names = {left.name, right.name}
    if operator == "sub" and names in ({"timestamp"}, {"duration"}, {"timestamp", "integer"}):  # of microseconds
        return Kind("duration")
    if operator in ("add", "sub") and right.name == "duration" and left.name in ("timestamp", "duration"):
        return left
    return None
