"""Arithmetic of intervals: of days to seconds as microseconds, of years and months as months."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from sparkcep.engines.functions.base import EXACT, failure, simple, strict, towards_zero, type_of, whole
from sparkcep.engines.functions.times import DAY, WIDTHS
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import BITS, kind

_QUOTIENT = Context(prec=39, rounding=ROUND_HALF_DOWN)
"""How Spark divides decimals, before it rounds."""


def _rest(value: int, unit: int) -> int:
    return value - unit * towards_zero(value, unit)


@strict("MultiplyDTInterval", "MultiplyYMInterval")
def _multiply(node: SparkFunction) -> Callable[[int, Any], Any]:
    return _rounded(
        node, lambda value, factor: EXACT.multiply(Decimal(value), factor), lambda value, factor: value * factor
    )


@strict("DivideDTInterval", "DivideYMInterval")
def _divide(node: SparkFunction) -> Callable[[int, Any], Any]:
    divide = _rounded(node, lambda value, by: _QUOTIENT.divide(Decimal(value), by), lambda value, by: value / by)

    def function(value: int, by: Any) -> Any:
        if by == 0:
            raise failure("an interval by zero", "DIVIDE_BY_ZERO")
        return divide(value, by)

    return function


def _rounded(
    node: SparkFunction, exact: Callable[[int, Decimal], Decimal], nearest: Callable[[int, float], float]
) -> Callable[[int, Any], Any]:
    """A function of an interval and a number, rounded half up to the type's unit; an error where it has no room."""
    result = "bigint" if node.name.endswith("DTInterval") else "int"
    if kind(type_of(node.arguments[1])) in (*BITS, "decimal"):
        return lambda value, by: whole(int(exact(value, Decimal(by)).to_integral_value(ROUND_HALF_UP)), result, "ANSI")

    def function(value: int, by: float) -> Any:
        found = nearest(value, by)
        if not math.isfinite(found):
            raise failure(f"{found} is no interval", "OVERFLOW")
        return whole(int(Decimal(found).to_integral_value(ROUND_HALF_UP)), result, "ANSI")

    return function


simple("ExtractANSIIntervalDays", lambda micros: towards_zero(micros, DAY))
simple("ExtractANSIIntervalHours", lambda micros: towards_zero(_rest(micros, DAY), WIDTHS["HOUR"]))
simple("ExtractANSIIntervalMinutes", lambda micros: towards_zero(_rest(micros, WIDTHS["HOUR"]), WIDTHS["MINUTE"]))
simple("ExtractANSIIntervalSeconds", lambda micros: Decimal(_rest(micros, WIDTHS["MINUTE"])).scaleb(-6, EXACT))
simple("ExtractANSIIntervalYears", lambda months: towards_zero(months, 12))
simple("ExtractANSIIntervalMonths", lambda months: _rest(months, 12))
