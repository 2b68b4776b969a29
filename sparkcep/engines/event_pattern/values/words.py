"""``Word`` nodes and constants as Polars expressions: integers of up to 64 bits, doubles, decimals as unscaled integers of 128 bits.

A value without room, or a division by zero, is a fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import polars as pl

from sparkcep.engines.event_pattern.values.arithmetic import OVERFLOW, ZERO_DIVISION, Lowered, either
from sparkcep.engines.event_pattern.values.values import Kind, kind_of_type
from sparkcep.engines.functions.base import EXACT
from sparkcep.spec.expression import Constant
from sparkcep.spec.word_nodes import Word
from sparkcep.spec.words import WIDE_DIGITS

_TYPES: dict[str, Any] = {"boolean": pl.Boolean, "decimal": pl.Int128, "float": pl.Float64}
_NO_FAULT = pl.lit(0)
_ZERO = pl.lit(0, dtype=pl.Int128)


def lower_constant(constant: Constant) -> Lowered:
    """A constant of a plain type."""
    kind, value = kind_of_type(constant.type), constant.value
    if kind.name == "decimal" and value is not None:
        value = int(Decimal(value).scaleb(kind.scale, EXACT))
    return Lowered(pl.lit(value, dtype=_TYPES.get(kind.name, pl.Int64)), kind)


def lower_word(node: Word, parts: list[Lowered]) -> Lowered:
    """An operator on what its arguments are."""
    kind = kind_of_type(node.type)
    if node.operator == "as":
        inexact = kind.name == "float" and parts[0].kind.name == "decimal"
        return _to_double(parts[0], kind) if inexact else Lowered(_as(parts[0], kind), kind, parts[0].fault)
    if node.operator in _OF_DOUBLE:
        return Lowered(_OF_DOUBLE[node.operator](parts[0].value), kind, parts[0].fault)
    if node.operator == "round":
        return _rounded(parts[0], kind)
    if node.operator == "if":
        return _choice(parts, kind)
    left, right = parts
    if node.operator in _OF_DOUBLES:
        return Lowered(_OF_DOUBLES[node.operator](left.value, right.value), kind, either(left.fault, right.fault))
    if node.operator == "coalesce":
        reached = None if right.fault is None else pl.when(left.value.is_null()).then(right.fault).otherwise(0)
        return Lowered(pl.coalesce(left.value, right.value), kind, either(left.fault, reached))
    if node.operator in ("least", "greatest"):
        return Lowered(_extreme(node.operator, left.value, right.value), kind, either(left.fault, right.fault))
    return _divided(node, left, right, kind)


def _as(part: Lowered, kind: Kind) -> pl.Expr:
    if kind.name == "float":
        return part.value.cast(pl.Float64)
    if kind.name == "decimal":
        return part.value.cast(pl.Int128) * pl.lit(10 ** (kind.scale - part.kind.scale), dtype=pl.Int128)
    return part.value if kind.name == "boolean" else part.value.cast(pl.Int64)


def _to_double(part: Lowered, kind: Kind) -> Lowered:
    beyond = (part.value.abs() >= pl.lit(1 << 53, dtype=pl.Int128)).fill_null(False)
    value = part.value.cast(pl.Float64) / float(10**part.kind.scale)
    return Lowered(value, kind, either(part.fault, pl.when(beyond).then(OVERFLOW).otherwise(0)))


def _choice(parts: list[Lowered], kind: Kind) -> Lowered:
    condition, yes, no = parts
    holds = condition.value.fill_null(False)
    reached = None
    if yes.fault is not None or no.fault is not None:
        faults = [_NO_FAULT if part.fault is None else part.fault for part in (yes, no)]
        reached = pl.when(holds).then(faults[0]).otherwise(faults[1])
    return Lowered(pl.when(holds).then(yes.value).otherwise(no.value), kind, either(condition.fault, reached))


def _extreme(operator: str, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    other = right < left if operator == "least" else right > left
    return pl.when(left.is_null() | other).then(right).otherwise(left)


def _rounded(part: Lowered, kind: Kind) -> Lowered:
    unit = pl.lit(10 ** (part.kind.scale - kind.scale), dtype=pl.Int128)
    amount = part.value.abs()
    return Lowered(_quotient(part.value, unit, amount // unit, amount % unit, unit), kind, part.fault)


def _divided(node: Word, left: Lowered, right: Lowered, kind: Kind) -> Lowered:
    """Divisions of integers, and of decimals, there rounded half up."""
    more = kind.scale - left.kind.scale + right.kind.scale
    upper, lower = (side.value.cast(pl.Int128) for side in (left, right))
    zero = ((lower == 0) & upper.is_not_null()).fill_null(False)
    by = pl.when(zero).then(None).otherwise(lower.abs())
    amount = upper.abs() * pl.lit(10**more, dtype=pl.Int128)
    value = _DIVISIONS[node.operator](upper, lower, amount // by, amount % by, by)
    fault = either(either(left.fault, right.fault), pl.when(zero).then(ZERO_DIVISION).otherwise(0))
    if node.operator == "quotient":
        most = pl.lit(10 ** (WIDE_DIGITS - more), dtype=pl.Int128)
        fault = either(fault, pl.when((upper.abs() >= most).fill_null(False)).then(OVERFLOW).otherwise(0))
    if kind.name != "integer":
        return Lowered(value, kind, fault)
    inside = value.is_between(pl.lit(-(1 << 63), dtype=pl.Int128), pl.lit((1 << 63) - 1, dtype=pl.Int128)).fill_null(
        True
    )
    narrow = pl.when(inside).then(value).otherwise(None).cast(pl.Int64)
    return Lowered(narrow, kind, either(fault, pl.when(inside).then(0).otherwise(OVERFLOW)))


def _quotient(upper: pl.Expr, lower: pl.Expr, whole: pl.Expr, rest: pl.Expr, by: pl.Expr) -> pl.Expr:
    return _signed(whole + (rest >= by - rest).cast(pl.Int128), upper, lower)


def _int_div(upper: pl.Expr, lower: pl.Expr, whole: pl.Expr, rest: pl.Expr, by: pl.Expr) -> pl.Expr:
    return _signed(whole, upper, lower)


def _signed(whole: pl.Expr, upper: pl.Expr, lower: pl.Expr) -> pl.Expr:
    return pl.when((upper < 0) == (lower < 0)).then(whole).otherwise(_ZERO - whole)


def _remainder(upper: pl.Expr, lower: pl.Expr, whole: pl.Expr, rest: pl.Expr, by: pl.Expr) -> pl.Expr:
    return pl.when(upper < 0).then(_ZERO - rest).otherwise(rest)


def _pmod(upper: pl.Expr, lower: pl.Expr, whole: pl.Expr, rest: pl.Expr, by: pl.Expr) -> pl.Expr:
    turned = (upper < 0) & (lower > 0) & (rest > 0)
    return pl.when(turned).then(by - rest).otherwise(_remainder(upper, lower, whole, rest, by))


def _logarithm(x: pl.Expr, base: float) -> pl.Expr:
    return pl.when(x > 0).then(x).otherwise(None).log(base)


def _power(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """One to the power of what is no number, or infinite, is no number in Java."""
    return pl.when((x.abs() == 1) & ~y.is_finite()).then(float("nan")).otherwise(x.pow(y))


_OF_DOUBLE: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "sqrt": pl.Expr.sqrt,
    "exp": pl.Expr.exp,
    "ln": partial(_logarithm, base=math.e),
    "log10": partial(_logarithm, base=10),
    "log2": partial(_logarithm, base=2),
    "sin": pl.Expr.sin,
    "cos": pl.Expr.cos,
    "tan": pl.Expr.tan,
    "asin": pl.Expr.arcsin,
    "acos": pl.Expr.arccos,
    "atan": pl.Expr.arctan,
}
_OF_DOUBLES: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {"pow": _power, "atan2": pl.arctan2}
_DIVISIONS: dict[str, Callable[..., pl.Expr]] = {
    "quotient": _quotient,
    "int_div": _int_div,
    "remainder": _remainder,
    "pmod": _pmod,
}
