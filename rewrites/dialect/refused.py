"""Language features that this version does not support: refused by name, with the span and what to write instead."""

from __future__ import annotations

from typing import NoReturn

from rewrites.dialect.clause import ClauseKind
from rewrites.dialect.tokens import Tokens, depths
from sparkcep.errors import CepUnsupportedError, Span

_LONGEST = (["(", "USE_LONGEST_MATCH"], ["(", ")"])
_STATEMENTS = ("CREATE", "DROP", "ALTER", "DESCRIBE")


def check_statement(tokens: Tokens) -> None:
    """Refuse CREATE, DROP, ALTER, DESCRIBE PATTERN name and SHOW PATTERNS where no session has taken them: the table of patterns is a session's."""
    words = [token.key for token in tokens.items[:5]]
    if words[:3] == ["CREATE", "OR", "REPLACE"]:
        words[1:3] = []
    index = len(tokens.items[:5]) - len(words) + 1
    named = len(words) > 2 and words[0] in _STATEMENTS and words[1] == "PATTERN" and tokens.items[index + 1].is_name
    if not named and words[:2] != ["SHOW", "PATTERNS"]:
        return
    hint = "run it in a session that sparkcep is in, as a statement of its own"
    if words[0] == "DESCRIBE":
        hint += "; a column of a table called pattern is described by DESCRIBE TABLE pattern column"
    _refuse(
        tokens,
        tokens.items[0].span.to(tokens.items[index].span),
        f"{words[0]} {words[1]} outside a session",
        "NAMED_PATTERN",
        hint,
    )


def check_function(tokens: Tokens) -> None:
    """Refuse a clause in ``CREATE FUNCTION … RETURNS TABLE``: Spark creates it, and then knows no table arguments in such functions."""
    words = [token.key for token in tokens.items]
    if words[:1] != ["CREATE"] or "FUNCTION" not in words[1:5]:
        return
    for i, word in enumerate(words[:-1]):
        if word == "RETURNS" and words[i + 1] == "TABLE":
            _refuse(
                tokens,
                tokens.items[i].span.to(tokens.items[i + 1].span),
                "a pattern clause in a SQL function that returns a table",
                "TABLE_FUNCTION",
                "put the clause into a view, and let the function read the view",
            )


def check_named(tokens: Tokens, keyword: int, name: int, kind: ClauseKind, not_a_name: set[str]) -> None:
    """Refuse ``t MATCH_RECOGNIZE name`` where no session has put the body in its place; ``t match_recognize WHERE …`` is an alias."""
    token = tokens.items[name]
    if token.is_name and token.key not in not_a_name | {"AS"}:
        span = tokens.items[keyword].span.to(token.span)
        _refuse(tokens, span, "a named pattern outside a session", "NAMED_PATTERN", f"write {kind} ( … ) itself here")


def check_options(tokens: Tokens, body: Span) -> None:
    """Refuse ``OPTIONS (use_longest_match = …)`` (BigQuery) at the top level of a clause's ``body``."""
    found = tokens.inside(body)
    for i, depth in depths(found[:-2]):
        if depth == 0 and found[i].key == "OPTIONS" and [token.key for token in found[i + 1 : i + 3]] in _LONGEST:
            _refuse(
                tokens,
                found[i].span,
                "BigQuery's OPTIONS (use_longest_match = …)",
                "OPTIONS",
                "leave it out for FALSE; for TRUE write greedy quantifiers, and the longer alternatives of PATTERN first",
            )


def _refuse(tokens: Tokens, span: Span, message: str, code: str, hint: str) -> NoReturn:
    raise CepUnsupportedError(message, code=code, sql=tokens.sql, span=span, hint=hint)
