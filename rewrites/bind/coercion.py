"""Spark's rules for the types of operands (``AnsiTypeCoercion``, ``DecimalPrecision``), as far as they do not depend on settings. Types are text."""

from __future__ import annotations

from rewrites.bind.literals import DIGITS
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import BITS, digits, is_day_time, kind

FLOATS = ("float", "double")
MOST_DIGITS = 38


def is_number(type_text: str) -> bool:
    """Whether values are numbers."""
    return type_text in BITS or type_text in FLOATS or kind(type_text) == "decimal"


def are_times(types: set[str]) -> bool:
    """Whether values are all dates and timestamps, or all intervals of microseconds."""
    return types <= {"date", "timestamp", "timestamp_ntz"} or all(map(is_day_time, types))


def decimal_of(side: SparkFunction | Constant) -> str:
    """The decimal type of an integer: of a constant as many digits as it has."""
    if isinstance(side, Constant) and side.value is not None:
        return f"decimal({len(str(abs(side.value)))},0)"
    return f"decimal({DIGITS[side.type]},0)"


def wider(types: list[str]) -> str | None:
    """The type that has all values of numeric ones; None: Spark is to be asked."""
    if all(one in BITS for one in types):
        return max(types, key=BITS.__getitem__)
    if all(kind(one) == "decimal" for one in types):
        scale = max(digits(one)[1] for one in types)
        precision = scale + max(digits(one)[0] - digits(one)[1] for one in types)
        return f"decimal({precision},{scale})" if precision <= MOST_DIGITS else None
    return None
