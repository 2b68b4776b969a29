"""Find the pattern clauses of a statement.

In: any SQL text. Out: a ``Site`` per MATCH_RECOGNIZE, MATCH PATTERN or MATCH AUTOMATON clause; nothing for any other statement, even one
that cannot be tokenised. The clause's text is not parsed here (see ``parse_clause``), nor are tables looked up.
"""

from __future__ import annotations

import re

from rewrites.dialect import refused
from rewrites.dialect.clause import ClauseKind, Name, Site
from rewrites.dialect.pipes import pipe_before, query_start
from rewrites.dialect.scopes import find_withs, recursive_around, visible
from rewrites.dialect.table_refs import follows_condition, table_start
from rewrites.dialect.tokens import Tokens, tokenize
from sparkcep.errors import CepSyntaxError, Span

_MAY_MATCH = re.compile(r"match|\bpatterns?\b", re.IGNORECASE)
_CANDIDATE = re.compile(
    r"\bMATCH_RECOGNIZE\b|\bMATCH\s+(PATTERNS?|AUTOMATON)\b|\b(CREATE|REPLACE|DROP|SHOW|DESCRIBE|ALTER)\s+PATTERNS?\b",
    re.IGNORECASE,
)
NOT_CODE = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|\br'[^']*(?:'|\Z)|\br"[^"]*(?:"|\Z)|'(?:\\.|[^'\\])*(?:'|\Z)|"(?:\\.|[^"\\])*(?:"|\Z)|`[^`]*(?:`|\Z)""",
    re.DOTALL | re.IGNORECASE,
)
"""Comments, strings and quoted identifiers: used by a pre-check that never fails, even on text that cannot be tokenised."""
_KINDS: dict[str, ClauseKind] = {
    "PATTERN": "MATCH PATTERN",
    "PATTERNS": "MATCH PATTERNS",
    "AUTOMATON": "MATCH AUTOMATON",
}
NO_ALIAS = {
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "QUALIFY",
    "LIMIT",
    "OFFSET",
    "WINDOW",
    "CLUSTER",
    "DISTRIBUTE",
    "SORT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "MINUS",
    "SETMINUS",
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "SEMI",
    "ANTI",
    "NATURAL",
    "LATERAL",
    "ON",
    "USING",
    "PIVOT",
    "UNPIVOT",
    "TABLESAMPLE",
    "FOR",
    "VERSION",
    "TIMESTAMP",
    "WHEN",
    "SELECT",
    "INSERT",
    "MAP",
    "REDUCE",
    "SET",
    "WITH",
}
"""Words that may follow a table reference without being its alias."""


def find_sites(sql: str, *, named: bool = False) -> tuple[Site, ...]:
    """All pattern clauses of ``sql``, in the order of their keywords: a clause inside the input of another comes first. ``named``: there may be
    names of stored patterns, ``MATCH PATTERN name``, which are none.

    Raises CepUnsupportedError for what is refused by name and CepSyntaxError for a clause that stands behind a condition or is never closed.
    """
    if not may_have_clause(sql):
        return ()
    tokens = tokenize(sql)
    refused.check_statement(tokens)
    found = tuple(site for i in range(len(tokens.items)) if (site := _site(tokens, i, named)))
    if found:
        refused.check_function(tokens)
    return found


def may_have_clause(sql: str) -> bool:
    """Whether the words of a clause stand somewhere in ``sql`` (cheap)."""
    return bool(_MAY_MATCH.search(sql) and _CANDIDATE.search(NOT_CODE.sub(" ", sql)))


def _site(tokens: Tokens, i: int, named: bool) -> Site | None:
    """The clause whose keyword begins at item ``i``."""
    kind, behind = clause_kind(tokens, i)
    if kind is None or behind >= len(tokens.items):
        return None
    start = clause_start(tokens, i)
    if tokens.items[behind].key != "(":
        if start is not None and not named:
            refused.check_named(tokens, i, behind, kind, NO_ALIAS)
        return None
    if kind == "MATCH_RECOGNIZE" and _is_column_list(tokens, behind):
        return None
    if start is None:
        _check_place(tokens, i, behind)
        return None
    return _built(tokens, kind, start, i, behind)


def clause_start(tokens: Tokens, i: int) -> int | None:
    """The item where the input of the clause at item ``i`` begins; None where nothing before it can be its input."""
    pipe = pipe_before(tokens, i)
    return table_start(tokens, i) if pipe is None else query_start(tokens, pipe)


def clause_kind(tokens: Tokens, i: int) -> tuple[ClauseKind | None, int]:
    """The kind of clause that begins at item ``i``, and the item after its keywords."""
    if tokens.items[i].key == "MATCH_RECOGNIZE":
        return "MATCH_RECOGNIZE", i + 1
    if tokens.items[i].key == "MATCH" and i + 1 < len(tokens.items):
        return _KINDS.get(tokens.items[i + 1].key), i + 2
    return None, i


def _built(tokens: Tokens, kind: ClauseKind, start: int, keyword: int, opening: int) -> Site:
    items = tokens.items
    closing = tokens.partner[opening]
    if closing < 0:
        raise CepSyntaxError(
            f"the parenthesis after {kind} is not closed",
            code="UNBALANCED",
            sql=tokens.sql,
            span=items[opening].span,
            hint="every ( [ and { of the clause needs its counterpart",
        )
    withs, offset = find_withs(tokens), items[keyword].span.start
    scopes, recursive = visible(withs, offset)
    pipe = pipe_before(tokens, keyword)
    alias = _alias(tokens, closing + 1)
    return Site(
        kind=kind,
        span=items[start].span.to(items[closing].span),
        input=items[start].span.to(items[(keyword if pipe is None else pipe) - 1].span),
        keyword=items[keyword].span.to(items[opening - 1].span),
        body=Span(items[opening].span.end, items[closing].span.start),
        alias=alias,
        scopes=scopes,
        recursive=recursive,
        around=recursive_around(withs, offset),
        lateral=_lateral(tokens, start),
        pipe=pipe is not None,
        columns=None if alias is None else _columns(tokens, tokens.index(alias.span.end)),
    )


def _alias(tokens: Tokens, i: int) -> Name | None:
    """``AS x`` or a bare ``x`` after the clause."""
    if i < len(tokens.items) and tokens.items[i].key == "AS":
        i += 1
    elif i < len(tokens.items) and (tokens.items[i].key in NO_ALIAS or clause_kind(tokens, i)[0]):
        return None
    return tokens.items[i].name if i < len(tokens.items) and tokens.items[i].is_name else None


def _columns(tokens: Tokens, i: int) -> Span | None:
    """The list of names at item ``i``, if there is one."""
    if i == len(tokens.items) or tokens.items[i].key != "(" or tokens.partner[i] < 0:
        return None
    return tokens.items[i].span.to(tokens.items[tokens.partner[i]].span)


def _lateral(tokens: Tokens, start: int) -> bool:
    """Whether LATERAL precedes the table reference or a parenthesis around it."""
    i = start
    while i >= 0:
        if i > 0 and tokens.items[i - 1].key == "LATERAL":
            return True
        i = tokens.outer[i]
    return False


def _is_column_list(tokens: Tokens, opening: int) -> bool:
    """``FROM t match_recognize (a, b)``: an alias with column names, not a clause."""
    body = tokens.items[opening + 1 : tokens.partner[opening]]
    return bool(body) and all(token.is_name if i % 2 == 0 else token.key == "," for i, token in enumerate(body))


def _check_place(tokens: Tokens, i: int, opening: int) -> None:
    """Refuse a clause after a condition (``FROM t WHERE x > 1 MATCH_RECOGNIZE (…)``); a function call passes."""
    keyword = follows_condition(tokens, i)
    body = tokens.items[opening + 1 : tokens.partner[opening]] if tokens.partner[opening] >= 0 else ()
    if keyword and any(token.key in ("PATTERN", "SEQ", "DEFINE", "MEASURES", "WITHIN", "ARC") for token in body):
        raise CepSyntaxError(
            f"a pattern clause must follow a table, but this one follows {keyword}",
            code="PLACE",
            sql=tokens.sql,
            span=tokens.items[i].span.to(tokens.items[opening - 1].span),
            hint="put it right after its table, or put the query before it in a subquery: FROM (SELECT …) MATCH…",
        )
