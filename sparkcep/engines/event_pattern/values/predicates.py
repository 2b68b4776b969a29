"""Predicates between events, evaluated for many partial matches at once.

In: a ``Predicate`` (data, never SQL) and the kinds of its columns. Out: a ``Condition``: Polars expressions for "it
holds" and for "its value is an error", and their evaluation over events and closures. Three-valued logic, NaN and -0.0
as in Spark; integers never wrap; decimals are exact or refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.engines.event_pattern.values.closures import Closures, Column, first_of, last_of, length
from sparkcep.engines.event_pattern.values.lowering import lower, lower_words, name_of, slow_name
from sparkcep.engines.event_pattern.values.slow import FAILED, SlowFunction, opaque, plain, slow_function
from sparkcep.engines.event_pattern.values.totals import total_kind, totals
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.errors import CepDataError, CepUnsupportedError
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import (
    AggregateOf,
    ColumnOf,
    ElementOf,
    Term,
    looks_back,
    moves,
    slow_parts,
    terms,
    walked,
)

FAULTS = {1: ("ARITHMETIC_OVERFLOW", "overflows"), 2: ("DIVIDE_BY_ZERO", "divides by zero")}


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate ready to run. ``fault`` is None if no value can be an error, else a code of ``FAULTS`` or 0 per row.

    ``walked``: the closure for whose every element i it must hold; ``looks_back``: for every element but the first. ``slow``: the parts that Python
    evaluates, or is asked where words do not say it.
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
    lowered = lower(predicate.condition, payload, functions)
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
        tuple(slow_function(function, lower_words(function, payload)) for function in functions),
    )


def conditions(predicates: Iterable[Predicate], payload: Payload) -> tuple[Condition, ...]:
    """The conditions of ``predicates``, the slow ones last."""
    return tuple(sorted((condition(predicate, payload) for predicate in predicates), key=_is_slow))


def _is_slow(wanted: Condition) -> bool:
    return any(function.words is None for function in wanted.slow)


def evaluate(
    wanted: Condition, payload: Payload, rows: Mapping[str, Column], prefix: Closures | None = None
) -> Outcome:
    """Evaluate over pairs. ``rows``: equally long columns by variable.

    Over the elements of a closure: for its last element, or for the last element of ``prefix``, a prefix of the closure.
    """
    frame = _values(wanted.columns, payload, rows, prefix)
    for number, function in enumerate(wanted.slow):
        answers, failed = _answers(function, frame, payload, rows, prefix)
        frame = frame.with_columns(answers.alias(slow_name(number)), pl.Series(f"{slow_name(number)}!", failed))
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
            parts.append(_total(term, payload, rows, prefix).alias(name_of(term)).to_frame())
        else:
            place = term.place if isinstance(term, ElementOf) else ""
            events.setdefault((term.variable, place), []).append(term)
    for alike in events.values():
        part = payload.frame(tuple(term.column for term in alike))[_events(alike[0], rows, prefix)]
        part.columns = [name_of(term) for term in alike]
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
    function: SlowFunction, frame: pl.DataFrame, payload: Payload, rows: Mapping[str, Column], prefix: Closures | None
) -> tuple[pl.Series, IntArray]:
    """(value, fault) of a slow function, per pair: Python is asked where words do not say it. ``frame``: the values of its terms."""
    if function.words is None:
        return function.answers([_plain(term, frame, payload, rows, prefix) for term in function.terms], frame.height)
    value, fault = function.words.value, function.words.fault
    said = frame.select(value.alias("value"), (pl.lit(0) if fault is None else fault).alias("fault"))
    unknown = said["fault"].to_numpy().nonzero()[0]
    faults = np.zeros(frame.height, np.int64)
    if not len(unknown):
        return said["value"], faults
    some = frame[unknown]
    asked, faults[unknown] = function.answers([_plain(term, some, payload) for term in function.terms], len(unknown))
    return said["value"].scatter(unknown, asked), faults


def _plain(
    term: Term,
    frame: pl.DataFrame,
    payload: Payload,
    rows: Mapping[str, Column] | None = None,
    prefix: Closures | None = None,
) -> list[Any]:
    """A term's values for Python."""
    kind = total_kind(term, payload) if isinstance(term, AggregateOf) else payload.kind(term.column)
    if kind.name == "opaque" and not isinstance(term, AggregateOf):
        assert rows is not None
        return opaque(payload, term.column, _events(term, rows, prefix))
    return plain(frame[name_of(term)], kind)
