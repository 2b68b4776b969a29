"""What the function modules share: the registries, types as text, sort keys with Spark's order, errors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any

from sparkcep.errors import CepDataError
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import BITS, digits, kind

Closure = Callable[[Any], Any]
Leaf = Callable[[Any], Closure]

STRICT: dict[str, Callable[[SparkFunction], Callable[..., Any]]] = {}
"""Class name → maker of a function of values, none of which is NULL."""

LAZY: dict[str, Callable[[SparkFunction, list[Closure]], Closure]] = {}
"""Class name → maker of a closure from those of the arguments: it decides which to evaluate, and what NULL means."""

EXACT = Context(prec=160, rounding=ROUND_HALF_UP)
"""Decimal arithmetic with enough precision never to round; Python's operators round to 28 digits."""


class Refused(Exception):
    """The function is implemented, but not for these types or arguments."""


def strict(*names: str) -> Callable[[Any], Any]:
    """Register a maker under ``names``."""

    def register(maker: Any) -> Any:
        STRICT.update(dict.fromkeys(names, maker))
        return maker

    return register


def lazy(*names: str) -> Callable[[Any], Any]:
    """Register a maker of closures under ``names``."""

    def register(maker: Any) -> Any:
        LAZY.update(dict.fromkeys(names, maker))
        return maker

    return register


def simple(name: str, function: Callable[..., Any]) -> None:
    """Register a function that does not depend on its types."""
    STRICT[name] = lambda node: function


def type_of(node: Any) -> str:
    """A node's type, as Spark writes it."""
    return str(node.type)


def element(type_text: str) -> str:
    """``array<decimal(10,2)>`` → ``decimal(10,2)``."""
    return type_text[type_text.index("<") + 1 : -1]


def fields(type_text: str) -> list[str]:
    """``struct<a:int,b:array<string>>`` → the types of its fields. Refuses names with marks in them."""
    found, depth = [""], 0
    for mark in element(type_text):
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and not depth:
            found.append("")
        else:
            found[-1] += mark
    parts = [part.partition(":") for part in found]
    if not all(re.fullmatch(r"\w+", name) and re.match(r"\w+(?!\w*:)", of) for name, _, of in parts):
        raise Refused(f"the fields of {type_text}")
    return [of for _, _, of in parts]


def mode(node: SparkFunction) -> str:
    """ANSI, LEGACY or TRY."""
    return node.settings[0] if node.settings else "ANSI"


def is_true(node: SparkFunction, index: int = 0) -> bool:
    """Whether a boolean setting of the node is true."""
    return node.settings[index].lower() == "true"


def failure(message: str, code: str = "CONDITION_VALUE") -> CepDataError:
    """The error that stands for one of Spark's ANSI errors."""
    return CepDataError(message, code=code, hint="use the function's try_ form, or test the value first")


def fitted(value: Decimal, type_text: str, how: str) -> Decimal | None:
    """A decimal rounded to a type's scale; if it has too many digits, an error (ANSI) or NULL."""
    precision, scale = digits(type_text)
    limit = Decimal(10) ** (precision - scale)
    if value.copy_abs() < limit:
        rounded = value.quantize(Decimal(1).scaleb(-scale), context=EXACT)
        if rounded.copy_abs() < limit:
            return rounded
    if how == "ANSI":
        raise failure(f"{value} does not fit {type_text}", "OVERFLOW")
    return None


def exact_sum(values: Iterable[Decimal]) -> Decimal:
    """The sum of decimals."""
    return reduce(EXACT.add, values, Decimal(0))


def whole(value: int, type_text: str, how: str) -> int | None:
    """An integer, checked against a type's range; outside it an error (ANSI), NULL (TRY), or wrapped around (LEGACY)."""
    bits = BITS.get(type_text, 64)
    half = 1 << (bits - 1)
    if -half <= value < half:
        return value
    if how == "ANSI":
        raise failure(f"{value} does not fit {type_text}", "OVERFLOW")
    return None if how == "TRY" else (value + half) % (2 * half) - half


def towards_zero(value: int, unit: int) -> int:
    """Whole units."""
    return value // unit if value >= 0 else -(-value // unit)


def order(type_text: str) -> Callable[[Any], Any] | None:
    """A key function whose keys compare as Spark compares the values; None if the values themselves do."""
    name = kind(type_text)
    if name in ("float", "double"):
        return lambda value: (1, 0.0) if math.isnan(value) else (0, value)
    if name == "array":
        inner = order(element(type_text)) or _itself
        return lambda value: [(0, 0) if item is None else (1, inner(item)) for item in value]
    if name == "struct":
        inners = [order(field) or _itself for field in fields(type_text)]
        return lambda value: [
            (0, 0) if item is None else (1, inner(item)) for item, inner in zip(value, inners, strict=True)
        ]
    if name in ("map", "variant"):
        raise Refused(f"comparison of {type_text}")
    return None


def key_of(type_text: str) -> Callable[[Any], Any]:
    """Like ``order``, but never None."""
    return order(type_text) or _itself


def _itself(value: Any) -> Any:
    return value
