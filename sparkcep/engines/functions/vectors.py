"""SparkFunction trees as Polars expressions, where Polars computes what Spark does.

A branch that Spark would not have reached is computed, too. Where that may fail, a ``fault`` tells for which rows: it says true of all rows that fail
in Spark, and perhaps of others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import polars as pl

from sparkcep.engines.functions.base import Refused
from sparkcep.engines.functions.conditional import COMPARISONS
from sparkcep.engines.functions.times import DAY, is_utc
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import BITS, is_day_time, kind

_TYPES: dict[str, Any] = {
    "boolean": pl.Boolean,
    "string": pl.String,
    "tinyint": pl.Int8,
    "smallint": pl.Int16,
    "int": pl.Int32,
    "bigint": pl.Int64,
    "float": pl.Float32,
    "double": pl.Float64,
    "date": pl.Int32,
    "timestamp": pl.Int64,
    "timestamp_ntz": pl.Int64,
    "void": pl.Null,
}
"""Spark's types that Polars compares as Spark does, as they are computed with: dates are days, timestamps microseconds."""
_ARITHMETIC = {"Add": operator.add, "Subtract": operator.sub, "Multiply": operator.mul}
_MARKS = ("KnownNotNull", "KnownNullable", "KnownNotContainsNull", "Source")

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Vector:
    """``value`` of all rows; ``fault``: for which of them it may have failed, if it can; ``bounds`` of an integer."""

    value: pl.Expr
    fault: pl.Expr | None = None
    bounds: Bounds | None = None


def is_column(tree: Any) -> bool:
    """Whether a tree is a mere column."""
    return isinstance(tree, SparkFunction) and tree.name == "AttributeReference"


@lru_cache(maxsize=1024)
def vector(node: Any) -> Vector | None:
    """A tree for Polars; None: it computes it otherwise than Spark, or not at all."""
    data_type = _dtype(node.type)
    if data_type is None:
        return None
    if isinstance(node, Constant):
        own = (node.value, node.value) if node.type in BITS and node.value is not None else None
        return Vector(pl.lit(node.value, dtype=data_type), None, own)
    if is_column(node):
        return Vector(pl.col(node.settings[0]), None, _range(node.type))
    if node.name == "RaiseError":
        return Vector(pl.lit(None), pl.lit(True))
    make = _MAKERS.get(node.name)
    if make is None:
        return None
    arguments = [vector(argument) for argument in node.arguments]
    known = [argument for argument in arguments if argument is not None]
    if len(known) < len(arguments):
        return None
    try:
        return make(node, known)
    except Refused:
        return None


def _dtype(type_text: str) -> Any:
    return pl.Int64 if is_day_time(type_text) else _TYPES.get(type_text)


def _range(type_text: str) -> Bounds | None:
    half = 1 << (BITS[type_text] - 1) if type_text in BITS else 0
    return (-half, half - 1) if half else None


def _either(faults: Iterable[pl.Expr | None]) -> pl.Expr | None:
    found = [fault for fault in faults if fault is not None]
    return reduce(operator.or_, found) if found else None


_MIRRORED: dict[Any, Callable[..., Any]] = {
    operator.lt: operator.gt,
    operator.gt: operator.lt,
    operator.le: operator.ge,
    operator.ge: operator.le,
}


def compared(compare: Callable[..., pl.Expr], left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """A comparison. Polars (2.1) fails where a constant stands before what happens to be the same in all rows, such as a CASE."""
    if left.meta.root_names():
        return compare(left, right)
    mirrored: Callable[..., pl.Expr] = _MIRRORED.get(compare, compare)
    return mirrored(right, left)


def _comparison(node: SparkFunction, sides: list[Vector]) -> Vector:
    left, right = sides
    return Vector(compared(COMPARISONS[node.name], left.value, right.value), _either([left.fault, right.fault]))


def _null_safe(node: SparkFunction, sides: list[Vector]) -> Vector:
    left, right = sides
    return Vector(compared(pl.Expr.eq_missing, left.value, right.value), _either([left.fault, right.fault]))


def _logic(node: SparkFunction, sides: list[Vector]) -> Vector:
    join = operator.and_ if node.name == "And" else operator.or_
    values = [side.value.cast(pl.Boolean) for side in sides]
    return Vector(reduce(join, values), _either(side.fault for side in sides))


def _not(node: SparkFunction, sides: list[Vector]) -> Vector:
    return Vector(~sides[0].value.cast(pl.Boolean), sides[0].fault)


def _null(node: SparkFunction, sides: list[Vector]) -> Vector:
    value = sides[0].value
    return Vector(value.is_null() if node.name == "IsNull" else value.is_not_null(), sides[0].fault)


def _in(node: SparkFunction, sides: list[Vector]) -> Vector:
    wanted, *others = sides
    value = reduce(operator.or_, (compared(operator.eq, wanted.value, other.value) for other in others))
    return Vector(value, _either(side.fault for side in sides))


def _case(node: SparkFunction, sides: list[Vector]) -> Vector:
    """CASE WHEN c THEN v … ELSE w END; the fault of a branch counts where it is reached."""
    pairs = list(zip(sides[0::2], sides[1::2], strict=False))
    last = sides[-1] if len(sides) % 2 else Vector(pl.lit(None, dtype=_dtype(node.type)))
    value, fault, bounds = last.value, last.fault, last.bounds
    for condition, then in reversed(pairs):
        holds = condition.value.cast(pl.Boolean)
        value = pl.when(holds).then(then.value).otherwise(value)
        if fault is not None or then.fault is not None:
            yes, no = (pl.lit(False) if one is None else one for one in (then.fault, fault))
            fault = pl.when(holds).then(yes).otherwise(no)
        fault = _either([condition.fault, fault])
        bounds = _union(then.bounds, bounds)
    return Vector(value, fault, None if len(sides) % 2 == 0 else bounds)


def _coalesce(node: SparkFunction, sides: list[Vector]) -> Vector:
    bounds = reduce(_union, (side.bounds for side in sides))
    return Vector(pl.coalesce(side.value for side in sides), _either(side.fault for side in sides), bounds)


def _union(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))


def _arithmetic(node: SparkFunction, sides: list[Vector]) -> Vector:
    left, right = sides
    compute, fault = _ARITHMETIC[node.name], _either([left.fault, right.fault])
    if node.type == "double":
        return Vector(compute(left.value, right.value), fault)
    if node.type not in BITS or left.bounds is None or right.bounds is None:
        raise Refused(node.type)
    ends = [compute(a, b) for a in left.bounds for b in right.bounds]
    wide = compute(left.value.cast(pl.Int128), right.value.cast(pl.Int128))
    return _fitted(node, Vector(wide, fault, (min(ends), max(ends))))


def _fitted(node: SparkFunction, wide: Vector) -> Vector:
    """An integer brought to the node's type, which it may not fit."""
    limits, bounds = _range(node.type), wide.bounds
    assert limits is not None and bounds is not None
    inside = limits[0] <= bounds[0] and bounds[1] <= limits[1]
    if inside:
        return Vector(wide.value.cast(_dtype(node.type)), wide.fault, bounds)
    if node.settings and node.settings[0] != "ANSI":
        raise Refused("an integer that may not fit")
    beyond = _beyond(wide.value, limits)
    value = wide.value.cast(_dtype(node.type), strict=False)
    return Vector(value, _either([wide.fault, beyond]), limits)


def _beyond(wide: pl.Expr, limits: Bounds) -> pl.Expr:
    low, high = (pl.lit(limit, dtype=pl.Int128) for limit in limits)
    return (~wide.is_between(low, high)).fill_null(False)


def _cast(node: SparkFunction, sides: list[Vector]) -> Vector:
    (side,), source = sides, node.arguments[0].type
    if source == node.type or source == "void":
        return Vector(side.value.cast(_dtype(node.type)), side.fault, side.bounds)
    if source in BITS and node.type == "double":
        return Vector(side.value.cast(pl.Float64), side.fault)
    if source == "float" and node.type == "double":
        return Vector(side.value.cast(pl.Float64), side.fault)
    if source in BITS and node.type in BITS and side.bounds is not None:
        return _fitted(node, Vector(side.value.cast(pl.Int128), side.fault, side.bounds))
    raise Refused(f"{source} to {node.type}")


def _micros(node: SparkFunction, sides: list[Vector]) -> Vector:
    return Vector(sides[0].value, sides[0].fault, _range("bigint"))


def _moved(node: SparkFunction, sides: list[Vector]) -> Vector:
    """A timestamp and an interval, where days are 24 hours, or there are none."""
    amount = node.arguments[1]
    if not isinstance(amount, Constant) or amount.value is None or not is_day_time(amount.type):
        raise Refused("an interval that is no constant")
    by_clock = kind(node.arguments[0].type) == "timestamp" and not is_utc(node.settings[0])
    if by_clock and abs(amount.value) >= DAY:
        raise Refused("days of a time zone")
    wide = sides[0].value.cast(pl.Int128) + pl.lit(amount.value, dtype=pl.Int128)
    beyond = _beyond(wide, (-(1 << 63), (1 << 63) - 1))
    return Vector(wide.cast(pl.Int64, strict=False), _either([sides[0].fault, beyond]))


def _itself(node: SparkFunction, sides: list[Vector]) -> Vector:
    return sides[0]


_MAKERS: dict[str, Callable[[SparkFunction, list[Vector]], Vector]] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_MARKS, _itself),
    **dict.fromkeys(("IsNull", "IsNotNull"), _null),
    **dict.fromkeys(("And", "Or"), _logic),
    **dict.fromkeys(("TimestampAddInterval", "TimeAdd"), _moved),
    "EqualNullSafe": _null_safe,
    "Not": _not,
    "In": _in,
    "CaseWhen": _case,
    "Coalesce": _coalesce,
    "Cast": _cast,
    "If": _case,
    "UnixMicros": _micros,
}
