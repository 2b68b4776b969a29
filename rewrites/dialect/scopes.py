"""WITH clauses: which common table expressions are visible at a position in the statement."""

from __future__ import annotations

from dataclasses import dataclass

from rewrites.dialect.tokens import Tokens
from sparkcep.errors import Span


@dataclass(frozen=True, slots=True)
class With:
    """``WITH [RECURSIVE] a AS (…), b AS (…)``: the definitions' spans, and the end of the query that can reference them."""

    definitions: tuple[Span, ...]
    recursive: bool
    end: int


def find_withs(tokens: Tokens) -> tuple[With, ...]:
    """All WITH clauses of a statement, outer ones before inner ones."""
    found = (_read(tokens, i) for i, token in enumerate(tokens.items) if token.key == "WITH")
    return tuple(clause for clause in found if clause)


def visible(withs: tuple[With, ...], offset: int) -> tuple[tuple[tuple[Span, ...], ...], tuple[bool, ...]]:
    """The definitions visible at ``offset``, per WITH in scope, outermost first; and which WITHs are recursive."""
    scopes, recursive = [], []
    for clause in withs:
        seen = tuple(span for span in clause.definitions if span.end <= offset)
        if clause.definitions[0].start <= offset < clause.end and seen:
            scopes.append(seen)
            recursive.append(clause.recursive)
    return tuple(scopes), tuple(recursive)


def recursive_around(withs: tuple[With, ...], offset: int) -> tuple[Span, ...]:
    """The definitions of WITH RECURSIVE inside which ``offset`` lies."""
    definitions = (span for clause in withs if clause.recursive for span in clause.definitions)
    return tuple(span for span in definitions if span.start <= offset < span.end)


def _read(tokens: Tokens, start: int) -> With | None:
    i = start + 1
    recursive = _key(tokens, i) == "RECURSIVE" and _key(tokens, i + 1) not in ("AS", "(")
    i += recursive
    definitions: list[Span] = []
    while (end := _definition_end(tokens, i)) is not None:
        definitions.append(tokens.items[i].span.to(tokens.items[end].span))
        i = end + 2
        if _key(tokens, end + 1) != ",":
            break
    return With(tuple(definitions), recursive, _query_end(tokens, start)) if definitions else None


def _definition_end(tokens: Tokens, i: int) -> int | None:
    """The closing parenthesis of ``name [(columns)] [MAX RECURSION LEVEL n] [AS] (…)``, None for anything else."""
    if i >= len(tokens.items) or not tokens.items[i].is_name:
        return None
    i += 1
    if _key(tokens, i) == "(" and tokens.partner[i] >= 0 and _key(tokens, tokens.partner[i] + 1) in ("AS", "(", "MAX"):
        i = tokens.partner[i] + 1
    if _key(tokens, i) == "MAX":
        i += 4
    if _key(tokens, i) == "AS":
        i += 1
    return tokens.partner[i] if _key(tokens, i) == "(" and tokens.partner[i] >= 0 else None


def _query_end(tokens: Tokens, start: int) -> int:
    """The end of the query of the WITH at item ``start``: the enclosing parenthesis, a semicolon, or the end of the text."""
    outer = tokens.outer[start]
    close = tokens.partner[outer] if outer >= 0 else -1
    limit = close if close >= 0 else len(tokens.items)
    for i in range(start, limit):
        if tokens.items[i].key == ";" and tokens.outer[i] == outer:
            return tokens.items[i].span.start
    return tokens.items[limit].span.start if limit < len(tokens.items) else len(tokens.sql)


def _key(tokens: Tokens, i: int) -> str:
    return tokens.items[i].key if i < len(tokens.items) else ""
