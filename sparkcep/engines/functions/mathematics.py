"""Mathematical functions. Transcendental ones (exp, ln, pow, sin …) may differ from Java in the last bit; all others are equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from sparkcep.engines.functions.base import (
    EXACT,
    Closure,
    Refused,
    failure,
    fitted,
    is_true,
    lazy,
    simple,
    strict,
    type_of,
    whole,
)
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import BITS, kind

_LOGARITHMS: dict[str, Callable[[float], float]] = {
    "Log": math.log,
    "Log10": math.log10,
    "Log2": math.log2,
}

simple("Sqrt", lambda x: math.sqrt(x) if x >= 0 else math.nan)
simple("Signum", lambda x: x if math.isnan(x) or x == 0 else math.copysign(1.0, x))


@strict(*_LOGARITHMS)
def _logarithm(node: SparkFunction) -> Callable[[float], float | None]:
    logarithm = _LOGARITHMS[node.name]
    return lambda x: None if x <= 0 else math.inf if x == math.inf else logarithm(x)


simple("Log1p", lambda x: None if x <= -1 else math.log1p(x))
simple("Logarithm", lambda base, x: None if base <= 0 or x <= 0 else math.log(x) / math.log(base))


def _everywhere(function: Callable[..., float]) -> Callable[..., float]:
    """As Java's: infinite where it has too large a value, NaN where it has none."""

    def total(*arguments: float) -> float:
        try:
            return function(*arguments)
        except OverflowError:
            return math.copysign(math.inf, arguments[0])
        except ValueError:
            return math.nan

    return total


def _inverse(x: float) -> float:
    return 1 / x if x else math.copysign(math.inf, x)


def _pow(x: float, y: float) -> float:
    try:
        return math.pow(x, y) if abs(x) != 1 or not (math.isinf(y) or math.isnan(y)) else math.nan
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:  # 0 to a negative power; a negative number to a fraction
        return math.inf if x == 0 else math.nan


def _rint(x: float) -> float:
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


simple("Pow", _pow)
for _name, _function in {
    "Exp": math.exp,
    "Expm1": math.expm1,
    "Cbrt": math.cbrt,
    "Sin": math.sin,
    "Cos": math.cos,
    "Tan": math.tan,
    "Cot": lambda x: _inverse(math.tan(x)),
    "Sec": lambda x: _inverse(math.cos(x)),
    "Csc": lambda x: _inverse(math.sin(x)),
    "Asin": math.asin,
    "Acos": math.acos,
    "Atan": math.atan,
    "Sinh": math.sinh,
    "Tanh": math.tanh,
    "Hypot": math.hypot,
}.items():
    simple(_name, _everywhere(_function))
simple("Cosh", lambda x: _everywhere(math.cosh)(abs(x)))
simple("Atan2", lambda y, x: math.atan2(y + 0.0, x + 0.0))
simple("ToRadians", math.radians)
simple("ToDegrees", math.degrees)
simple("Rint", _rint)
simple("Factorial", lambda n: math.factorial(n) if 0 <= n <= 20 else None)


@strict("Floor", "Ceil")
def _whole(node: SparkFunction) -> Callable[[Any], Any]:
    source, result = kind(type_of(node.arguments[0])), type_of(node)
    if source == "decimal":
        rounding = ROUND_FLOOR if node.name == "Floor" else ROUND_CEILING
        return lambda x: x.quantize(Decimal(1), rounding=rounding, context=EXACT)
    if source == "bigint":
        return lambda x: x
    if source == "double":
        nearest, fails = math.floor if node.name == "Floor" else math.ceil, is_true(node)
        return lambda x: _to_long(nearest, x, fails)
    raise Refused(f"{node.text} of the type {result}")


def _to_long(nearest: Callable[[float], int], x: float, fails: bool) -> int:
    """A value out of range is an error, or saturates as in Java (NaN becomes 0)."""
    if fails and not -(2.0**63) <= x < 2.0**63:
        raise failure(f"{x} does not fit BIGINT", "OVERFLOW")
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return -(1 << 63) if x < 0 else (1 << 63) - 1
    return min(max(nearest(x), -(1 << 63)), (1 << 63) - 1)


@lazy("Round", "BRound")
def _round(node: SparkFunction, arguments: list[Closure]) -> Closure:
    value_of, scale_of = arguments
    source, result = kind(type_of(node.arguments[0])), type_of(node)
    rounding = ROUND_HALF_UP if node.name == "Round" else ROUND_HALF_EVEN
    if source not in (*BITS, "decimal", "double"):
        raise Refused(f"{node.text} of the type {result}")

    def closure(frame: Any) -> Any:
        value, scale = value_of(frame), scale_of(frame)
        if value is None or scale is None:
            return None
        if source == "decimal":
            return fitted(value.quantize(Decimal(1).scaleb(-scale), rounding=rounding, context=EXACT), result, "ANSI")
        if source == "double":
            return _round_double(value, scale, rounding)
        if scale >= 0:
            return value
        return whole(
            int(Decimal(value).quantize(Decimal(1).scaleb(-scale), rounding=rounding, context=EXACT)), result, "ANSI"
        )

    return closure


def _round_double(value: float, scale: int, rounding: str) -> float:
    if math.isnan(value) or (scale >= 0 and abs(value) >= 2**53):  # a whole number, or infinite
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-scale), rounding=rounding, context=EXACT))
