"""Predicates between events, evaluated for many partial matches at once.

In: a ``Predicate`` (data, never SQL) and the kinds of its columns. Out: a ``Condition``: Polars expressions for "it
holds" and for "its value is an error", and their evaluation over events and closures. Three-valued logic, NaN and -0.0
as in Spark; integers never wrap; decimals are exact or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.engines.event_pattern.values.arithmetic import OVERFLOW, Lowered, absolute, arithmetic, either
from sparkcep.engines.event_pattern.values.closures import Closures, Column, first_of, last_of, length
from sparkcep.engines.event_pattern.values.slow import FAILED, SlowFunction, opaque, plain, slow_function
from sparkcep.engines.event_pattern.values.spans import column_span
from sparkcep.engines.event_pattern.values.totals import total_kind, totals
from sparkcep.engines.event_pattern.values.values import Kind, Payload
from sparkcep.errors import CepDataError, CepUnsupportedError
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import (
    AggregateOf,
    Call,
    ColumnOf,
    ElementOf,
    Expression,
    SparkFunction,
    Term,
    looks_back,
    moves,
    slow_parts,
    terms,
    walked,
)

FAULTS = {1: ("ARITHMETIC_OVERFLOW", "overflows"), 2: ("DIVIDE_BY_ZERO", "divides by zero")}
BOOLEAN = Kind("boolean", 8)


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate ready to run. ``fault`` is None if no value can be an error, else a code of ``FAULTS`` or 0 per row.

    ``walked``: the closure for whose every element i it must hold; ``looks_back``: for every element but the first. ``slow``: the parts that Python
    evaluates.
    """

    predicate: Predicate
    columns: tuple[Term, ...]
    value: pl.Expr
    fault: pl.Expr | None
    walked: str | None = None
    looks_back: bool = False
    slow: tuple[SlowFunction, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Per pair: whether the predicate holds (NULL does not), and the fault of its value (None: no faults at all)."""

    holds: BoolArray
    faults: IntArray | None


def condition(predicate: Predicate, payload: Payload) -> Condition:
    """``predicate`` over the columns of ``payload``. Raises CepUnsupportedError for types or decimals it cannot
    compute."""
    functions = slow_parts(predicate.condition)
    lowered = _lower(predicate.condition, payload, functions)
    if lowered.kind.name != "boolean":
        raise CepUnsupportedError(f"The predicate is no condition: {predicate.text}.", code="PREDICATE")
    columns = terms(predicate.condition)
    return Condition(
        predicate,
        columns,
        lowered.value,
        lowered.fault,
        next(iter(walked(predicate.condition)), None),
        any(looks_back(term) for term in columns),
        tuple(map(slow_function, functions)),
    )


def conditions(predicates: Iterable[Predicate], payload: Payload) -> tuple[Condition, ...]:
    """The conditions of ``predicates``, the slow ones last."""
    return tuple(sorted((condition(predicate, payload) for predicate in predicates), key=_is_slow))


def _is_slow(wanted: Condition) -> bool:
    return bool(wanted.slow)


def evaluate(
    wanted: Condition, payload: Payload, rows: Mapping[str, Column], prefix: Closures | None = None
) -> Outcome:
    """Evaluate over pairs. ``rows``: equally long columns by variable.

    Over the elements of a closure: for its last element, or for the last element of ``prefix``, a prefix of the closure.
    """
    frame = _values(wanted.columns, payload, rows, prefix)
    for number, function in enumerate(wanted.slow):
        answers, failed = _answers(function, payload, rows, prefix)
        frame = frame.with_columns(answers.alias(_slow_name(number)), pl.Series(f"{_slow_name(number)}!", failed))
    value = wanted.value.fill_null(False).alias("value")
    if wanted.fault is None:
        return Outcome(frame.select(value).to_series().to_numpy(), None)
    result = frame.select(value, wanted.fault.cast(pl.Int64).alias("fault"))
    faults = result["fault"].to_numpy()
    return Outcome(result["value"].to_numpy(), faults if faults.any() else None)


def evaluate_all(wanted: Condition, payload: Payload, rows: Mapping[str, Column]) -> Outcome:
    """Like ``evaluate``, for every element i that the condition runs over."""
    closures = rows[wanted.walked] if wanted.walked is not None else None
    if not isinstance(closures, Closures):
        return evaluate(wanted, payload, rows)
    count = length(dict(rows))
    holds = np.ones(count, dtype=np.bool_)
    faults = np.zeros(count, dtype=np.int64)
    for prefix in closures.prefixes()[1 if wanted.looks_back else 0 :]:
        outcome = evaluate(wanted, payload, rows, prefix)
        holds &= outcome.holds
        if outcome.faults is not None:
            faults = np.where(faults == 0, outcome.faults, faults)
    return Outcome(holds, faults if faults.any() else None)


def fault_error(wanted: Condition, fault: int) -> CepDataError:
    """The error for a fault code of ``Outcome.faults``."""
    if fault == FAILED:
        return next(function.error for function in wanted.slow if function.error is not None)
    code, verb = FAULTS[fault]
    return CepDataError(
        f"The predicate {wanted.predicate.text} {verb}.",
        code=code,
        hint="Cast its operands to a wider type, or exclude such events with an earlier condition.",
    )


def _values(
    columns: Sequence[Term], payload: Payload, rows: Mapping[str, Column], prefix: Closures | None
) -> pl.DataFrame:
    """A column of values for each term.

    The columns of one event are gathered in one call: a Polars call costs more than gathering a few thousand values.
    """
    events: dict[tuple[str, str], list[ColumnOf | ElementOf]] = {}
    parts = []
    for term in columns:
        if isinstance(term, AggregateOf):
            parts.append(_total(term, payload, rows, prefix).alias(_name(term)).to_frame())
        else:
            place = term.place if isinstance(term, ElementOf) else ""
            events.setdefault((term.variable, place), []).append(term)
    for alike in events.values():
        part = payload.frame(tuple(term.column for term in alike))[_events(alike[0], rows, prefix)]
        part.columns = [_name(term) for term in alike]
        parts.append(part)
    return pl.concat(parts, how="horizontal") if parts else pl.DataFrame()


def _total(term: AggregateOf, payload: Payload, rows: Mapping[str, Column], prefix: Closures | None) -> pl.Series:
    column = _column(term, rows, prefix)
    assert isinstance(column, Closures)
    return totals(column.before() if term.prefix else column, term, payload)


def _column(term: Term, rows: Mapping[str, Column], prefix: Closures | None) -> Column:
    """The column of a term; terms that depend on i are read from ``prefix``."""
    return prefix if prefix is not None and moves(term) else rows[term.variable]


def _events(term: ColumnOf | ElementOf, rows: Mapping[str, Column], prefix: Closures | None) -> IntArray:
    """The event that a term reads, per pair."""
    column = _column(term, rows, prefix)
    if isinstance(term, ElementOf) and term.place == "previous":
        assert isinstance(column, Closures)
        return column.before().last
    is_first = isinstance(term, ElementOf) and term.place == "first"
    return first_of(column) if is_first else last_of(column)


def _answers(
    function: SlowFunction, payload: Payload, rows: Mapping[str, Column], prefix: Closures | None
) -> tuple[pl.Series, IntArray]:
    """(value, fault) of a slow function, per pair."""
    columns = []
    for term in function.terms:
        kind = total_kind(term, payload) if isinstance(term, AggregateOf) else payload.kind(term.column)
        if kind.name == "opaque" and not isinstance(term, AggregateOf):
            columns.append(opaque(payload, term.column, _events(term, rows, prefix)))
        else:
            columns.append(plain(_values([term], payload, rows, prefix).to_series(), kind))
    return function.answers(columns, len(columns[0]))


def _name(term: Term) -> str:
    return f"{len(term.variable)}:{term}"


def _slow_name(number: int) -> str:
    return f"0:{number}"


def _lower(node: Expression, payload: Payload, slow: Sequence[SparkFunction] = (), is_inside: bool = False) -> Lowered:
    """``slow``: the condition's slow functions, in the order of their answer columns. ``is_inside``: whether ``node`` is an operand of arithmetic."""
    if isinstance(node, AggregateOf):
        return _lower_total(node, payload)
    if isinstance(node, SparkFunction):
        name = _slow_name(slow.index(node))
        return Lowered(pl.col(name), BOOLEAN, pl.col(f"{name}!"))
    if not isinstance(node, Call):
        kind = payload.kind(node.column)
        return Lowered(pl.col(_name(node)), kind, span=column_span(node.column, payload) if is_inside else None)
    computes = node.operator in ("add", "sub", "mul", "abs")
    parts = [_lower(argument, payload, slow, computes) for argument in node.arguments]
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
    column = pl.col(_name(term))
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


COMPARISONS: Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "eq": pl.Expr.eq,
    "ne": pl.Expr.ne,
    "lt": pl.Expr.lt,
    "le": pl.Expr.le,
    "gt": pl.Expr.gt,
    "ge": pl.Expr.ge,
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
    value = COMPARISONS[node.operator](sides[0], sides[1])
    return Lowered(value, BOOLEAN, either(left.fault, right.fault))
