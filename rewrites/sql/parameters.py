"""Positional parameter markers get names, because a rewrite may move or repeat the expressions they stand in."""

from __future__ import annotations

from rewrites.dialect import placeholders
from rewrites.sql.source import Edit


def positional_name(index: int) -> str:
    """The name of the positional parameter marker number ``index`` (from 0)."""
    return f"__cep_p{index}"


def named_markers(sql: str) -> tuple[Edit, ...]:
    """``?`` → ``:__cep_p0``, in the order of the text."""
    return tuple((span, f":{positional_name(index)}") for index, span in enumerate(placeholders(sql)))
