"""What a result holds, and how it is written: the format that makes a comparison with Spark's answer exact.

A value is written as Spark's ``CAST(value AS STRING)`` under ``SET TIME ZONE 'UTC'``: ``2013-01-31``,
``2013-01-31 17:05:00``, decimals with the digits of their type. NULL is an empty field; no value is an empty string.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Row = dict[str, Any]

ONE_DECIMAL = Decimal("0.1")


def mean(total: int, count: int) -> Decimal:
    """Spark's ``CAST(AVG(x) AS DECIMAL(6, 1))``: the shortest text of the double, rounded half up."""
    return Decimal(repr(total / count)).quantize(ONE_DECIMAL, ROUND_HALF_UP)


def text(value: str | int | Decimal | date | datetime | None) -> str:
    """The value as a field of the CSV file."""
    return "" if value is None else str(value)
