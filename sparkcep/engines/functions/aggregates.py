"""Aggregates over an array of values (without NULLs), folded in row order as Spark does.

``stddev_samp`` … ``var_pop`` follow CentralMomentAgg (Spark, after Pébay 2008, formulas 2.1 and 2.2), step by step, so that they are
equal to the last bit. Names are Spark's function names; the binder wraps them around one of the engine's ARRAY_AGGs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sparkcep.engines.functions.base import (
    EXACT,
    Refused,
    element,
    exact_sum,
    fitted,
    key_of,
    simple,
    strict,
    type_of,
    whole,
)
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import kind

Moments = tuple[int, float, float]
"""Count, mean, sum of squared distances from the mean."""

NONE: Moments = (0, 0.0, 0.0)


def moments(before: Moments, value: float) -> Moments:
    """The moments after one more value."""
    count, mean, squares = before
    count += 1
    delta = value - mean
    step = delta / count
    return count, mean + step, squares + delta * (delta - step)


def _variance(found: Moments, sample: bool) -> float | None:
    count, _, squares = found
    if count == 0 or (sample and count == 1):
        return None
    return squares / (count - 1 if sample else count)


def _deviation(found: Moments, sample: bool) -> float | None:
    variance = _variance(found, sample)
    return None if variance is None else math.sqrt(variance)


OF_MOMENTS: dict[str, Callable[[Moments], float | None]] = {
    "var_samp": lambda found: _variance(found, True),
    "var_pop": lambda found: _variance(found, False),
    "stddev_samp": lambda found: _deviation(found, True),
    "stddev_pop": lambda found: _deviation(found, False),
}
"""What they are of moments, which engines fold by themselves, too."""


def _over_list(finish: Callable[[Moments], float | None]) -> Callable[[list[float]], float | None]:
    def function(values: list[float]) -> float | None:
        found = NONE
        for value in values:
            found = moments(found, value)
        return finish(found)

    return function


for _name, _finish in OF_MOMENTS.items():
    simple(_name, _over_list(_finish))


@strict("mean")
def _mean(node: SparkFunction) -> Callable[[Decimal, int], Any]:
    """AVG of decimals, of their sum and how many there are (over none there is no sum)."""
    result = type_of(node)
    return lambda total, count: fitted(EXACT.divide(total, Decimal(count)), result, "ANSI")


@strict("avg")
def _avg(node: SparkFunction) -> Callable[[list[Decimal]], Any]:
    """AVG of decimals."""
    result = type_of(node)
    return lambda values: (
        fitted(EXACT.divide(exact_sum(values), Decimal(len(values))), result, "ANSI") if values else None
    )


@strict("sum")
def _sum(node: SparkFunction) -> Callable[[list[Any]], Any]:
    result = type_of(node)
    if kind(result) == "decimal":
        return lambda values: fitted(exact_sum(values), result, "ANSI") if values else None
    if kind(result) == "bigint":
        return lambda values: whole(sum(values), result, "ANSI") if values else None
    return lambda values: _float_sum(values) if values else None


def _float_sum(values: list[float]) -> float:
    total = 0.0
    for value in values:  # one at a time, as Spark does; Python 3.12's ``sum`` uses compensated summation
        total += value
    return total


@strict("percentile")
def _percentile(node: SparkFunction) -> Callable[[list[float], float], float | None]:
    def function(values: list[float], fraction: float) -> float | None:
        if not values:
            return None
        ordered = sorted(values)
        position = (len(ordered) - 1) * fraction
        low, high = math.floor(position), math.ceil(position)
        if low == high or ordered[low] == ordered[high]:
            return float(ordered[low])
        return ordered[low] + (position - low) * (ordered[high] - ordered[low])

    return function


@strict("max_by", "min_by")
def _by(node: SparkFunction) -> Callable[[list[tuple[Any, Any]]], Any]:
    """MAX_BY / MIN_BY over (value, order) pairs; ties go to the later row."""
    pair = element(type_of(node.arguments[0]))
    if kind(pair) != "struct":
        raise Refused(f"{node.name} of {pair}")
    key = key_of(node.settings[0])
    best = max if node.name == "max_by" else min

    def function(pairs: list[tuple[Any, Any]]) -> Any:
        known = [(key(order), value) for value, order in reversed(pairs) if order is not None]
        return best(known, key=lambda item: item[0])[1] if known else None

    return function
