"""WITHIN of MATCH PATTERN: the first ORDER BY expression as a number, and the deadline of a window that opens there.

``WITHIN INTERVAL 1 HOUR`` over a TIMESTAMP → time ``UNIX_MICROS(ts)``, deadline ``UNIX_MICROS(ts) + 3600000000``: the time that passes, whatever
clocks show; a day is 24 hours. ``WITHIN INTERVAL 1 MONTH`` → deadline ``UNIX_MICROS(ts + INTERVAL 1 MONTH)``, by Spark's calendar, as years.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql.types import (
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)
from sqlglot import exp

from rewrites.bind.relation import Relation
from rewrites.dialect import bare
from rewrites.dialect.clause import Within
from rewrites.sql.instants import MICROS, interval_micros, local_micros
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.spec.types import DECIMAL_TIME

NOT_POSITIVE = (
    "[CEP_ANALYSIS_WITHIN] WITHIN must be a positive length, and event times finite and not so large that a DOUBLE "
    "loses the length beside them"
)
"""The error raised in Spark if no window ends behind its first event."""

_LONGEST = 1 << 62
"""Microseconds of a window: more would overflow with its beginning."""
TIME, DEADLINE = "__cep_time", "__cep_deadline"
"""Columns with an event's time and its deadline."""


@dataclass(frozen=True, slots=True)
class Window:
    """SQL for time and deadline (BIGINT or DOUBLE), or a number of events. ``length``: the SQL of W, ``length_type`` its Spark type; ``amount``: W in
    units of the time, where the same is added to every time and SQL's text tells how much (None: Spark knows)."""

    time: str = ""
    deadline: str = ""
    events: int | None = None
    length: str = ""
    length_type: DataType | None = None
    amount: int | None = None


def bind_window(
    within: Within | None, time: str, time_type: DataType, relation: Relation, source: Source
) -> Window | None:
    """The window of a clause. Errors: a length whose type does not fit that of the time, or that is not positive."""
    if within is None:
        return None
    if within.events is not None:
        return Window(events=_positive(within.events, within.span))
    assert within.length is not None
    if _never_positive(within.length.node):
        raise CepAnalysisError(
            "WITHIN must be a positive length",
            code="WITHIN",
            span=within.span,
            hint="write WITHIN INTERVAL 1 HOUR, or of a number WITHIN 100",
        )
    length, length_type = _length(within, relation, source)
    is_number = isinstance(length_type, NumericType)
    if isinstance(time_type, NumericType) != is_number:
        kind, other = ("a number", "an interval") if is_number else ("an interval", "a number")
        raise CepAnalysisError(
            f"WITHIN has {kind}, but events are ordered by {time_type.simpleString()}",
            code="WITHIN_TYPE",
            span=within.span,
            hint=f"write {other}: {'WITHIN INTERVAL 1 HOUR' if is_number else 'WITHIN 100'}",
        )
    window = window_of(time, time_type, (length, length_type), within.span)
    if amount := _amount(within.length.node, length_type, time_type):
        window = replace(
            window, amount=amount, deadline=f"{window.time} + {amount}L"
        )  # addition of an interval costs five times as much
    else:
        relation.types_of([(window.deadline, within.span)])
    return window


def window_of(time: str, time_type: DataType, length: tuple[str, DataType], span: Span) -> Window:
    """The window of a ``length`` (SQL and type) that fits the type of the time; ``span``: where it is said."""
    return Window(*_time_and_deadline(time, time_type, *length, span), length=length[0], length_type=length[1])


def end_of(window: Window, time: str, time_type: DataType) -> str:
    """When a window that opens at ``time`` ends, as a time."""
    if isinstance(time_type, TimestampType) and isinstance(window.length_type, DayTimeIntervalType):
        return f"TIMESTAMP_MICROS(UNIX_MICROS({time}) + {interval_micros(window.length)})"
    return f"({time}) + {window.length}"


def fixed_amount(length: exp.Expression) -> int | None:
    """A positive whole literal; of an interval of one unit the microseconds. None: anything else."""
    length = bare(length)
    if isinstance(length, exp.Interval):
        number = fixed_amount(exp.Literal.number(length.this.name)) if isinstance(length.this, exp.Literal) else None
        micros = (number or 0) * MICROS.get(length.text("unit").upper().removesuffix("S"), 0)
        return micros if 0 < micros < _LONGEST else None
    if (
        not isinstance(length, exp.Literal)
        or length.is_string
        or not length.name.isascii()
        or not length.name.isdigit()
    ):
        return None
    return int(length.name) or None


def _amount(length: exp.Expression, length_type: DataType, time_type: DataType) -> int | None:
    """``Window.amount``."""
    if isinstance(time_type, IntegralType):
        return fixed_amount(length) if isinstance(length_type, IntegralType) else None
    return fixed_amount(length) if isinstance(time_type, TimestampType | TimestampNTZType) else None


def _length(within: Within, relation: Relation, source: Source) -> tuple[str, DataType]:
    """The length as SQL and its type; ``12 hours`` is short for ``INTERVAL 12 hours``."""
    assert within.length is not None
    text = source.text(within.length.span)
    known = _plain_type(within.length.node)
    if _is_short_interval(within, text):
        text = f"INTERVAL {text}"
    return f"({text})", known or relation.types_of([(text, within.span)])[0]


def _plain_type(length: exp.Expression) -> DataType | None:
    """The type of a literal that leaves nothing to ask: an INT, or an interval."""
    amount = fixed_amount(length)
    if amount is None:
        return None
    if isinstance(bare(length), exp.Interval):
        return DayTimeIntervalType()
    return IntegerType() if amount < 1 << 31 else None


def _never_positive(length: exp.Expression) -> bool:
    """Whether the length is NULL or a literal of zero or less; any other expression is checked when the query runs."""
    length = bare(length)
    if isinstance(length, exp.Interval):
        return length.this is not None and _never_positive(length.this)
    if isinstance(length, exp.Neg):
        return isinstance(length.this, exp.Literal)
    if not isinstance(length, exp.Literal):
        return isinstance(length, exp.Null)
    try:
        return float(length.this) <= 0
    except ValueError:  # such as '1 02:00' DAY TO HOUR
        return False


def _is_short_interval(within: Within, text: str) -> bool:
    assert within.length is not None
    return isinstance(within.length.node, exp.Interval) and not text.upper().startswith("INTERVAL")


def _time_and_deadline(
    time: str, time_type: DataType, length: str, length_type: DataType, span: Span
) -> tuple[str, str]:
    if isinstance(time_type, TimestampType) and isinstance(length_type, DayTimeIntervalType):
        return f"UNIX_MICROS({time})", f"UNIX_MICROS({time}) + {interval_micros(length)}"
    if isinstance(time_type, TimestampType):
        return f"UNIX_MICROS({time})", f"UNIX_MICROS({time} + {length})"
    if isinstance(time_type, TimestampNTZType | DateType):
        local = f"CAST({time} AS TIMESTAMP_NTZ)"
        return local_micros(local), local_micros(f"{local} + {length}")
    if isinstance(time_type, IntegralType) and isinstance(length_type, IntegralType):
        return f"CAST({time} AS BIGINT)", f"CAST({time} AS BIGINT) + {length}"
    if isinstance(time_type, IntegralType | FloatType | DoubleType):
        return f"CAST({time} AS DOUBLE)", f"CAST({time} AS DOUBLE) + {length}"
    if isinstance(time_type, DecimalType):
        raise CepUnsupportedError(
            "WITHIN over a DECIMAL time",
            code="WITHIN_DECIMAL",
            span=span,
            hint=f"{DECIMAL_TIME} in ORDER BY",
        )
    raise CepAnalysisError(
        f"WITHIN needs a time or a number to measure; events are ordered by {time_type.simpleString()}",
        code="WITHIN_TYPE",
        span=span,
        hint="order by a timestamp, a date or a number: ORDER BY CAST(ts AS TIMESTAMP)",
    )


def _positive(count: int, span: Span) -> int:
    if count < 1:
        raise CepAnalysisError("WITHIN must be positive", code="WITHIN", span=span, hint="write WITHIN 100 EVENTS")
    return count
