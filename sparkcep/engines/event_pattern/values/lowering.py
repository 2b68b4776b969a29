"""Conditions between events as Polars expressions, over a column of values for each of their terms.

Three-valued logic, NaN and -0.0 as in Spark; integers never wrap; decimals are exact or refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from sparkcep.engines.event_pattern.values.arithmetic import OVERFLOW, Lowered, absolute, arithmetic, either
from sparkcep.engines.event_pattern.values.spans import column_span
from sparkcep.engines.event_pattern.values.totals import total_kind
from sparkcep.engines.event_pattern.values.values import Kind, Payload
from sparkcep.engines.event_pattern.values.words import lower_constant, lower_word
from sparkcep.engines.functions.vectors import compared
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import AggregateOf, Call, Constant, SparkFunction, Term
from sparkcep.spec.word_nodes import Word
from sparkcep.spec.words import WIDE_DIGITS, in_words

BOOLEAN = Kind("boolean", 8)


def name_of(term: Term) -> str:
    """The column of a term's values."""
    return f"{len(term.variable)}:{term}"


def slow_name(number: int) -> str:
    """The column of a slow function's answers; with ! behind it, of their faults."""
    return f"0:{number}"


def lower(node: Any, payload: Payload, slow: Sequence[SparkFunction] = (), is_inside: bool = False) -> Lowered:
    """An expression. ``slow``: the condition's slow functions, in the order of their answer columns. ``is_inside``: whether ``node`` is an operand of
    arithmetic. Raises CepUnsupportedError for types or decimals that cannot be computed."""
    if isinstance(node, Word):
        return lower_word(node, [lower(argument, payload, slow) for argument in node.arguments])
    if isinstance(node, Constant):
        return lower_constant(node)
    if isinstance(node, AggregateOf):
        return _lower_total(node, payload)
    if isinstance(node, SparkFunction):
        name = slow_name(slow.index(node))
        return Lowered(pl.col(name), BOOLEAN, pl.col(f"{name}!"))
    if not isinstance(node, Call):
        kind = payload.kind(node.column)
        return Lowered(pl.col(name_of(node)), kind, span=column_span(node.column, payload) if is_inside else None)
    computes = node.operator in ("add", "sub", "mul", "abs")
    parts = [lower(argument, payload, slow, computes) for argument in node.arguments]
    if node.operator in ("add", "sub", "mul", "div"):
        return arithmetic(node.operator, parts[0], parts[1], node)
    if node.operator == "abs":
        return absolute(parts[0], node)
    if node.operator in ("and", "or"):
        return _connect(node, parts)
    if node.operator == "not":
        return Lowered(~_boolean(node, parts[0]).value, BOOLEAN, parts[0].fault)
    if node.operator == "is_null":
        return Lowered(parts[0].value.is_null(), BOOLEAN, parts[0].fault)
    return _compare(node, parts[0], parts[1])


def _lower_total(term: AggregateOf, payload: Payload) -> Lowered:
    """An integer sum that overflows BIGINT is an error, as in Spark."""
    kind = total_kind(term, payload)
    column = pl.col(name_of(term))
    if term.function != "sum" or kind.name not in ("integer", "duration"):
        return Lowered(column, kind)
    limit = 1 << (kind.bits - 1)
    inside = column.is_between(pl.lit(-limit, dtype=pl.Int128), pl.lit(limit - 1, dtype=pl.Int128))
    fault = pl.when(inside.fill_null(True)).then(0).otherwise(OVERFLOW)
    return Lowered(pl.when(inside).then(column).otherwise(None).cast(pl.Int64), kind, fault)


def _boolean(node: Call, part: Lowered) -> Lowered:
    if part.kind.name != "boolean":
        raise CepUnsupportedError(f"{node.operator.upper()} of a value that is no condition: {node}.", code="PREDICATE")
    return part


def _connect(node: Call, parts: list[Lowered]) -> Lowered:
    """AND/OR short-circuit from left to right: the right side's fault counts only where the left side has not decided the result, as in Spark."""
    result = _boolean(node, parts[0])
    for part in parts[1:]:
        right = _boolean(node, part)
        decided = result.value.fill_null(False) if node.operator == "or" else ~result.value.fill_null(True)
        reached = None if right.fault is None else pl.when(decided).then(0).otherwise(right.fault)
        value = result.value | right.value if node.operator == "or" else result.value & right.value
        result = Lowered(value, BOOLEAN, either(result.fault, reached))
    return result


COMPARISONS: Mapping[str, Callable[..., pl.Expr]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq_null_safe": pl.Expr.eq_missing,
}


def _compare(node: Call, left: Lowered, right: Lowered) -> Lowered:
    """Polars compares as Spark does: strings by UTF-8 bytes, NaN equal to itself and above every number, -0.0 equal to 0.0."""
    if left.kind.name != right.kind.name or left.kind.name == "opaque" or left.kind.scale != right.kind.scale:
        raise CepUnsupportedError(
            f"{node} compares {left.kind.name} with {right.kind.name} values.",
            code="COMPARISON",
            hint="Compare single fields, or cast both sides to one type.",
        )
    sides = [part.value.cast(pl.Int8) if part.kind.name == "boolean" else part.value for part in (left, right)]
    value = compared(COMPARISONS[node.operator], sides[0], sides[1])
    return Lowered(value, BOOLEAN, either(left.fault, right.fault))


def lower_words(function: SparkFunction, payload: Payload) -> Lowered | None:
    """A slow function, where it can be computed in words; its fault is where Python is to be asked."""
    node = in_words(function, WIDE_DIGITS)
    try:
        return None if node is None else lower(node, payload)
    except CepUnsupportedError:
        return None
