"""Builds match-dependent conditions, and says what they hold of bindings, straight from their definition.

The oracle shares no code with the engine: every value is computed anew from the rows mapped so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from sparkcep.spec.expression import Call
from sparkcep.spec.row import (
    MOMENTS,
    Aggregate,
    ClassifierAt,
    ColumnAt,
    Condition,
    CurrentRow,
    Define,
    MatchNumber,
    Navigation,
    Output,
)
from tests.reference.rows import Binding

Rows = Sequence[dict[str, Any]]


def call(operator: Any, *arguments: Condition) -> Call:
    return Call(operator, arguments)


def last(column: str, *variables: str, n: int = 0, physical: int = 0) -> ColumnAt:
    """LAST(v.column, n); without variables, of all rows."""
    return ColumnAt(column, Navigation(variables or None, True, True, n, physical))


def first(column: str, *variables: str, n: int = 0, physical: int = 0) -> ColumnAt:
    """FIRST(v.column, n)."""
    return ColumnAt(column, Navigation(variables or None, False, True, n, physical))


def current(column: str, physical: int = 0) -> ColumnAt:
    """The column in the row under test, or near it."""
    return last(column, physical=physical)


def classifier(*variables: str, n: int = 0, physical: int = 0, at_last: bool = True) -> ClassifierAt:
    return ClassifierAt(Navigation(variables or None, at_last, True, n, physical))


def total(function: Any, column: str | None, *variables: str, **options: Any) -> Aggregate:
    """A running aggregate."""
    return Aggregate(function, column, variables or None, True, **options)


def average(column: str, *variables: str) -> Call:
    """AVG as the driver sends it."""
    return call("div", total("sum", column, *variables), total("count", column, *variables))


def define(variable: str, condition: Condition, text: str = "") -> Define:
    return Define(variable, condition, text)


NUMBER = MatchNumber()


def output(name: str, column: str) -> Output:
    """The column of the output row."""
    return Output(name, CurrentRow(column))


def output_label(name: str) -> Output:
    """The variable of the output row."""
    return Output(name, ClassifierAt(Navigation(running=True)))


def value(condition: Condition, bindings: Binding, rows: Rows, number: int) -> Any:
    """The condition's value in the last row of ``bindings``; None for NULL. ``rows``: of the partition."""
    match condition:
        case Call(operator=operator, arguments=arguments):
            return _operate(operator, [value(argument, bindings, rows, number) for argument in arguments])
        case ColumnAt(column=column, at=at):
            row = _row(at, bindings)
            return rows[row][column] if row is not None and 0 <= row < len(rows) else None
        case ClassifierAt(at=at):
            row = _row(at, bindings)
            found = [name for bound, name in bindings if bound == row and _among(name, at.variables)]
            return found[0] if found else None
        case MatchNumber():
            return number
        case Aggregate():
            return _aggregate(condition, [rows[row] for row, name in bindings if _among(name, condition.variables)])
    raise AssertionError(condition)


def _among(name: str, variables: tuple[str, ...] | None) -> bool:
    return variables is None or name in variables


def _row(at: Navigation, bindings: Binding) -> int | None:
    found = [row for row, name in bindings if _among(name, at.variables)]
    if at.logical >= len(found):
        return None
    return found[-1 - at.logical if at.last else at.logical] + at.physical


def _aggregate(source: Aggregate, rows: list[dict[str, Any]]) -> Any:
    rows = [row for row in rows if source.filter is None or row[source.filter]]
    if source.column is None:
        return len(rows)
    values = [row[source.column] for row in rows if row[source.column] is not None]
    if source.function == "count":
        return len(values)
    if source.function in MOMENTS:
        return _moment(source.function, values)
    if source.function == "avg":
        return (sum(values) / len(values)).quantize(Decimal("0.000001"), ROUND_HALF_UP) if values else None
    return {"sum": sum, "min": min, "max": max}[source.function](values) if values else None


def _moment(function: str, values: list[float]) -> float | None:
    """Spark's CentralMomentAgg, value by value."""
    mean = squares = 0.0
    for count, value in enumerate(values, 1):
        delta = value - mean
        mean += delta / count
        squares += delta * (delta - delta / count)
    divisor = len(values) - function.endswith("samp")
    if divisor < 1:
        return None
    return squares / divisor if function.startswith("var") else math.sqrt(squares / divisor)


def _operate(operator: str, values: list[Any]) -> Any:
    if operator == "is_null":
        return values[0] is None
    if operator == "eq_null_safe":
        return values[0] == values[1]
    if operator in ("and", "or"):
        decisive = operator == "or"
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if None in values:
        return None
    return _plain(operator, *values)


def _plain(operator: str, left: Any, right: Any = None) -> Any:
    match operator:
        case "not":
            return not left
        case "abs":
            return abs(left)
        case "eq":
            return left == right
        case "ne":
            return left != right
        case "lt":
            return left < right
        case "le":
            return left <= right
        case "gt":
            return left > right
        case "ge":
            return left >= right
        case "add":
            return left + right
        case "sub":
            return left - right
        case "mul":
            return left * right
        case "div":
            return left / right
    raise AssertionError(operator)
