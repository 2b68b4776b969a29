"""Aggregates over matches → SQL over A-Seq's partial aggregates, one row per partition.

``COUNT(*)`` → the sum of a column of partial counts, where overflow is an error; ``AVG(v.x)`` → the sum of partial sums divided by the sum of partial
counts. So Spark can group by the keys, by functions of them, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from rewrites.bind.decimals import AVERAGE_DIGITS, MAX_DIGITS, SUM_DIGITS, sum_type
from rewrites.bind.operands import EXACT_DIGITS
from rewrites.emit.event_outputs import RANK
from rewrites.sql.builder import quoted, string
from sparkcep.spec.aggregate import MatchAggregate

DIVIDEND, COUNTED = 34, 24
ELEMENT = "`__cep_e`"
"""An element of a closure, for expressions computed over the matches."""
_ORDERED = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType, BooleanType, DateType)
_ORDERED_TIMES = (TimestampType, TimestampNTZType)
_OVERFLOW = (
    "[CEP_DATA_AGGREGATE_OVERFLOW] {} over the matches is outside the range of BIGINT; write CAST({} AS DECIMAL(38,0))"
)
_FAILS = (
    "[CEP_DATA_EXPRESSION] {} has no value for an event of a match: it overflows, divides by zero or casts what cannot be "
    "cast; TRY_ADD, TRY_SUBTRACT, TRY_MULTIPLY, TRY_DIVIDE and TRY_CAST return NULL instead"
)
_MANY_DIGITS = "[CEP_DATA_AGGREGATE_OVERFLOW] {} over the matches has more than 38 digits"


@dataclass(frozen=True, slots=True)
class EventExpression:
    """An aggregate's argument over one event of ``variable``: ``written`` by the user; ``element``: over ELEMENT, a struct.

    ``fails``: the column that is true where it fails (None: it never does). ``strict``: NULL if there is no event.
    """

    written: str
    element: str
    data_type: DataType
    fails: str | None = None
    strict: bool = True

    @property
    def told(self) -> str:
        """What the user wrote, on one line."""
        return " ".join(self.written.split())


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """``function(variable.column)``, or COUNT(*) without either. ``wide``: under a cast to DECIMAL(38,0).

    ``of``: what ``column`` holds, if it is not an input column.
    """

    function: str
    variable: str | None = None
    column: str | None = None
    wide: bool = False
    of: EventExpression | None = None

    @property
    def text(self) -> str:
        """The call as the user could have written it."""
        if self.of is not None:
            return f"{self.function.upper()}({self.of.told})"
        column = "*" if self.column == RANK else self.column
        return f"{self.function.upper()}({f'{self.variable}.{column}' if self.variable else '*'})"


class Combines(Protocol):
    """Translates a call to SQL over the rows at hand; None if that is impossible."""

    def combined(self, call: AggregateCall) -> str | None: ...


@dataclass(slots=True)
class Partials:
    """The partial aggregates that a block needs, each once. ``whole``: each result has one row, so nothing is summed; ``prefix``: of columns."""

    schema: StructType
    sources: dict[MatchAggregate, tuple[str, DataType]] = field(default_factory=dict)
    whole: bool = False
    prefix: str = ""

    def combined(self, call: AggregateCall) -> str | None:
        """SQL over the partial aggregates equivalent to ``call`` over the matches; None for a type that A-Seq lacks."""
        if call.function == "count":
            return self._count(call)
        assert call.column is not None
        data_type = self.schema[call.column].dataType if call.of is None else call.of.data_type
        if call.function in ("min", "max"):
            partial = self._column(call, call.function, data_type) if _ordered(data_type) else None
            return partial and self._over_rows(call.function.upper(), partial)
        return self._average(call, data_type) if call.function == "avg" else self._sum(call, data_type)

    def _count(self, call: AggregateCall) -> str:
        if not call.wide:
            partial = self._column(call, "count", LongType())
            return f"COALESCE({self._bigint(partial, call)}, 0L)"
        partial = self._column(call, "count", DecimalType(38, 0), "decimal")
        error = f"RAISE_ERROR({string(_MANY_DIGITS.format(call.text))})"
        if self.whole:
            return f"COALESCE({partial}, 0BD)"
        return (
            f"CASE WHEN COUNT({partial}) = 0 THEN 0BD WHEN SUM({partial}) IS NULL THEN {error} ELSE SUM({partial}) END"
        )

    def _sum(self, call: AggregateCall, data_type: DataType) -> str | None:
        if isinstance(data_type, IntegralType):
            if call.wide:
                return self._total(self._column(call, "sum", DecimalType(38, 0), "decimal"))
            return self._bigint(self._column(call, "sum", LongType()), call)
        if isinstance(data_type, FloatType | DoubleType):
            return self._total(self._column(call, "sum", DoubleType()))
        if isinstance(data_type, DecimalType) and data_type.precision <= EXACT_DIGITS:
            total = sum_type(data_type)
            return f"CAST({self._total(self._column(call, 'sum', total))} AS {total.simpleString()})"
        return None

    def _average(self, call: AggregateCall, data_type: DataType) -> str | None:
        if isinstance(data_type, DecimalType) and data_type.precision <= EXACT_DIGITS:
            total = self._column(call, "sum", DecimalType(MAX_DIGITS, 0), "unscaled")
            count = self._column(call, "count", DecimalType(MAX_DIGITS, 0), "decimal")
            return decimal_average(self._total(total), self._total(count), data_type, call)
        if not isinstance(data_type, IntegralType | FloatType | DoubleType):
            return None
        total = self._column(call, "sum", DoubleType(), "double")
        count = self._column(call, "count", DoubleType(), "double")
        return f"({self._total(total)} / NULLIF({self._total(count)}, 0D))"

    def _bigint(self, partial: str, call: AggregateCall) -> str:
        return checked_bigint(self._total(f"CAST({partial} AS DECIMAL(38, 0))"), call)

    def _total(self, partial: str) -> str:
        return self._over_rows("SUM", partial)

    def _over_rows(self, function: str, partial: str) -> str:
        return f"({partial})" if self.whole else f"{function}({partial})"

    def _column(self, call: AggregateCall, function: str, data_type: DataType, number: str = "bigint") -> str:
        written = call.of.told if call.of is not None else ""
        name = self._name(MatchAggregate(function, call.variable, call.column, number, written), data_type)  # type: ignore[arg-type]
        if call.of is None or call.of.fails is None:
            return quoted(self.prefix + name)
        fails = self._name(MatchAggregate("max", call.variable, call.of.fails), BooleanType())
        error = f"RAISE_ERROR({string(_FAILS.format(call.of.told))})"
        return f"CASE WHEN {quoted(self.prefix + fails)} THEN {error} ELSE {quoted(self.prefix + name)} END"

    def _name(self, source: MatchAggregate, data_type: DataType) -> str:
        return self.sources.setdefault(source, (f"__cep_a{len(self.sources)}", data_type))[0]


def decimal_average(total: str, count: str, values: DecimalType, call: AggregateCall) -> str:
    """Spark's AVG of DECIMAL(p, s), a DECIMAL(p + 4, s + 4), from the sum t in units of the last digit and the count n, rounded half up once.

    Computed in integers, because a decimal quotient is rounded and DIV returns a BIGINT: 2 |t| 10⁴ + n, minus its remainder modulo 2n, is divisible
    by 2n. |t| has at most p + 10 digits, as in Spark, so the dividend has DIVIDEND; with COUNTED digits for 2n, the quotient's type has room for p +
    4 digits under each of Spark's rules for the types of quotients.
    """
    scale = values.scale + AVERAGE_DIGITS
    result = DecimalType(values.precision + AVERAGE_DIGITS, scale).simpleString()
    sums = f"CAST({total} AS DECIMAL({values.precision + SUM_DIGITS}, 0))"
    many = f"RAISE_ERROR({string(_MANY_DIGITS.format(call.text))})"
    twice = f"CAST(NULLIF(2 * {count}, 0BD) AS DECIMAL({COUNTED}, 0))"
    halves = f"CAST(ABS({sums}) * {2 * 10**AVERAGE_DIGITS}BD + {count} AS DECIMAL({DIVIDEND}, 0))"
    units = f"CAST(CAST({halves} - {halves} % {twice} AS DECIMAL({DIVIDEND}, 0)) / {twice} AS DECIMAL({MAX_DIGITS}, 0))"
    text = f"CONCAT(IF({sums} < 0, '-', ''), CAST({units} AS STRING), 'E-{scale}')"
    return f"CASE WHEN {count} >= {10 ** (COUNTED - 1)}BD THEN {many} ELSE CAST({text} AS {result}) END"


def _ordered(data_type: DataType) -> bool:
    return isinstance(data_type, (*_ORDERED, *_ORDERED_TIMES)) or data_type == StringType()


def checked_bigint(total: str, call: AggregateCall) -> str:
    """A DECIMAL(38,0) as BIGINT; overflow is an error even if Spark's ANSI mode is off."""
    error = f"RAISE_ERROR({string(_OVERFLOW.format(call.text, call.text))})"
    inside = "BETWEEN -9223372036854775808BD AND 9223372036854775807BD"
    return f"CASE WHEN {total} NOT {inside} THEN {error} ELSE CAST({total} AS BIGINT) END"
