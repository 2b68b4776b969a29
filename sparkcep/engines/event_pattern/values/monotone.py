"""Conditions on whole closures that, once violated, stay violated however the closure grows (paper, section 4.5.1).

In: a condition and the signs of its columns' values. Out: a condition that holds only where no longer closure can satisfy the given one, or None if
no such condition is known.

Why this is sound: a closure grows by appending events. COUNT and MAX never fall, MIN never rises, SUM never falls if no value that may enter is
negative (adding a non-negative double never rounds down; NaN, above every number, stays), and b[1] never changes. So ``SUM(b.x) < c`` can never hold
again once SUM(b.x) >= c. A sum of monotone terms is monotone. NULL decides nothing: the dooming comparison must be true, and a non-NULL value never
becomes NULL. AVG and b[LAST] are not monotone, so nothing is known of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from sparkcep.engines.event_pattern.events import BoolArray
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.expression import AggregateOf, Call, ColumnOf, ElementOf, Expression, Operator, SparkFunction

Trend = Literal["still", "up", "down", "unknown"]

OPPOSITE: Mapping[Trend, Trend] = {"still": "still", "up": "down", "down": "up", "unknown": "unknown"}


@dataclass(frozen=True, slots=True)
class Signs:
    """The closure ``variable`` over the candidates ``taken`` that may enter it."""

    variable: str
    payload: Payload
    taken: BoolArray

    def trend_of_sum(self, column: str) -> Trend:
        """Up or down if no value has the opposite sign."""
        kind = self.payload.kind(column)
        if kind.name not in ("integer", "float", "decimal", "duration"):
            return "unknown"
        values = self.payload.series(column).filter(self.taken).drop_nulls()
        if kind.name == "float":
            values = values.drop_nans()
        least, most = cast(Any, values.min()), cast(Any, values.max())
        if least is None or least >= 0:
            return "up"
        has_nan = kind.name == "float" and self.payload.series(column).is_nan().any()
        return "down" if most <= 0 and not has_nan else "unknown"


def doom(condition: Expression, signs: Signs) -> Expression | None:
    """A condition that, where it holds, refutes ``condition`` for this closure and all that grow from it."""
    if not isinstance(condition, Call):
        return None
    if condition.operator == "and":
        found = [part for argument in condition.arguments if (part := doom(argument, signs)) is not None]
        return _joined("or", found)
    if condition.operator == "or":
        parts = [doom(argument, signs) for argument in condition.arguments]
        return _joined("and", [part for part in parts if part is not None]) if None not in parts else None
    return _doomed_comparison(condition, signs)


def _joined(operator: Operator, parts: list[Expression]) -> Expression | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Call(operator, tuple(parts))


_LOST: Mapping[Operator, tuple[tuple[Trend, Operator], ...]] = {
    "lt": (("up", "ge"),),
    "le": (("up", "gt"),),
    "gt": (("down", "le"),),
    "ge": (("down", "lt"),),
    "eq": (("up", "gt"), ("down", "lt")),
}
"""Comparison → (the trend of the left side relative to the right, the comparison that then refutes it for good)."""


def _doomed_comparison(condition: Call, signs: Signs) -> Expression | None:
    if condition.operator not in _LOST:
        return None
    left, right = condition.arguments
    trend = _together(_trend(left, signs), OPPOSITE[_trend(right, signs)])
    ends = dict(_LOST[condition.operator]).get(trend)
    return None if ends is None else Call(ends, (left, right))


def _trend(node: Expression, signs: Signs) -> Trend:
    """Whether a value rises, falls or stays constant as the closure grows."""
    if isinstance(node, Call):
        if node.operator not in ("add", "sub"):
            parts = {_trend(argument, signs) for argument in node.arguments}
            return "still" if parts == {"still"} else "unknown"
        left, right = (_trend(argument, signs) for argument in node.arguments)
        return _together(left, right if node.operator == "add" else OPPOSITE[right])
    if isinstance(node, SparkFunction):
        return "unknown"
    if node.variable != signs.variable:
        return "still" if not isinstance(node, ElementOf) or node.place in ("first", "last") else "unknown"
    if isinstance(node, AggregateOf) and not node.prefix:
        return _trend_of_total(node, signs)
    return (
        "still" if isinstance(node, ColumnOf) or (isinstance(node, ElementOf) and node.place == "first") else "unknown"
    )


def _trend_of_total(node: AggregateOf, signs: Signs) -> Trend:
    if node.function in ("count", "max"):
        return "up"
    if node.function == "min":
        return "down"
    return signs.trend_of_sum(node.column) if node.function == "sum" and node.column is not None else "unknown"


def _together(left: Trend, right: Trend) -> Trend:
    if "unknown" in (left, right):
        return "unknown"
    moving = {left, right} - {"still"}
    if not moving:
        return "still"
    return moving.pop() if len(moving) == 1 else "unknown"
