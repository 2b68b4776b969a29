"""Parts of conditions over several rows, typed as Spark types them.

In: the operands of an operator. Out: an ``Operand`` whose leaves are cast (by Spark) to the common type of the operator. Whatever needs more than the
engines' operators raises ``NotForTheEngine``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import reduce
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
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from rewrites.bind.decimals import SUM_DIGITS, wider
from rewrites.sql.instants import interval_micros
from sparkcep.spec import expression as ir

_AS_THEY_ARE = (BooleanType, DateType, TimestampType, TimestampNTZType, BinaryType)
_FLOATS = FloatType | DoubleType
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
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
    whole: bool = False
    """As in ``Call``."""


class NotForTheEngine(Exception):
    """The condition needs more of Spark than the engines implement."""


def call(operator: ir.Operator, *arguments: Operand) -> Operand:
    """A condition."""
    return Operand(BooleanType(), operator=operator, arguments=arguments)


def reads_wide(operand: Operand) -> bool:
    """Whether a condition reads a decimal that may have more digits than an engine's words. Of Spark's functions it asks Python where one does."""
    if operand.operator is not None:
        return any(map(reads_wide, operand.arguments))
    kind, most = operand.data_type, EXACT_DIGITS if operand.source is None else EXACT_DIGITS + SUM_DIGITS
    return isinstance(kind, DecimalType) and kind.precision > most


def is_true(condition: Operand) -> Operand:
    """The condition, FALSE for NULL. Twice what it is: the slow path is asked for the whole instead."""
    if _is_slow(condition):
        raise NotForTheEngine
    return replace(call("and", call("not", call("is_null", condition)), condition), whole=True)


def _is_slow(operand: Operand) -> bool:
    return isinstance(operand.source, ir.SparkFunction) or any(map(_is_slow, operand.arguments))


def first_known(values: list[Operand], condition: Callable[[Operand], Operand]) -> Operand:
    """``condition`` of the first value that is not NULL, or of the last one. Twice what it is: see ``is_true``."""
    if any(map(_is_slow, values)):
        raise NotForTheEngine
    found = condition(values[-1])
    for value in reversed(values[:-1]):
        missing = call("is_null", value)
        found = call("or", call("and", call("not", missing), condition(value)), call("and", missing, found))
    return replace(found, whole=True)


def alike(values: list[Operand]) -> list[Operand]:
    """Values in their common type."""
    target = reduce(_common, (value.data_type for value in values))
    return [_cast(value, target) for value in values]


def is_in_doubt(left: Operand, right: Operand) -> bool:
    """Whether the type of both together depends on the mode: FLOAT and an integer are DOUBLE in ANSI mode."""
    kinds = left.data_type, right.data_type
    return any(isinstance(kind, FloatType) for kind in kinds) and any(isinstance(kind, IntegralType) for kind in kinds)


def comparison(operator: ir.Operator, left: Operand, right: Operand) -> Operand:
    """A comparison of values brought to one type."""
    target = _common(left.data_type, right.data_type)
    return call(operator, _cast(left, target), _cast(right, target))


def arithmetic(operator: ir.Operator, left: Operand, right: Operand) -> Operand:
    """A sum, a difference or a product of integers, floats or decimals."""
    if isinstance(left.data_type, FloatType) and isinstance(right.data_type, FloatType):
        return Operand(FloatType(), operator=operator, arguments=(left, right))
    decimal = _decimal_result(operator, left.data_type, right.data_type)
    if decimal is not None:
        arguments = tuple(_cast(side, _decimal(side.data_type)) for side in (left, right))
        return Operand(decimal, operator=operator, arguments=arguments)
    target = _widest(left.data_type, right.data_type) or _common(left.data_type, right.data_type)
    if not isinstance(target, IntegralType | DoubleType):
        raise NotForTheEngine
    return Operand(target, operator=operator, arguments=(_cast(left, target), _cast(right, target)))


def quotient(left: Operand, right: Operand, *, ansi: bool) -> Operand:
    """A division that Spark does with doubles. Not ``ansi``: NULL where the divisor is 0."""
    kinds = left.data_type, right.data_type
    if any(isinstance(kind, DecimalType) for kind in kinds) and not any(isinstance(kind, _FLOATS) for kind in kinds):
        raise NotForTheEngine
    if not ansi:
        if right.operator is not None or right.source is not None:
            raise NotForTheEngine
        right = replace(right, text=f"NULLIF({right.text}, 0)")
    return Operand(DoubleType(), operator="div", arguments=(_double(left), _double(right)))


def _double(operand: Operand) -> Operand:
    """The operand as a double; engines bring integers to it that they compute themselves."""
    if isinstance(operand.data_type, IntegralType) and (operand.operator is not None or operand.source is not None):
        return operand
    if not isinstance(operand.data_type, IntegralType | DecimalType | _FLOATS):
        raise NotForTheEngine
    return _cast(operand, DoubleType())


def days(operand: Operand) -> Operand:
    """The day of a date or a timestamp, as a number."""
    known = isinstance(operand.data_type, DateType | TimestampType | TimestampNTZType)
    if not known or operand.operator is not None or operand.source is not None:
        raise NotForTheEngine
    return Operand(IntegerType(), operand.at, f"UNIX_DATE(CAST({operand.text} AS DATE))")


def negative(operand: Operand) -> Operand:
    """``-x`` as ``0 - x``."""
    if not isinstance(operand.data_type, IntegralType | _FLOATS):
        raise NotForTheEngine
    zero = Operand(operand.data_type, text=f"CAST(0 AS {operand.data_type.simpleString()})")
    return Operand(operand.data_type, operator="sub", arguments=(zero, operand))


def absolute(operand: Operand) -> Operand:
    """``ABS(x)``."""
    if not isinstance(operand.data_type, IntegralType | DecimalType | DayTimeIntervalType | _FLOATS):
        raise NotForTheEngine
    return Operand(operand.data_type, operator="abs", arguments=(operand,))


def _widest(left: DataType, right: DataType) -> DataType | None:
    """The wider of two integer types: Spark computes in it, and overflow is an error."""
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return max(left, right, key=lambda one: _INTEGERS.index(type(one)))
    return None


def _common(left: DataType, right: DataType) -> DataType:
    """The type that both sides of an operator have, or the one to which Spark widens them; FLOAT is compared as DOUBLE. The rest is left to Spark."""
    if left == right and (isinstance(left, (*_AS_THEY_ARE, IntegerType)) or left == StringType()):
        return left
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return LongType()
    if isinstance(left, DayTimeIntervalType) and isinstance(right, DayTimeIntervalType):
        return DayTimeIntervalType()
    pair = (left, right)
    numbers = all(isinstance(side, DecimalType | IntegralType | _FLOATS) for side in pair)
    if numbers and any(isinstance(side, _FLOATS) for side in pair):
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
    found = wider(left, right)
    if found is None:
        raise NotForTheEngine
    return found


def _cast(operand: Operand, target: DataType) -> Operand:
    """The operand cast to the operator's type; Spark casts the leaves."""
    if isinstance(target, DayTimeIntervalType):
        return _micros(operand)
    if operand.data_type == target:
        return operand
    if operand.operator is not None and _widest(operand.data_type, target) == target:
        return operand  # engines mix integers of any width
    engine = operand.operator is not None or operand.source is not None
    if engine and isinstance(operand.data_type, FloatType) and isinstance(target, DoubleType):
        return operand  # and floats
    if operand.operator is not None and isinstance(target, DecimalType) and isinstance(operand.data_type, DecimalType):
        return _rescaled(operand, target.scale)
    if operand.carried and _widens(operand.data_type, target):
        return operand
    if engine:
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
