"""Interval arithmetic: bounds of an expression's values, from the least and the greatest value of its columns.

In: expressions over single events, a table. Out: ``Span``s, which prove that arithmetic cannot overflow and bound the rounding error of doubles; and
the values as NumPy arrays, if the span fits 64 bits. Expressions that may be an error, NaN or infinite have no span.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparkcep.engines.event_pattern.events import BoolArray
from sparkcep.engines.event_pattern.planner.plan import Point
from sparkcep.engines.event_pattern.values.closures import Frame, rows_of
from sparkcep.engines.event_pattern.values.values import MAX_PRECISION, Kind, Numbers, Payload, result_kind
from sparkcep.spec.expression import Call, Expression, Operator

LIMIT = 1 << 61
"""The bound of integers whose sums and differences still fit 64 bits."""

EPSILON = 2.0**-52
"""The relative rounding error of one operation on doubles is at most this."""

Values = tuple[Numbers, BoolArray]
"""Values, and which of them are NULL."""


@dataclass(frozen=True, slots=True)
class Span:
    """The non-NULL values lie in [low, high] (decimals: unscaled) and differ from exact arithmetic by at most ``error``."""

    kind: Kind
    low: float
    high: float
    error: float = 0.0

    @property
    def size(self) -> float:
        """The greatest absolute value."""
        return max(abs(self.low), abs(self.high))


def column_span(column: str, payload: Payload) -> Span | None:
    """The span of a column of numbers or times."""
    kind, extent = payload.kind(column), payload.extent(column)
    return None if extent is None else _fitting(Span(kind, *extent))


def span(node: Expression, payload: Payload) -> Span | None:
    """The span of an expression; None if nothing is known or a value may be an error."""
    if isinstance(node, Point):
        return column_span(node.column, payload)
    if not isinstance(node, Call) or node.operator not in ("add", "sub", "mul", "abs"):
        return None
    parts = [span(argument, payload) for argument in node.arguments]
    known = [part for part in parts if part is not None]
    return combined(node.operator, known) if len(known) == len(parts) else None


def combined(operator: Operator, parts: list[Span]) -> Span | None:
    """The span of ``operator`` applied to values of these spans."""
    if operator == "abs":
        one = parts[0]
        return replace(one, low=0 if one.low <= 0 <= one.high else min(abs(one.low), abs(one.high)), high=one.size)
    kind = result_kind(operator, parts[0].kind, parts[1].kind)
    if kind is None or kind.precision > MAX_PRECISION:
        return None
    left, right = (part if operator == "mul" else scaled(part, kind.scale) for part in parts)
    low, high = _ends(operator, left, right)
    if kind.name != "float":
        return _fitting(Span(kind, low, high))
    error = left.error + right.error
    if operator == "mul":
        error = left.error * right.size + right.error * left.size + left.error * right.error
    return _fitting(Span(kind, low, high, error + EPSILON * (max(abs(low), abs(high)) + error)))


def scaled(part: Span, scale: int) -> Span:
    """The span of a decimal rescaled to more decimal places."""
    factor = 10 ** (scale - part.kind.scale)
    return part if factor == 1 else replace(part, low=part.low * factor, high=part.high * factor)


def _ends(operator: Operator, left: Span, right: Span) -> tuple[float, float]:
    if operator == "add":
        return left.low + right.low, left.high + right.high
    if operator == "sub":
        return left.low - right.high, left.high - right.low
    corners = [one * two for one in (left.low, left.high) for two in (right.low, right.high)]
    return min(corners), max(corners)


def _fitting(found: Span) -> Span | None:
    """``found``, if no value overflows its type or what 64-bit arithmetic can hold."""
    if found.kind.name == "float":
        return found if found.kind.bits == 64 and found.size < 1e300 else None
    return found if found.size <= min(LIMIT, (1 << (found.kind.bits - 1)) - 1) else None


def values(node: Expression, payload: Payload, rows: Frame) -> Values:
    """The values per partial match, for an expression that has a ``span``."""
    if isinstance(node, Point):
        numbers, null = payload.numbers(node.column)
        at = rows_of(rows, node)
        return numbers[at], null[at]
    assert isinstance(node, Call)
    parts = [values(argument, payload, rows) for argument in node.arguments]
    if node.operator == "abs":
        return np.abs(parts[0][0]), parts[0][1]
    (left, no_left), (right, no_right) = parts
    if node.operator == "mul":
        return left * right, no_left | no_right
    scales = [scale(argument, payload) for argument in node.arguments]
    if scales[0] != scales[1]:
        left, right = (side * _power(max(scales) - own) for side, own in zip((left, right), scales, strict=True))
    return left + right if node.operator == "add" else left - right, no_left | no_right


def scale(node: Expression, payload: Payload) -> int:
    """The scale of a decimal."""
    if isinstance(node, Point):
        return payload.kind(node.column).scale
    assert isinstance(node, Call)
    scales = [scale(argument, payload) for argument in node.arguments]
    return sum(scales) if node.operator == "mul" else max(scales)


def _power(digits: int) -> int:
    return int(10**digits)
