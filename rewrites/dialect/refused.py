"""What the language has but this version has not: refused by name, with the place and what to write instead."""

from __future__ import annotations

from typing import NoReturn

from rewrites.dialect.clause import ClauseKind
from rewrites.dialect.tokens import Tokens
from sparkcep.errors import CepUnsupportedError, Span

_STATEMENTS = ("CREATE", "DROP", "ALTER", "DESCRIBE")


def check_statement(tokens: Tokens) -> None:
    """Refuse CREATE, DROP, ALTER, DESCRIBE PATTERN name and SHOW PATTERNS."""
    words = [token.key for token in tokens.items[:5]]
    if words[:3] == ["CREATE", "OR", "REPLACE"]:
        words[1:3] = []
    index = len(tokens.items[:5]) - len(words) + 1
    named = len(words) > 2 and words[0] in _STATEMENTS and words[1] == "PATTERN" and tokens.items[index + 1].is_name
    if not named and words[:2] != ["SHOW", "PATTERNS"]:
        return
    hint = "write the clause itself in the query"
    if words[0] == "DESCRIBE":
        hint += "; a column of a table called pattern is described by DESCRIBE TABLE pattern column"
    _refuse(
        tokens,
        tokens.items[0].span.to(tokens.items[index].span),
        f"{words[0]} {words[1]} is not supported yet",
        "NAMED_PATTERN",
        hint,
    )


def check_named(tokens: Tokens, keyword: int, name: int, kind: ClauseKind, not_a_name: set[str]) -> None:
    """Refuse ``t MATCH_RECOGNIZE name``; ``t match_recognize WHERE …`` is an alias."""
    token = tokens.items[name]
    if token.is_name and token.key not in not_a_name | {"AS"}:
        span = tokens.items[keyword].span.to(token.span)
        _refuse(
            tokens, span, "named patterns are not supported yet", "NAMED_PATTERN", f"write {kind} ( … ) itself here"
        )


def check_kind(tokens: Tokens, keyword: int, opening: int, kind: ClauseKind) -> None:
    """Refuse MATCH AUTOMATON."""
    span = tokens.items[keyword].span.to(tokens.items[opening - 1].span)
    if kind == "MATCH AUTOMATON":
        _refuse(
            tokens,
            span,
            "MATCH AUTOMATON is not supported yet",
            "AUTOMATON",
            "write the pattern with MATCH PATTERN or MATCH_RECOGNIZE",
        )


def _refuse(tokens: Tokens, span: Span, message: str, code: str, hint: str) -> NoReturn:
    raise CepUnsupportedError(message, code=code, sql=tokens.sql, span=span, hint=hint)
