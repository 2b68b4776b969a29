"""Arithmetic on integers, decimals, floats and intervals; the expression's mode governs overflow and division by zero."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from sparkcep.engines.functions.base import (
    EXACT,
    Refused,
    failure,
    fitted,
    is_true,
    mode,
    simple,
    strict,
    type_of,
    whole,
)
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import BITS, kind

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
}
_EXACT = {"Add": EXACT.add, "Subtract": EXACT.subtract, "Multiply": EXACT.multiply}


@strict(*_PLAIN)
def _arithmetic(node: SparkFunction) -> Callable[[Any, Any], Any]:
    result, how = type_of(node), mode(node)
    name = kind(result)
    if name == "decimal":
        exact = _EXACT[node.name]
        return lambda left, right: fitted(exact(left, right), result, how)
    plain = _PLAIN[node.name]
    if name == "double":
        return lambda left, right: _double(plain, left, right)
    if name == "float":
        return lambda left, right: _single(_double(plain, left, right))
    if name in BITS or name == "interval":
        return lambda left, right: whole(plain(left, right), name, how)
    raise Refused(f"{node.text} of the type {result}")


def _double(plain: Callable[[Any, Any], Any], left: float, right: float) -> float:
    return float(plain(left, right))  # + - * of floats never raise


def _single(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@strict("Divide", "IntegralDivide", "Remainder", "Pmod")
def _division(node: SparkFunction) -> Callable[[Any, Any], Any]:
    result, how, divide = type_of(node), mode(node), _division_of(node)

    def function(left: Any, right: Any) -> Any:
        if right == 0:
            if how == "ANSI":
                raise failure(f"{node.text} by zero", "DIVIDE_BY_ZERO")
            return None
        value = divide(left, right)
        if isinstance(value, Decimal):
            return fitted(value, result, how)
        return whole(value, result, how) if isinstance(value, int) else value

    return function


def _division_of(node: SparkFunction) -> Callable[[Any, Any], Any]:
    name = kind(type_of(node.arguments[0]))
    if node.name == "IntegralDivide":
        return _truncated
    if node.name == "Divide":
        if name == "decimal":
            return EXACT.divide
        if name == "double":
            return _float_divide
        raise Refused(f"division of {name}")
    remainder = {"decimal": EXACT.remainder, "double": _float_remainder, "float": _single_remainder}.get(
        name, _remainder
    )
    add = EXACT.add if name == "decimal" else operator.add
    return remainder if node.name == "Remainder" else lambda left, right: _positive(remainder, add, left, right)


def _float_divide(left: float, right: float) -> float:
    return left / right


def _float_remainder(left: float, right: float) -> float:
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _single_remainder(left: float, right: float) -> float:
    return _single(_float_remainder(left, right))


def _truncated(left: Any, right: Any) -> int:
    if isinstance(left, Decimal):
        return int(EXACT.divide_int(left, right))
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _truncated(left, right)


def _positive(remainder: Callable[[Any, Any], Any], add: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    rest = remainder(left, right)
    return remainder(add(rest, right), right) if rest < 0 else rest


@strict("UnaryMinus", "Abs")
def _sign(node: SparkFunction) -> Callable[[Any], Any]:
    result, how = type_of(node), "ANSI" if is_true(node) else "LEGACY"
    change = operator.neg if node.name == "UnaryMinus" else abs
    if kind(result) in BITS or kind(result) == "interval":
        return lambda value: whole(change(value), result, how)
    if kind(result) == "decimal":
        return EXACT.minus if node.name == "UnaryMinus" else EXACT.abs
    if kind(result) in ("double", "float"):
        return lambda value: change(value)
    raise Refused(f"{node.text} of the type {result}")


simple("UnaryPositive", lambda value: value)
simple("BitwiseAnd", operator.and_)
simple("BitwiseOr", operator.or_)
simple("BitwiseXor", operator.xor)
simple("BitwiseNot", operator.invert)
simple("BitwiseCount", lambda value: (int(value) & (1 << 64) - 1).bit_count())


@strict("ShiftLeft", "ShiftRight", "ShiftRightUnsigned")
def _shift(node: SparkFunction) -> Callable[[int, int], Any]:
    """As Java's: by as many bits as the last five or six bits of the number say."""
    result = type_of(node)
    bits = BITS[result]
    if node.name == "ShiftLeft":
        return lambda value, by: whole(value << by % bits, result, "LEGACY")
    if node.name == "ShiftRight":
        return lambda value, by: value >> by % bits
    return lambda value, by: whole((value & (1 << bits) - 1) >> by % bits, result, "LEGACY")
