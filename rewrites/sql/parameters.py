"""Positional parameter markers get names, because a rewrite may move or repeat the expressions they stand in."""

from __future__ import annotations

from collections.abc import Callable

from rewrites.dialect import placeholders
from rewrites.dialect.tokens import Token, tokenize
from rewrites.sql.source import Edit, Source
from sparkcep.errors import Span


def positional_name(index: int) -> str:
    """The name of the positional parameter marker number ``index`` (from 0), which Spark tells users of."""
    return f"_{index + 1}"


def named_markers(sql: str) -> tuple[Edit, ...]:
    """``?`` → ``:_1``, in the order of the text."""
    return tuple((span, f":{positional_name(index)}") for index, span in enumerate(placeholders(sql)))


def with_values(sql: str, literal: Callable[[str], str]) -> str:
    """``sql`` with ``literal(':name')`` in the place of each named marker: text that is parsed without the statement's parameters."""
    items = tokenize(sql).items
    marks = (
        Span(colon.span.start, name.span.end)
        for before, colon, name in zip(items, items[1:], items[2:], strict=False)
        if colon.key == ":" and name.is_name and colon.span.end == name.span.start and not _is_path(before, colon)
    )
    edits = tuple((mark, literal(sql[mark.start : mark.end])) for mark in marks)
    return Source(sql, edits).text(Span(0, len(sql)))


def _is_path(before: Token, colon: Token) -> bool:
    """Whether a colon follows a value (``payload:field``, ``x::INT``)."""
    return before.span.end == colon.span.start and (before.is_name or before.key in (")", "]", ":"))
