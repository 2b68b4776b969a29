"""Aggregates over closures, built up while closures grow.

In: ``Closures`` and a payload column. Out: per closure the aggregate as a Polars series, folded from the aggregate of the closure it was grown from
and one more value: constant work per closure, whatever its size. Integer sums are computed in twice the width; ``predicates`` checks whether they fit
the result.
"""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import polars as pl

from sparkcep.engines.event_pattern.values.closures import Closures
from sparkcep.engines.event_pattern.values.values import MAX_PRECISION, Kind, Payload
from sparkcep.errors import CepDataError, CepUnsupportedError
from sparkcep.spec.expression import AggregateOf

Fold = Literal["count", "sum", "mean", "min", "max"]

SUM_DIGITS = 10
"""Spark's SUM adds so many digits to a decimal's precision, up to ``MAX_PRECISION``; a sum that has more is an error."""
BEYOND = 10**MAX_PRECISION
"""The sum of two numbers below is below twice that: what wraps around in 128 bits is beyond it, too."""


def total_kind(term: AggregateOf, payload: Payload) -> Kind:
    """The kind of an aggregate. Raises CepUnsupportedError if Spark's result is not exact or not defined."""
    if term.function == "count" or term.column is None:
        return Kind("integer")
    kind = payload.kind(term.column)
    if term.function in ("min", "max") and kind.name != "opaque":
        return kind
    if term.function == "avg" and kind.name in ("integer", "float"):
        return Kind("float")
    if term.function == "sum" and kind.name in ("integer", "float", "duration"):
        return Kind("duration" if kind.name == "duration" else kind.name)
    if term.function == "sum" and kind.name == "decimal":
        return Kind("decimal", 128, min(kind.precision + SUM_DIGITS, MAX_PRECISION), kind.scale)
    raise CepUnsupportedError(
        f"{term.function.upper()} over the {kind.name} values of {term.variable} is not supported.",
        code="AGGREGATE",
        hint="Cast the column to DOUBLE or to a shorter decimal.",
    )


def totals(closures: Closures, term: AggregateOf, payload: Payload) -> pl.Series:
    """The aggregate per closure, as in ``total_kind`` (sums of integers in 128 bits)."""
    if term.column is None:
        return pl.repeat(closures.size, len(closures), dtype=pl.Int64, eager=True)
    if term.function != "avg":
        return _folded(closures, cast(Fold, term.function), term.column, payload)
    parts = pl.DataFrame(
        {
            "sum": _folded(closures, "mean", term.column, payload),
            "count": _folded(closures, "count", term.column, payload),
        }
    )
    return parts.select(pl.col("sum") / pl.col("count")).to_series()


def _folded(closures: Closures, fold: Fold, column: str, payload: Payload) -> pl.Series:
    """Shorter closures without a value are folded first, so that each closure's value is computed once."""
    key = (fold, column)
    pending = [closures]
    while key not in pending[-1].totals and pending[-1].shorter is not None:
        pending.append(pending[-1].shorter)
    for node in reversed(pending):
        if key not in node.totals:
            node.totals[key] = _folded_once(node, fold, column, payload)
    return cast(pl.Series, closures.totals[key])


def _folded_once(node: Closures, fold: Fold, column: str, payload: Payload) -> pl.Series:
    new = _lifted(payload.series(column).gather(node.last), fold, payload.kind(column))
    if node.shorter is None:
        return new
    before = node.shorter.totals[(fold, column)].gather(cast(np.ndarray, node.parents))
    pair = pl.DataFrame([before.alias("before"), new.alias("new")])
    found = pair.select(_combined(fold)).to_series()
    if fold == "sum" and payload.kind(column).precision + SUM_DIGITS > MAX_PRECISION:
        _require_digits(found, column)
    return found


def _require_digits(sums: pl.Series, column: str) -> None:
    inside = pl.col("sum").is_between(pl.lit(1 - BEYOND, dtype=pl.Int128), pl.lit(BEYOND - 1, dtype=pl.Int128))
    if not sums.to_frame("sum").select(inside.all()).item():
        raise CepDataError(
            f"SUM of {column} over the events of a closure has more than {MAX_PRECISION} digits",
            code="ARITHMETIC_OVERFLOW",
            hint="CAST it to DOUBLE, or to a DECIMAL with fewer places",
        )


def _lifted(values: pl.Series, fold: Fold, kind: Kind) -> pl.Series:
    """Each value as the aggregate of itself alone."""
    if fold == "count":
        return values.is_not_null().cast(pl.Int64)
    if fold == "mean" or (fold == "sum" and kind.name == "float"):
        return values.cast(pl.Float64)
    if fold == "sum":
        return values.cast(pl.Int128)
    return values.cast(pl.Int8) if kind.name == "boolean" else values


def _combined(fold: Fold) -> pl.Expr:
    """NULLs are skipped; MIN and MAX compare as predicates do (NaN above every number)."""
    before, new = pl.col("before"), pl.col("new")
    if fold in ("min", "max"):
        wins = new < before if fold == "min" else new > before
        return pl.when(before.is_null() | wins).then(new).otherwise(before)
    return pl.when(before.is_null()).then(new).when(new.is_null()).then(before).otherwise(before + new)
