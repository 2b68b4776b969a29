"""Conditions over several rows, typed as Spark types them: comparison, +, -, *, ABS and logic over leaves that each read one row.

In: syntax trees. Out: ``Operand`` trees whose leaves are SQL over one row, cast (by Spark) to the common type of their operator. Whatever needs more
than that raises ``NotForTheEngine``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegerType,
    IntegralType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
from sqlglot import exp

from rewrites.bind.relation import Relation
from rewrites.dialect import span_of
from rewrites.sql.instants import interval_micros, local_micros
from sparkcep.spec import expression as ir

_COMPARISONS: dict[type[exp.Expression], ir.Operator] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe",
}
_ARITHMETIC: dict[type[exp.Expression], ir.Operator] = {exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul"}
_LOGIC: dict[type[exp.Expression], ir.Operator] = {exp.And: "and", exp.Or: "or"}
_AS_THEY_ARE = (BooleanType, DateType, TimestampType, TimestampNTZType, BinaryType)
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
OPERATORS = "comparison, IN, +, -, *, ABS, IS NULL, IF and CASE between conditions, AND, OR, NOT"
"""What stands between values of different rows in a condition, for hints."""
EXACT_DIGITS = 18
"""The unscaled value of a decimal with this many digits fits 64 bits."""


@dataclass(frozen=True, slots=True)
class Operand:
    """Part of a condition: an operator, or a leaf.

    A leaf is SQL (``text``) over the row at ``at`` (a variable or a navigation; None: a constant), or a ``source`` that only the engine has (a
    classifier, an aggregate). ``data_type`` is Spark's.
    """

    data_type: DataType
    at: Hashable = None
    text: str = ""
    source: Any = None
    operator: ir.Operator | None = None
    arguments: tuple[Operand, ...] = ()
    carried: bool = False
    """Of a source: the engine itself brings its numbers to the type of an operator."""


class NotForTheEngine(Exception):
    """The condition needs more of Spark than the engines implement."""


class OperandBuilder(ABC):
    """Syntax tree → Operand; subclasses define the leaves, and have the relation that they are of."""

    __slots__ = ()
    relation: Relation

    @abstractmethod
    def leaf(self, node: exp.Expression) -> Operand:
        """An expression over one row (or none)."""

    @abstractmethod
    def is_leaf(self, node: exp.Expression) -> bool:
        """Whether ``node`` reads at most one row."""

    def boolean(self, node: exp.Expression) -> Operand:
        """A condition. Raises NotForTheEngine."""
        node = node.unnest()
        kind = type(node)
        if kind in _LOGIC:
            return _call(_LOGIC[kind], self.boolean(node.left), self.boolean(node.right))
        if isinstance(node, exp.Not):
            return self._negation(node)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return _call("is_null", self.value(node.this))
        if isinstance(node, exp.Null):
            return Operand(BooleanType(), text="CAST(NULL AS BOOLEAN)")
        if self.is_leaf(node):
            return self._boolean_leaf(node)
        if kind in _COMPARISONS:
            return _comparison(_COMPARISONS[kind], self.value(node.left), self.value(node.right))
        if isinstance(node, exp.NullSafeNEQ):
            return _call("not", _comparison("eq_null_safe", self.value(node.left), self.value(node.right)))
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            value = self.value(node.this)
            low = _comparison("ge", value, self.value(node.args["low"]))
            return _call("and", low, _comparison("le", value, self.value(node.args["high"])))
        if isinstance(node, exp.In):
            return self._member(node)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
            tested = self.boolean(node.this)
            return _is_true(tested if node.expression.this else _call("not", tested))
        if isinstance(node, exp.If) or (isinstance(node, exp.Case) and node.this is None):
            return self._choice(node)
        raise NotForTheEngine

    def _member(self, node: exp.In) -> Operand:
        """``x IN (y, z)`` as ``x = y OR x = z``; values of several types Spark first brings to one."""
        if not node.expressions:
            raise NotForTheEngine
        value, *others = map(self.value, (node.this, *node.expressions))
        if any(other.data_type != value.data_type for other in others):
            raise NotForTheEngine
        parts = [_comparison("eq", value, other) for other in others]
        return parts[0] if len(parts) == 1 else _call("or", *parts)

    def _choice(self, node: exp.Case | exp.If) -> Operand:
        """``CASE WHEN c THEN x ELSE y END``, of conditions, as ``c IS TRUE AND x OR c IS NOT TRUE AND y``."""
        last = node.args.get("default" if isinstance(node, exp.Case) else "false")
        if last is None:
            raise NotForTheEngine
        result = self.boolean(last)
        for branch in reversed(node.args["ifs"] if isinstance(node, exp.Case) else [node]):
            taken = _is_true(self.boolean(branch.this))
            value = self.boolean(branch.args["true"])
            result = _call("or", _call("and", taken, value), _call("and", _call("not", taken), result))
        return result

    def _negation(self, node: exp.Not) -> Operand:
        """``NOT x = y``; in ``x NOT IN (y)`` the NOT is in the middle, so the negated expression has no text of its own."""
        if span_of(node.this) != span_of(node):
            return _call("not", self.boolean(node.this))
        if self.is_leaf(node):
            return self._boolean_leaf(node)
        return _call("not", OperandBuilder.boolean(self, node.this))

    def value(self, node: exp.Expression) -> Operand:
        """A value. Raises NotForTheEngine."""
        node = node.unnest()
        if self.is_leaf(node):
            return self.leaf(node)
        if type(node) in _ARITHMETIC:
            left, right = self.value(node.left), self.value(node.right)
            if isinstance(node, exp.Sub) and all(isinstance(one.data_type, TimestampType) for one in (left, right)):
                return Operand(DayTimeIntervalType(), operator="sub", arguments=(self.since(left), self.since(right)))
            return _arithmetic(_ARITHMETIC[type(node)], left, right)
        if isinstance(node, exp.Abs):
            return _absolute(self.value(node.this))
        raise NotForTheEngine

    def since(self, operand: Operand) -> Operand:
        """A TIMESTAMP as microseconds whose differences are Spark's: those of the zone's local times."""
        if operand.operator is not None or operand.source is not None:
            raise NotForTheEngine
        steady = self.relation.has_steady_zone
        micros = f"UNIX_MICROS({operand.text})" if steady else local_micros(f"CAST({operand.text} AS TIMESTAMP_NTZ)")
        return Operand(LongType(), operand.at, micros)

    def _boolean_leaf(self, node: exp.Expression) -> Operand:
        leaf = self.leaf(node)
        if isinstance(leaf.data_type, BooleanType):
            return leaf
        raise NotForTheEngine


def _call(operator: ir.Operator, *arguments: Operand) -> Operand:
    return Operand(BooleanType(), operator=operator, arguments=arguments)


def _is_true(condition: Operand) -> Operand:
    """The condition, FALSE for NULL. Twice what it is: the slow path is asked for the whole instead."""
    if _is_slow(condition):
        raise NotForTheEngine
    return _call("and", _call("not", _call("is_null", condition)), condition)


def _is_slow(operand: Operand) -> bool:
    return isinstance(operand.source, ir.SparkFunction) or any(map(_is_slow, operand.arguments))


def _comparison(operator: ir.Operator, left: Operand, right: Operand) -> Operand:
    target = _common(left.data_type, right.data_type)
    return _call(operator, _cast(left, target), _cast(right, target))


def _arithmetic(operator: ir.Operator, left: Operand, right: Operand) -> Operand:
    decimal = _decimal_result(operator, left.data_type, right.data_type)
    if decimal is not None:
        arguments = tuple(_cast(side, _decimal(side.data_type)) for side in (left, right))
        return Operand(decimal, operator=operator, arguments=arguments)
    target = _widest(left.data_type, right.data_type) or _common(left.data_type, right.data_type)
    if not isinstance(target, IntegralType | DoubleType):
        raise NotForTheEngine
    return Operand(target, operator=operator, arguments=(_cast(left, target), _cast(right, target)))


def _absolute(operand: Operand) -> Operand:
    if not isinstance(operand.data_type, IntegralType | DoubleType | DecimalType | DayTimeIntervalType):
        raise NotForTheEngine
    return Operand(operand.data_type, operator="abs", arguments=(operand,))


def _widest(left: DataType, right: DataType) -> DataType | None:
    """The wider of two integer types: Spark computes in it, and overflow is an error."""
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return max(left, right, key=lambda one: _INTEGERS.index(type(one)))
    return None


def _common(left: DataType, right: DataType) -> DataType:
    """The type that both sides of an operator have, or the one to which Spark widens them (DOUBLE if either side is DOUBLE). Anything else is left to
    Spark.
    """
    if left == right and (isinstance(left, (*_AS_THEY_ARE, IntegerType)) or left == StringType()):
        return left
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return LongType()
    if isinstance(left, DoubleType) and isinstance(right, DoubleType):
        return left
    if isinstance(left, DayTimeIntervalType) and isinstance(right, DayTimeIntervalType):
        return DayTimeIntervalType()
    pair = {type(left), type(right)}
    if DoubleType in pair and all(isinstance(side, DoubleType | DecimalType | IntegralType) for side in (left, right)):
        return DoubleType()
    if isinstance(left, DecimalType | IntegralType) and isinstance(right, DecimalType | IntegralType):
        return _wider(_decimal(left), _decimal(right))
    raise NotForTheEngine


def _decimal_result(operator: ir.Operator, left: DataType, right: DataType) -> DecimalType | None:
    """Spark's type of arithmetic on decimals, if neither side is a DOUBLE. Engines compute with up to 18 digits; more are left to Spark."""
    if DecimalType not in (type(left), type(right)) or not all(
        isinstance(t, DecimalType | IntegralType) for t in (left, right)
    ):
        return None
    one, two = _decimal(left), _decimal(right)
    return _narrow(*ir.decimal_digits(operator, (one.precision, one.scale), (two.precision, two.scale)))


def _narrow(precision: int, scale: int) -> DecimalType:
    if precision > EXACT_DIGITS:
        raise NotForTheEngine
    return DecimalType(precision, scale)


def _rescaled(operand: Operand, scale: int) -> Operand:
    """Decimal arithmetic rescaled to more decimal places, by rescaling its operands."""
    kind = operand.data_type
    assert isinstance(kind, DecimalType)
    if scale == kind.scale:
        return operand
    if operand.operator not in ("add", "sub", "abs"):
        raise NotForTheEngine
    kinds = [(one, _decimal(one.data_type)) for one in operand.arguments]
    arguments = tuple(_cast(one, DecimalType(own.precision - own.scale + scale, scale)) for one, own in kinds)
    return Operand(_narrow(kind.precision - kind.scale + scale, scale), operator=operand.operator, arguments=arguments)


def _decimal(data_type: DataType) -> DecimalType:
    if isinstance(data_type, DecimalType):
        return data_type
    return DecimalType(20 if isinstance(data_type, LongType) else 10, 0)


def _wider(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision > 38:
        raise NotForTheEngine
    return DecimalType(precision, scale)


def _cast(operand: Operand, target: DataType) -> Operand:
    """The operand cast to the operator's type; Spark casts the leaves."""
    if isinstance(target, DayTimeIntervalType):
        return _micros(operand)
    if operand.data_type == target:
        return operand
    if operand.operator is not None and _widest(operand.data_type, target) == target:
        return operand  # engines mix integers of any width
    if operand.operator is not None and isinstance(target, DecimalType) and isinstance(operand.data_type, DecimalType):
        return _rescaled(operand, target.scale)
    if operand.carried and _widens(operand.data_type, target):
        return operand
    if operand.operator is not None or operand.source is not None:
        raise NotForTheEngine
    return Operand(target, operand.at, f"CAST({operand.text} AS {target.simpleString()})")


def _widens(own: DataType, target: DataType) -> bool:
    """Whether an engine computes with an integer (or a decimal beside one of more digits) as it is."""
    if isinstance(own, IntegralType):
        exact = not isinstance(target, DecimalType) or target.precision <= EXACT_DIGITS + 2
        return isinstance(target, IntegralType | DoubleType | DecimalType) and exact
    return isinstance(own, DecimalType) and isinstance(target, DecimalType) and target.precision <= EXACT_DIGITS


def _micros(operand: Operand) -> Operand:
    """Day-time intervals as microseconds."""
    if operand.operator is not None:
        return operand
    if operand.source is not None:
        raise NotForTheEngine
    return Operand(LongType(), operand.at, interval_micros(operand.text))
