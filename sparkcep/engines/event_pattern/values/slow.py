"""Parts of conditions that only Python can evaluate: Spark functions of several events, pair by pair (the *slow path*).

In: a ``SparkFunction`` tree whose leaves are ``Term``s, and for each term its values over a set of pairs. Out: for each pair TRUE, FALSE or
NULL, and whether the value is an error. The functions are those of ``engines.functions``; each costs a microsecond or more per pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from sparkcep.engines.event_pattern.events import IntArray
from sparkcep.engines.event_pattern.values.arithmetic import Lowered
from sparkcep.engines.event_pattern.values.values import Kind, Payload
from sparkcep.engines.functions import compile_function
from sparkcep.engines.functions.base import EXACT, Closure
from sparkcep.engines.functions.times import internal
from sparkcep.errors import CepDataError
from sparkcep.spec.expression import SparkFunction, Term, terms

FAILED = 3
"""The fault code of a value that is an error; the error itself is kept with the function."""

MOST_KEPT = 1 << 16
"""The cache size of a function: values recur from pair to pair."""


@dataclass(slots=True)
class Values:
    """The frame that a function of ``engines.functions`` reads: the values of the terms in one pair."""

    row: Sequence[Any] = ()
    lambdas: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class SlowFunction:
    """A function over its ``terms``; ``words``: what computes it where it has no fault; ``error``: the first error among its values."""

    terms: tuple[Term, ...]
    closure: Closure
    words: Lowered | None = None
    error: CepDataError | None = None
    known: dict[Any, tuple[bool | None, int]] = field(default_factory=dict)

    def answers(self, columns: Sequence[Sequence[Any]], count: int) -> tuple[pl.Series, IntArray]:
        """(value, fault) of ``count`` pairs; ``columns``: the values of each term."""
        values: list[bool | None] = []
        faults = np.zeros(count, np.int64)
        for at, row in enumerate(zip(*columns, strict=True)):
            value, faults[at] = self._answer(row)
            values.append(value)
        return pl.Series(values, dtype=pl.Boolean), faults

    def _answer(self, row: tuple[Any, ...]) -> tuple[bool | None, int]:
        key = tuple(value if type(value) in (int, str, bool) or value is None else repr(value) for value in row)
        if key not in self.known:
            if len(self.known) >= MOST_KEPT:
                self.known.clear()
            self.known[key] = self._computed(row)
        return self.known[key]

    def _computed(self, row: tuple[Any, ...]) -> tuple[bool | None, int]:
        try:
            return self.closure(Values(row)), 0
        except CepDataError as error:
            self.error = self.error or error
            return None, FAILED


def slow_function(tree: SparkFunction, words: Lowered | None) -> SlowFunction:
    """``tree`` ready to run. Raises CepUnsupportedError for a function that is not implemented."""
    places = {term: at for at, term in enumerate(terms(tree))}

    def leaf(term: Term) -> Closure:
        at = places[term]
        return lambda values: values.row[at]

    return SlowFunction(tuple(places), compile_function(tree, leaf), words)


def plain(series: pl.Series, kind: Kind) -> list[Any]:
    """Values of a kind in the representation that the functions expect."""
    values = series.to_list()
    if kind.name == "decimal":
        return [None if value is None else Decimal(value).scaleb(-kind.scale, EXACT) for value in values]
    if kind.name == "boolean":
        return [None if value is None else bool(value) for value in values]
    return values


def opaque(payload: Payload, column: str, rows: IntArray) -> list[Any]:
    """Array and struct values of events."""
    found = payload.table.column(column).take(payload.positions[rows])
    return [internal(value) for value in found.to_pylist()]
