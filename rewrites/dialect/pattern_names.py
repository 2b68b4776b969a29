"""Where a statement names a stored pattern: ``t MATCH PATTERN name`` and ``PATTERN name`` inside an event pattern.

In: any SQL text. Out: places, nothing looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.dialect import match_pattern
from rewrites.dialect.clause import ClauseKind, Name, Site
from rewrites.dialect.hints import parse_hints
from rewrites.dialect.sections import cut
from rewrites.dialect.sites import NO_ALIAS, clause_kind, clause_start, may_have_clause
from rewrites.dialect.tokens import Token, tokenize
from sparkcep.errors import Span


@dataclass(frozen=True, slots=True)
class Use:
    """``MATCH PATTERN name`` behind a table reference."""

    kind: ClauseKind
    name: Name
    span: Span


@dataclass(frozen=True, slots=True)
class Inclusion:
    """``PATTERN name [alias]`` inside an event pattern. ``alone``: the event pattern is nothing else."""

    span: Span
    name: Name
    alias: Name | None
    alone: bool


def uses(sql: str) -> Iterator[Use]:
    """Clauses whose body is a name, in the order written."""
    if not may_have_clause(sql):
        return
    tokens = tokenize(sql)
    for i in range(len(tokens.items)):
        kind, behind = clause_kind(tokens, i)
        if kind is None or behind >= len(tokens.items):
            continue
        name = tokens.items[behind]
        if name.is_name and name.key not in NO_ALIAS | {"AS"} and clause_start(tokens, i) is not None:
            yield Use(kind, name.name, tokens.items[i].span.to(name.span))


def may_include(sql: str) -> bool:
    """Whether ``PATTERN name`` stands somewhere (cheap)."""
    items = tokenize(sql).items if may_have_clause(sql) else ()
    return any(
        token.key == "PATTERN"
        and i + 1 < len(items)
        and items[i + 1].is_name
        and (i == 0 or items[i - 1].key != "MATCH")
        for i, token in enumerate(items)
    )


def inclusions(sql: str, site: Site) -> Iterator[Inclusion]:
    """The named patterns inside the clause at ``site``, in the order written; none for a clause of rows."""
    if site.kind not in ("MATCH PATTERN", "MATCH PATTERNS"):
        return
    _, body = parse_hints(sql, site.body)
    tokens = cut(sql, body, match_pattern.GRAMMAR, first="PATTERN")["PATTERN"].tokens
    for i, token in enumerate(tokens):
        length = _length(tokens, i) if token.key == "PATTERN" else 0
        if length:
            alias = tokens[i + 2].name if length == 3 else None
            span = token.span.to(tokens[i + length - 1].span)
            yield Inclusion(span, tokens[i + 1].name, alias, length == len(tokens))


def _length(tokens: tuple[Token, ...], i: int) -> int:
    """How many tokens ``PATTERN name [alias]`` has at ``i``; 0 where something else stands there."""
    for length in (2, 3):
        words, behind = tokens[i + 1 : i + length], tokens[i + length : i + length + 1]
        ends = not behind or behind[0].key in (",", ")")
        if len(words) == length - 1 and ends and all(word.is_name and word.key != "AS" for word in words):
            return length
    return 0
