"""Aggregates over matches → SQL over the matches themselves: one row per match, events as STRUCTs, closures as arrays of them.

``SUM(b.x)`` of a closure → the sum over matches of the sum over its elements. Types are those of Spark's aggregates over the column; an integer sum
outside BIGINT is an error even if ANSI mode is off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegralType, StructType
from sqlglot import exp

from rewrites.bind.decimals import mean_type, quotient_places, sum_type
from rewrites.bind.operands import EXACT_DIGITS
from rewrites.dialect import span_of
from rewrites.dialect.nodes import KleeneRef
from rewrites.emit.event_outputs import RANK
from rewrites.pushdown.partials import ELEMENT, AggregateCall, checked_bigint, decimal_average
from rewrites.sql.builder import quoted
from rewrites.sql.source import Source, replaced
from sparkcep.errors import CepUnsupportedError

WIDE = DecimalType(38, 0)
VALUE = "`__cep_v`"
"""An element of a closure."""


@dataclass(frozen=True, slots=True)
class MatchCalls:
    """Translates calls to SQL over the matches. ``present``: a column that is NULL in rows without a match (None: every row has one).

    ``in_order``: doubles are summed in a fixed order. EMIT CHANGES compares sums over time, so equal values must give equal sums.
    """

    schema: StructType
    closures: frozenset[str]
    present: str | None = None
    in_order: bool = False

    def combined(self, call: AggregateCall) -> str | None:
        """SQL over the matches equivalent to ``call``; None: Spark has to aggregate the values themselves (``over_elements``)."""
        if call.variable is None:
            return _count(f"COUNT({quoted(self.present) if self.present else '*'})", call)
        if call.variable in self.closures:
            return self._of_closure(call)
        if call.column == RANK:
            return _count(f"COUNT({quoted(call.variable)})", call)
        value = self._value(call)
        if call.function == "count":
            return _count(f"COUNT({value})", call)
        data_type = self._type(call)
        if self._is_ordered(call, data_type):
            return _ordered(f"COLLECT_LIST({value})", call)
        if call.function == "sum" and isinstance(data_type, IntegralType):
            return _integer_sum(f"SUM(CAST({value} AS {WIDE.simpleString()}))", call)
        return f"{call.function.upper()}({value})"

    def _of_closure(self, call: AggregateCall) -> str | None:
        closure = quoted(str(call.variable))
        if call.column == RANK:
            return _count(f"COALESCE(SUM(CAST(ARRAY_SIZE({closure}) AS BIGINT)), 0L)", call)
        values = f"{closure}.{quoted(str(call.column))}"
        if call.of is not None:
            values = f"TRANSFORM({closure}, {ELEMENT} -> {call.of.element})"
        valued = f"CAST(ARRAY_SIZE(FILTER({values}, `__cep_v` -> `__cep_v` IS NOT NULL)) AS BIGINT)"
        if call.function == "count":
            return _count(f"COALESCE(SUM({valued}), 0L)", call)
        if call.function in ("min", "max"):
            return f"{call.function.upper()}(ARRAY_{call.function.upper()}({values}))"
        data_type = self._type(call)
        if self._is_ordered(call, data_type):
            return _ordered(f"FLATTEN(COLLECT_LIST({values}))", call)
        if call.function == "avg":
            exact = not isinstance(data_type, DecimalType) or data_type.precision <= EXACT_DIGITS
            return _average(values, valued, data_type, call) if exact or self.in_order else None
        summed = _summed(data_type)
        if summed is None:
            return None
        one = _folded(values, summed)
        if isinstance(data_type, IntegralType):
            return _integer_sum(f"SUM({one})", call)
        return f"CAST(SUM({one}) AS {summed.simpleString()})"

    def _is_ordered(self, call: AggregateCall, data_type: DataType) -> bool:
        return self.in_order and call.function in ("sum", "avg") and isinstance(data_type, FloatType | DoubleType)

    def _value(self, call: AggregateCall) -> str:
        """The value in the event of one match; NULL if there is no match."""
        if call.of is None:
            return f"{quoted(str(call.variable))}.{quoted(str(call.column))}"
        if self.present is None or call.of.strict:
            return f"({call.of.written}\n)"
        return f"CASE WHEN {quoted(self.present)} IS NOT NULL THEN {call.of.written}\n END"

    def _type(self, call: AggregateCall) -> DataType:
        if call.of is not None:
            return call.of.data_type
        return self.schema[str(call.column)].dataType


@dataclass(frozen=True, slots=True)
class NoMatches:
    """Translates calls to their values over no matches."""

    def combined(self, call: AggregateCall) -> str:
        """0 for a count, NULL for anything else."""
        if call.function != "count":
            return "NULL"
        return f"CAST(0 AS {WIDE.simpleString()})" if call.wide else "0L"


def over_matches(node: exp.Expression, source: Source, combined: Callable[[exp.Expression], str | None]) -> str:
    """A measure's SQL over the matches: ``combined`` translates the calls that it knows; the rest is unchanged."""
    return source.splice(span_of(node), replaced(node, lambda part: indexed(part) or combined(part)))


def indexed(node: exp.Expression) -> str | None:
    """``b[1]`` and ``b[LAST]`` as an element of the array; None: ``node`` is neither."""
    if not isinstance(node, KleeneRef):
        return None
    place = {"first": "1", "last": "-1"}.get(str(node.index_value), str(node.index_value))
    return f"TRY_ELEMENT_AT({quoted(node.this.name)}, {place})"


def _count(text: str, call: AggregateCall) -> str:
    return f"CAST({text} AS {WIDE.simpleString()})" if call.wide else text


def _integer_sum(total: str, call: AggregateCall) -> str:
    return total if call.wide else checked_bigint(total, call)


def _average(values: str, valued: str, data_type: DataType, call: AggregateCall) -> str | None:
    """The average of all elements of all closures, rounded once; ``valued``: the number of elements with a value in one closure."""
    summed = _summed(data_type)
    if summed is None:
        return None
    if isinstance(data_type, DecimalType) and data_type.precision <= EXACT_DIGITS:
        unscaled = _folded(values, WIDE, f"{VALUE} * {10**data_type.scale}BD")
        counted = f"CAST({valued} AS {WIDE.simpleString()})"
        return decimal_average(f"SUM({unscaled})", f"SUM({counted})", data_type, call)
    total = f"SUM({_folded(values, summed)})"
    if not isinstance(data_type, DecimalType):
        total = f"CAST({total} AS DOUBLE)"
    elif isinstance(summed, DecimalType) and quotient_places(summed) < mean_type(data_type).scale:
        raise CepUnsupportedError(
            f"{call.text} of {data_type.simpleString()} values: Spark's quotients have fewer decimal places",
            code="AGGREGATE_TYPE",
            hint="cast the argument to a decimal of at most 24 digits, or to DOUBLE",
        )
    return f"CAST({total} / NULLIF(SUM({valued}), 0L) AS {_average_type(data_type).simpleString()})"


def _ordered(values: str, call: AggregateCall) -> str:
    """The sum or average of doubles, added in sorted order, independent of the order of rows."""
    known = f"SORT_ARRAY(FILTER({values}, {VALUE} -> {VALUE} IS NOT NULL))"
    total = _folded(known, DoubleType())
    return total if call.function == "sum" else f"({total} / NULLIF(ARRAY_SIZE({known}), 0))"


def _folded(values: str, data_type: DataType, value: str = VALUE) -> str:
    """The sum over the elements of one closure, NULL if none has a value."""
    kind = data_type.simpleString()
    start = f"AGGREGATE({values}, CAST(NULL AS {kind}), (`__cep_s`, {VALUE}) -> "
    own = f"CAST({value} AS {kind})"
    return start + f"CAST(COALESCE(`__cep_s` + {own}, `__cep_s`, {own}) AS {kind}))"


def _summed(data_type: DataType) -> DataType | None:
    """The type in which the values of one closure are summed; for integers one that no sum overflows."""
    if isinstance(data_type, IntegralType):
        return WIDE
    if isinstance(data_type, FloatType | DoubleType):
        return DoubleType()
    if isinstance(data_type, DecimalType):
        return sum_type(data_type)
    return None


def _average_type(data_type: DataType) -> DataType:
    if isinstance(data_type, DecimalType):
        return mean_type(data_type)
    return DoubleType()
