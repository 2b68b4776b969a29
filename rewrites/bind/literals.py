"""Constants in conditions, which engines have as data: they are not sent as columns."""

from __future__ import annotations

import re

from pyspark.sql.types import DataType, DecimalType

from rewrites.bind.operands import EXACT_DIGITS
from rewrites.sql.instants import MICROS, interval_micros
from sparkcep.spec.expression import Constant

DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""The digits of integers, as decimals have them."""

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")
_CAST = re.compile(r"CAST\((.*) AS ([a-z0-9_(),]+)\)", re.DOTALL)
_STRING = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")
_INTERVAL = re.compile(
    re.escape(interval_micros("\0")).replace("\0", r"INTERVAL\s+'?(-?\d+)'?\s+(SECOND|MINUTE|HOUR|DAY)S?"),
    re.IGNORECASE,
)


def literal(text: str, data_type: DataType) -> Constant | None:
    """A number, string, boolean or NULL as data; None for any other expression, which travels as a column."""
    kind, text = data_type.simpleString(), text.strip()
    while (cast := _CAST.fullmatch(text)) and cast[2] == kind:
        text = cast[1].strip()
    if text.upper() == "NULL":
        return Constant(None, kind)
    if text.upper() in ("TRUE", "FALSE") and kind == "boolean":
        return Constant(text.upper() == "TRUE", kind)
    found = _STRING.fullmatch(text)
    if found and kind == "string":
        return Constant(found[1] if found[1] is not None else found[2], kind)
    interval = _INTERVAL.fullmatch(text)
    if interval and kind == "bigint":
        return Constant(int(interval[1]) * MICROS[interval[2].upper()], kind)
    if not _NUMBER.fullmatch(text):
        return None
    if kind in DIGITS:
        return _integer(text, kind)
    if kind == "double":
        return Constant(float(text), kind)
    return _decimal(text, data_type) if isinstance(data_type, DecimalType) else None


def _integer(text: str, kind: str) -> Constant | None:
    """None: no integer, or one that Spark refuses."""
    most = 1 << _BITS[kind] - 1
    fits = text.lstrip("-").isdigit() and -most <= int(text) < most
    return Constant(int(text), kind) if fits else None


def _decimal(text: str, data_type: DecimalType) -> Constant | None:
    digits, _, fraction = text.lstrip("-").partition(".")
    fits = (
        digits.isdigit()
        and len(fraction) <= data_type.scale
        and len(digits.lstrip("0")) <= data_type.precision - data_type.scale
    )
    if "e" in text.lower() or not fits or data_type.precision > EXACT_DIGITS:
        return None
    return Constant(text, data_type.simpleString())
