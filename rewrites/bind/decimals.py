"""Spark's types of sums and averages of decimals."""

from __future__ import annotations

from pyspark.sql.types import DecimalType

SUM_DIGITS, AVERAGE_DIGITS, MAX_DIGITS = 10, 4, 38
"""Digits that a sum has more than its values, decimal places that an average has more, and what they are limited to."""


def sum_type(values: DecimalType) -> DecimalType:
    """The type of SUM."""
    return DecimalType(min(values.precision + SUM_DIGITS, MAX_DIGITS), values.scale)


def mean_type(values: DecimalType) -> DecimalType:
    """The type of AVG."""
    return DecimalType(
        min(values.precision + AVERAGE_DIGITS, MAX_DIGITS), min(values.scale + AVERAGE_DIGITS, MAX_DIGITS)
    )


def wider(left: DecimalType, right: DecimalType) -> DecimalType | None:
    """The type that has all values of both; None: Spark has none of so many digits."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return DecimalType(precision, scale) if precision <= MAX_DIGITS else None


def quotient_places(total: DecimalType) -> int:
    """The decimal places of a sum's quotient by a BIGINT, a DECIMAL(20, 0)."""
    whole, places = total.precision - total.scale, max(6, total.scale + 21)
    return places if whole + places <= MAX_DIGITS else max(MAX_DIGITS - whole, min(places, 6))
