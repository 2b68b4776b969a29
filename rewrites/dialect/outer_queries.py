"""The queries around a correlated subquery, whose columns a clause inside it may mean: ``n`` in ``FROM names n, LATERAL (SELECT … n.limit …)``.

In: a statement and a site. Out: the queries whose names Spark would look up, from the inside out, with the rows that they offer to the subquery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.dialect.clause import Site
from rewrites.dialect.table_refs import in_from_list
from rewrites.dialect.tokens import Token, Tokens, cover, tokenize
from sparkcep.errors import Span

_QUERY = {"SELECT", "FROM", "WITH", "VALUES"}
_SETS = {"UNION", "EXCEPT", "INTERSECT", "MINUS", "SETMINUS", ";"}
_BEHIND_FROM = {
    *("WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET"),
    *("SELECT", "|"),
}
_JOIN_WORDS = {"JOIN", "INNER", "CROSS", "LEFT", "OUTER", ",", "LATERAL"}


@dataclass(frozen=True, slots=True)
class OuterQuery:
    """``names``: the identifiers of the query, in lower case. ``rows``: what stands behind its FROM, as far as the subquery sees it; None if it
    cannot be repeated. ``filters``: the operands of AND in its WHERE that hold for every row of the result.
    """

    names: frozenset[str]
    rows: Span | None
    filters: tuple[Span, ...] = ()


def outer_names(sql: str, site: Site) -> frozenset[str]:
    """The identifiers, in lower case, of the queries whose columns the clause at ``site`` may name."""
    return frozenset(name for query in outer_queries(sql, site) for name in query.names)


def outer_queries(sql: str, site: Site) -> tuple[OuterQuery, ...]:
    """The queries whose columns the clause at ``site`` may name, inner ones first."""
    tokens = tokenize(sql)
    return tuple(_outer_queries(tokens, tokens.index(site.keyword.start)))


def _outer_queries(tokens: Tokens, inside: int) -> Iterator[OuterQuery]:
    opening = tokens.outer[inside]
    while opening >= 0:
        seen = _seen(tokens, opening) if tokens.items[opening + 1].key in _QUERY else None
        if seen == "nothing":
            return
        if seen == "all":
            yield _outer_query(tokens, opening)
        opening = tokens.outer[opening]


def _seen(tokens: Tokens, opening: int) -> str:
    """What a query in parentheses sees of the one around it: all (LATERAL, an expression), only what is further out (a table), nothing (a CTE)."""
    before = tokens.items[opening - 1].key if opening > 0 else "AS"
    if before == "AS":
        return "nothing"
    if before in ("FROM", "JOIN") or (before == "," and in_from_list(tokens, opening - 1)):
        return "further"
    return "all"


def _outer_query(tokens: Tokens, opening: int) -> OuterQuery:
    """The query around the one that ``opening`` opens."""
    inner, level = opening, tokens.outer[opening]
    while level >= 0 and tokens.items[level + 1].key not in _QUERY:
        inner, level = level, tokens.outer[level]
    block = _block(tokens, inner, level)
    names = frozenset(tokens.items[i].text.lower() for i in block if tokens.items[i].is_name)
    rows = _rows(tokens, block, inner)
    if rows is None:
        return OuterQuery(names, None)
    filters = () if _repeats_nulls(tokens, block) else tuple(_filters(tokens, block, inner))
    return OuterQuery(names, cover(rows), filters)


def _block(tokens: Tokens, inner: int, level: int) -> list[int]:
    """The items of the query around item ``inner``, without those in its brackets: one operand of a UNION."""
    block: list[int] = []
    for i in (i for i in range(level + 1, len(tokens.items)) if tokens.outer[i] == level):
        star = tokens.items[i - 1].key == "*" if i > 0 else False
        if (tokens.items[i].key in _SETS and not star) or (level >= 0 and i == tokens.partner[level]):
            if i > inner:
                break
            block = []
            continue
        block.append(i)
    return block


def _rows(tokens: Tokens, block: list[int], inner: int) -> tuple[Token, ...] | None:
    """What stands behind FROM, of a LATERAL subquery (at ``inner``) what stands before it."""
    keys = [tokens.items[i].key for i in block]
    start = next((n for n, key in enumerate(keys) if key == "FROM" and keys[n - 1 : n] != ["DISTINCT"]), None)
    if start is None:
        return None
    end = next((n for n in range(start + 1, len(block)) if keys[n] in _BEHIND_FROM), len(block))
    place = block.index(inner)
    if start < place < end:
        if keys[place - 1] != "LATERAL":
            return None  # in ON, or in a table function's argument
        end = place
        while keys[end - 1] in _JOIN_WORDS:
            end -= 1
    elif end < len(block) and keys[end] == "|":
        return None
    return tokens.items[block[start] + 1 : block[end - 1] + 1] if end > start + 1 else None


def _repeats_nulls(tokens: Tokens, block: list[int]) -> bool:
    """A join behind the subquery may turn columns of a row to NULL before WHERE sees it."""
    return any(tokens.items[i].key in ("RIGHT", "FULL") for i in block)


def _filters(tokens: Tokens, block: list[int], inner: int) -> Iterator[Span]:
    """The operands of AND in WHERE, but for the one with the subquery."""
    keys = [tokens.items[i].key for i in block]
    if "WHERE" not in keys:
        return
    start = keys.index("WHERE") + 1
    end = next((n for n in range(start, len(block)) if keys[n] in _BEHIND_FROM), len(block))
    if {"OR", "CASE", "|"} & set(keys[start:end]):
        return
    part: list[int] = []
    between = False
    for n in range(start, end + 1):
        if n < end and (keys[n] != "AND" or between):
            between = keys[n] == "BETWEEN" or (between and keys[n] != "AND")
            part.append(block[n])
            continue
        span = tokens.items[part[0]].span.to(tokens.items[part[-1]].span) if part else None
        if span is not None and not span.start <= tokens.items[inner].span.start < span.end:
            yield span
        part = []
