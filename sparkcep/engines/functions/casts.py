"""CAST, TRY_CAST and Spark's implicit casts, between types where Python's result equals Spark's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from sparkcep.engines.functions.base import (
    Closure,
    Refused,
    element,
    failure,
    fitted,
    lazy,
    towards_zero,
    type_of,
    whole,
)
from sparkcep.engines.functions.times import (
    WIDTHS,
    at_clock,
    clock,
    date_text,
    day_of,
    midnight,
    parsed_date,
    timestamp_text,
)
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import BITS, digits, is_day_time, kind

Caster = Callable[[Any], Any]

_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_SPACE = "".join(map(chr, range(33)))
"""What Spark trims from text before it parses a number: control characters and the space."""


@lazy("Cast")
def _cast(node: SparkFunction, arguments: list[Closure]) -> Closure:
    (argument,) = arguments
    how, zone = node.settings
    caster = _caster(type_of(node.arguments[0]), type_of(node), how, zone)
    if caster is None:
        return argument
    change = caster

    def closure(frame: Any) -> Any:
        value = argument(frame)
        return None if value is None else change(value)

    return closure


def _caster(source: str, target: str, how: str, zone: str) -> Caster | None:
    """A function of values; None if the cast is a no-op."""
    if source == target or kind(source) == "void":
        return None
    if kind(source) == kind(target) == "array":
        inner = _caster(element(source), element(target), how, zone)
        return inner and (lambda array: [None if item is None else inner(item) for item in array])
    if kind(source) == kind(target) == "interval" and not {"year", "month"} & {*source.split(), *target.split()}:
        return None
    if is_day_time(source) and target in BITS:
        unit = WIDTHS[source.split()[-1].upper()]
        return lambda value: whole(towards_zero(value, unit), target, "ANSI")
    if kind(source) == "decimal" and kind(target) == "string":
        places = digits(source)[1]
        return lambda value: f"{value:.{places}f}"  # an engine may keep it with fewer
    makers = {
        "string": _to_string,
        "boolean": _to_boolean,
        "decimal": _to_decimal,
        "double": _to_float,
        "float": _to_float,
        "date": _to_date,
        **dict.fromkeys(("timestamp", "timestamp_ntz"), _to_timestamp),
        **dict.fromkeys(BITS, _to_integer),
    }
    maker = makers.get(kind(target))
    caster = maker and maker(kind(source), target, how, zone)
    if caster is None:
        raise Refused(f"a cast from {source} to {target}")
    return caster


def _invalid(value: Any, target: str, how: str) -> Any:
    """NULL, or an error in ANSI mode."""
    if how == "ANSI":
        raise failure(f"{value!r} is no {target.upper()}", "CAST")
    return None


def _to_string(source: str, target: str, how: str, zone: str) -> Caster | None:
    if source in ("timestamp", "timestamp_ntz"):
        return lambda value: timestamp_text(value, zone if source == "timestamp" else "UTC")
    if source in BITS:
        return str
    casters: dict[str, Caster] = {
        "boolean": lambda value: "true" if value else "false",
        "date": date_text,
        "binary": lambda value: value.decode(errors="replace"),
    }
    return casters.get(source)


def _to_integer(source: str, target: str, how: str, zone: str) -> Caster | None:
    if source in (*BITS, "boolean"):
        return lambda value: whole(int(value), target, how)
    if source == "decimal":
        return lambda value: whole(int(value), target, how)
    if source in ("double", "float"):
        return lambda value: _float_to_integer(value, target, how)
    if source == "string":
        return lambda value: _string_to_integer(value, target, how)
    if source == "timestamp" and target == "bigint":
        return lambda value: value // 1_000_000
    return None


def _float_to_integer(value: float, target: str, how: str) -> int | None:
    half = 1 << (BITS[target] - 1)
    if not math.isnan(value) and -half - 1 < value < half:
        return int(value)
    if how != "LEGACY":
        if how == "ANSI":
            raise failure(f"{value} does not fit {target}", "OVERFLOW")
        return None
    return 0 if math.isnan(value) else -half if value < 0 else half - 1


def _string_to_integer(text: str, target: str, how: str) -> int | None:
    trimmed = text.strip(_SPACE)
    if how == "LEGACY" and "." in trimmed:
        trimmed, _, fraction = trimmed.partition(".")
        trimmed = trimmed if fraction.isdigit() or not fraction else "x"
    if _INTEGER.fullmatch(trimmed) is None or not trimmed.isascii():
        return _invalid(text, target, how)
    value = int(trimmed)
    half = 1 << (BITS[target] - 1)
    return value if -half <= value < half else _invalid(text, target, how)


def _to_float(source: str, target: str, how: str, zone: str) -> Caster | None:
    narrow = kind(target) == "float"
    single: Caster = lambda value: float(np.float32(value)) if narrow else float(value)  # noqa: E731
    if source in (*BITS, "decimal", "float", "double", "boolean"):
        return single
    if source != "string":
        return None

    def parse(text: str) -> float | None:
        trimmed = text.strip(_SPACE)
        word = trimmed.lower().lstrip("+-")
        if word in ("inf", "infinity", "nan"):
            return -math.inf if trimmed[0] == "-" and word != "nan" else float(word)
        number = trimmed[:-1] if trimmed[-1:] in ("d", "D", "f", "F") else trimmed
        return float(single(number)) if _NUMBER.fullmatch(number) and number.isascii() else _invalid(text, target, how)

    return parse


def _to_decimal(source: str, target: str, how: str, zone: str) -> Caster | None:
    if source in (*BITS, "decimal", "boolean"):
        return lambda value: fitted(Decimal(value), target, how)
    if source == "double":
        return lambda value: (
            fitted(Decimal(repr(value)), target, how) if math.isfinite(value) else _invalid(value, target, how)
        )
    if source == "string":
        return lambda text: (
            fitted(Decimal(text.strip(_SPACE)), target, how)
            if _NUMBER.fullmatch(text.strip(_SPACE)) and text.isascii()
            else _invalid(text, target, how)
        )
    return None


def _to_boolean(source: str, target: str, how: str, zone: str) -> Caster | None:
    if source in (*BITS, "decimal", "double", "float"):
        return lambda value: value != 0
    if source != "string":
        return None

    def parse(text: str) -> bool | None:
        word = text.strip(_SPACE).lower()
        return True if word in _TRUE else False if word in _FALSE else _invalid(text, target, how)

    return parse


def _to_date(source: str, target: str, how: str, zone: str) -> Caster | None:
    if source in ("timestamp", "timestamp_ntz"):
        return lambda value: day_of(value, zone if source == "timestamp" else "UTC")
    if source != "string":
        return None

    def parse(text: str) -> int | None:
        found = parsed_date(text.strip(_SPACE))
        return _invalid(text, target, how) if found is None else found

    return parse


def _to_timestamp(source: str, target: str, how: str, zone: str) -> Caster | None:
    if source == "date":
        return lambda value: midnight(value, zone if target == "timestamp" else "UTC")
    if source == "timestamp_ntz":
        return lambda value: at_clock(value, zone)
    return (lambda value: clock(value, zone)) if source == "timestamp" else None
