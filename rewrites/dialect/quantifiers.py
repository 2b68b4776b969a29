"""Quantifiers of row and event patterns: ``* + ? {n} {n,} {n,m} {,m} {,}``; a number may be a parameter marker."""

from __future__ import annotations

from typing import NamedTuple

from rewrites.dialect.cursor import Cursor
from rewrites.dialect.parameter_values import value_at
from sparkcep.errors import Span

_SHORT: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_FORMS = "a quantifier is {n}, {n,}, {n,m} or {,m}"


class Quantifier(NamedTuple):
    """Bounds on the number of repetitions; ``high`` None means unbounded."""

    low: int
    high: int | None
    span: Span


def read_quantifier(cursor: Cursor) -> Quantifier | None:
    """The next quantifier, None if there is none (``{-`` opens an exclusion)."""
    key = cursor.key()
    if key in _SHORT:
        span = cursor.take().span
        return Quantifier(*_SHORT[key], span)
    if key != "{" or cursor.key(1) == "-":
        return None
    start = cursor.take().span
    low = _number(cursor)
    high = low
    if cursor.accept(","):
        high = _number(cursor)
    elif low is None:
        cursor.fail("expected a number in the quantifier", hint=_FORMS)
    span = start.to(cursor.expect("}", hint=_FORMS))
    return _checked(cursor, Quantifier(low or 0, high, span))


def _checked(cursor: Cursor, quantifier: Quantifier) -> Quantifier:
    if quantifier.high is not None and quantifier.high < quantifier.low:
        cursor.fail(
            f"the quantifier's lower bound {quantifier.low} exceeds its upper bound {quantifier.high}",
            span=quantifier.span,
            code="QUANTIFIER",
            hint=f"write {{{quantifier.high},{quantifier.low}}}",
        )
    if quantifier.high == 0:
        cursor.fail(
            "the quantifier's upper bound is 0; it must be at least 1",
            span=quantifier.span,
            code="QUANTIFIER",
            hint=_FORMS,
        )
    return quantifier


def _number(cursor: Cursor) -> int | None:
    token = cursor.peek()
    if token is not None and token.key in (":", "?"):
        return _parameter(cursor)
    if token is None or token.kind != "number" or not token.text.isdigit():
        return None
    return int(cursor.take().text)


def _parameter(cursor: Cursor) -> int:
    """``:n`` or ``?``."""
    span = cursor.take().span
    if cursor.sql[span.start] == ":":
        span = span.to(cursor.name("a parameter's name").span)
    value = value_at(span, "a quantifier")
    if value is None:
        cursor.fail(
            "a parameter in a quantifier needs a value",
            span=span,
            hint="pass the values with the statement: spark.sql(text, args=…)",
        )
    return value
