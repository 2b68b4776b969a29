"""Spark's types as text."""

from __future__ import annotations

BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
DECIMAL_TIME = "cast it to BIGINT or DOUBLE"
"""The hint for a time of an event that is a decimal."""


def kind(type_text: str) -> str:
    """``decimal(10,2)`` → decimal, ``array<int>`` → array, ``interval day to second`` → interval."""
    return type_text.split("(")[0].split("<")[0].split(" ")[0]


def is_day_time(type_text: str) -> bool:
    """Whether a type is an interval of microseconds."""
    return kind(type_text) == "interval" and bool({"day", "hour", "minute", "second"} & set(type_text.split()))


def digits(type_text: str) -> tuple[int, int]:
    """Precision and scale of a decimal type."""
    precision, scale = type_text[type_text.index("(") + 1 : -1].split(",")
    return int(precision), int(scale)
