"""Arithmetic in predicates as Polars expressions that never wrap and never round silently.

In: operands with their kinds. Out: the result with its kind, and the rows where it is an error. No data is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from sparkcep.engines.event_pattern.values.spans import Span, combined
from sparkcep.engines.event_pattern.values.values import MAX_PRECISION, Kind, result_kind
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Call

ArithmeticOperator = Literal["add", "sub", "mul", "div"]

OVERFLOW = 1
ZERO_DIVISION = 2
MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Lowered:
    """An expression's value, its kind, and its fault: None if it cannot fail, else 0 or a fault code per row; ``span``: the range of its values."""

    value: pl.Expr
    kind: Kind
    fault: pl.Expr | None = None
    span: Span | None = None


def either(left: pl.Expr | None, right: pl.Expr | None) -> pl.Expr | None:
    """The first of two faults."""
    if left is None or right is None:
        return right if left is None else left
    return pl.when(left != 0).then(left).otherwise(right)


def arithmetic(operator: ArithmeticOperator, left: Lowered, right: Lowered, node: Call) -> Lowered:
    """``left operator right`` as in Spark's ANSI mode: a value of the operands' type, or an error if it overflows.

    Raises CepUnsupportedError where the kinds have no such operator here.
    """
    fault = either(left.fault, right.fault)
    if operator == "div":
        left, right = _doubled(left), _doubled(right)
    found = combined(operator, [left.span, right.span]) if left.span is not None and right.span is not None else None
    if found is not None and found.kind.name not in ("float", "decimal"):
        sides = (side.value.cast(pl.Int64) for side in (left, right))
        return Lowered(_apply(operator, *sides), found.kind, fault, found)
    names = (left.kind.name, right.kind.name)
    if names == ("float", "float"):
        return _floating(operator, left, right, fault)
    result = result_kind(operator, left.kind, right.kind) if operator != "div" else None
    if result is None:
        raise CepUnsupportedError(
            f"{node} computes with {names[0]} and {names[1]} values.",
            code="ARITHMETIC",
            hint="Compute the part that reads only one event on that event's side of the comparison, so that Spark evaluates it.",
        )
    if result.name == "decimal":
        return _decimal(operator, left, right, result, fault, node)
    if names == ("date", "date"):
        left, right = (Lowered(side.value.cast(pl.Int64) * MICROSECONDS_PER_DAY, result) for side in (left, right))
    return _checked(operator, left, right, result, fault)


def absolute(part: Lowered, node: Call) -> Lowered:
    """``abs(part)``; an error for the least integer, as in Spark. Raises CepUnsupportedError for kinds other than numbers."""
    kind, value = part.kind, part.value
    if part.span is not None and kind.name in ("integer", "duration"):
        return Lowered(value.cast(pl.Int64).abs(), kind, part.fault, combined("abs", [part.span]))
    if kind.name in ("float", "decimal"):
        return Lowered(value.abs(), kind, part.fault)
    if kind.name not in ("integer", "duration"):
        raise CepUnsupportedError(f"{node} of {kind.name} values.", code="ARITHMETIC")
    least = (value.cast(pl.Int64) == pl.lit(-(1 << (kind.bits - 1)), dtype=pl.Int64)).fill_null(False)
    overflow = pl.when(least).then(OVERFLOW).otherwise(0)
    return Lowered(pl.when(least).then(None).otherwise(value.cast(pl.Int64)).abs(), kind, either(part.fault, overflow))


def _apply(operator: ArithmeticOperator, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    if operator == "add":
        return left + right
    return left - right if operator == "sub" else left * right


def _doubled(part: Lowered) -> Lowered:
    """Integers that the engine has computed, as doubles."""
    if part.kind.name != "integer":
        return part
    return Lowered(part.value.cast(pl.Float64), Kind("float", 64), part.fault)


def _floating(operator: ArithmeticOperator, left: Lowered, right: Lowered, fault: pl.Expr | None) -> Lowered:
    kind = Kind("float", max(left.kind.bits, right.kind.bits))
    if operator != "div":
        return Lowered(_apply(operator, left.value, right.value), kind, fault)
    # Spark: NULL / 0 is NULL, anything else / 0 is an error.
    zero = ((right.value == 0) & left.value.is_not_null()).fill_null(False)
    divided = pl.when(zero).then(None).otherwise(left.value / right.value)
    return Lowered(divided, kind, either(fault, pl.when(zero).then(ZERO_DIVISION).otherwise(0)))


def _checked(operator: ArithmeticOperator, left: Lowered, right: Lowered, kind: Kind, fault: pl.Expr | None) -> Lowered:
    """Compute in twice the width, where no sum, difference or product of two values can wrap, then check the range."""
    wide, narrow = (pl.Int128, pl.Int64) if kind.bits == 64 else (pl.Int64, pl.Int64)
    value = _apply(operator, left.value.cast(wide), right.value.cast(wide))
    limit = 1 << (kind.bits - 1)
    inside = value.is_between(pl.lit(-limit, dtype=wide), pl.lit(limit - 1, dtype=wide))
    overflow = pl.when(inside.fill_null(True)).then(0).otherwise(OVERFLOW)
    return Lowered(pl.when(inside).then(value).otherwise(None).cast(narrow), kind, either(fault, overflow))


def _decimal(
    operator: ArithmeticOperator, left: Lowered, right: Lowered, kind: Kind, fault: pl.Expr | None, node: Call
) -> Lowered:
    """Exact, on unscaled 128-bit integers; a result that may pass 38 digits (where Spark rounds) is refused."""
    if kind.precision > MAX_PRECISION:
        raise CepUnsupportedError(
            f"{node} may need {kind.precision} digits, more than {MAX_PRECISION}.",
            code="DECIMAL_PRECISION",
            hint="Cast the operands to decimals of fewer digits, or to DOUBLE.",
        )
    if operator != "mul":
        left, right = _rescaled(left, kind.scale), _rescaled(right, kind.scale)
    return Lowered(_apply(operator, left.value, right.value), kind, fault)


def _rescaled(part: Lowered, scale: int) -> Lowered:
    factor = 10 ** (scale - part.kind.scale)
    return part if factor == 1 else Lowered(part.value * pl.lit(factor, dtype=pl.Int128), part.kind)
