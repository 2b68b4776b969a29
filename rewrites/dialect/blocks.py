"""The query block around a pattern clause: SELECT … FROM clause [JOIN …] [WHERE] [GROUP BY] [HAVING] [ORDER BY] [LIMIT].

In: a site. Out: its block, split at its keywords, with expressions parsed for analysis; None for a block of any other form (FROM first, joins other
than those that keep or repeat the clause's rows, set quantifiers, pipes, windows, …).
"""

from __future__ import annotations

from dataclasses import dataclass

from rewrites.dialect.clause import Expr, Name, Site
from rewrites.dialect.expressions import parse_expression
from rewrites.dialect.tokens import Token, Tokens, split_commas, tokenize
from sparkcep.errors import CepSyntaxError, Span

_SECTIONS = {"WHERE": 1, "GROUP": 2, "HAVING": 1, "ORDER": 2, "LIMIT": 1, "OFFSET": 1}
"""The section keywords after a block's FROM, with their number of words."""
_JOIN_FORMS = ("JOIN", "INNER JOIN", "CROSS JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
_JOINS = {tuple(form.split()) for form in _JOIN_FORMS}
"""Joins that keep, repeat or drop the rows on their left depending only on the columns of ON."""
_JOIN_WORDS = {word for join in _JOINS for word in join}
_NO_JOIN = {",", "NATURAL", "RIGHT", "FULL", "LATERAL", "PIVOT", "UNPIVOT", "TABLESAMPLE", "WINDOW", "ANTI", "SEMI"}
_SET_OPERATIONS = {"UNION", "EXCEPT", "INTERSECT", "MINUS", "SETMINUS"}
_BEFORE_SELECT = _SET_OPERATIONS | {"ALL", "DISTINCT"}


@dataclass(frozen=True, slots=True)
class SelectItem:
    """An item of a select list; ``end`` is the end of its expression, where an alias would go."""

    expr: Expr
    alias: Name | None


@dataclass(frozen=True, slots=True)
class Block:
    """A query block; ``span`` runs from SELECT to the end of its last section.

    ``rows``: the text after FROM; ``joined``: the words in lower case of what it is joined with, among them the names of tables; ``on``: the
    conditions of its joins.
    """

    span: Span
    items: tuple[SelectItem, ...]
    where: Expr | None
    group_by: tuple[Expr, ...]
    having: Expr | None
    order_by: tuple[Expr, ...]
    rows: Span
    joined: frozenset[str] = frozenset()
    on: tuple[Expr, ...] = ()


class _OtherBlock(Exception):
    """The block has a form that is not supported here."""


def find_block(sql: str, site: Site) -> Block | None:
    """The block whose FROM is the clause at ``site``, perhaps joined with other tables, or None."""
    if site.pipe:
        return None
    try:
        return _block(tokenize(sql), site)
    except (_OtherBlock, CepSyntaxError):
        return None


def _block(tokens: Tokens, site: Site) -> Block:
    start = tokens.index(site.span.start)
    first = _select(tokens, start)
    behind = _behind(tokens, site)
    on, after = _joins(tokens, behind, tokens.outer[start])
    sections, end = _sections(tokens, after, tokens.outer[start])
    if "ORDER" in sections and first > 0 and tokens.items[first - 1].key in _BEFORE_SELECT:
        raise _OtherBlock  # it sorts the result of the whole set operation
    last = tokens.items[end - 1].span
    return Block(
        span=tokens.items[first].span.to(last),
        items=tuple(_item(tokens.sql, part) for part in split_commas(tokens.items[first + 1 : start - 1])),
        where=_expression(tokens.sql, sections.get("WHERE")),
        group_by=_expressions(tokens.sql, sections.get("GROUP", ())),
        having=_expression(tokens.sql, sections.get("HAVING")),
        order_by=tuple(_order(tokens.sql, part) for part in split_commas(sections.get("ORDER", ())) if part),
        rows=site.span.to(tokens.items[after - 1].span),
        joined=frozenset(token.text.lower() for token in tokens.items[behind:after]),
        on=tuple(_parsed(tokens.sql, part) for part in on),
    )


def _select(tokens: Tokens, start: int) -> int:
    """The index of SELECT in the block whose FROM directly precedes item ``start``."""
    items = tokens.items
    if start == 0 or items[start - 1].key != "FROM":
        raise _OtherBlock
    i = start - 2
    while i >= 0 and items[i].key != "SELECT":
        if items[i].key in ("FROM", ";"):
            raise _OtherBlock
        i = tokens.partner[i] if items[i].key in (")", "]", "}") and tokens.partner[i] >= 0 else i
        i -= 1
    if i < 0 or tokens.outer[i] != tokens.outer[start] or items[i + 1].key in ("DISTINCT", "ALL", "TRANSFORM", "MAP"):
        raise _OtherBlock
    return i


def _behind(tokens: Tokens, site: Site) -> int:
    """The first item after the clause and its alias."""
    i = tokens.index(site.span.end)
    if site.alias is not None:
        i = tokens.index(site.alias.span.end)
        if i < len(tokens.items) and tokens.items[i].key == "(":
            raise _OtherBlock
    return i


def _joins(tokens: Tokens, i: int, outer: int) -> tuple[list[tuple[Token, ...]], int]:
    """The ON conditions of the joins that begin at item ``i``, and the item after them."""
    conditions = []
    while not _ends(tokens, i, outer) and tokens.items[i].key in _JOIN_WORDS:
        begin = i
        while tokens.items[i].key in _JOIN_WORDS and tokens.items[i - 1].key != "JOIN":
            i += 1
        if tuple(token.key for token in tokens.items[begin:i]) not in _JOINS:
            raise _OtherBlock
        i = _until(tokens, i, outer, {"ON", "USING"})
        if not _ends(tokens, i, outer) and tokens.items[i].key == "ON":
            begin = i + 1
            i = _until(tokens, begin, outer, set())
            conditions.append(tokens.items[begin:i])
        elif not _ends(tokens, i, outer) and tokens.items[i].key == "USING":
            i = _until(tokens, i + 1, outer, set())
    return conditions, i


def _until(tokens: Tokens, i: int, outer: int, words: set[str]) -> int:
    """The first item from ``i`` on that begins a join, a section or one of ``words``, outside of brackets."""
    while not _ends(tokens, i, outer):
        key = tokens.items[i].key if _bare(tokens, i) else ""
        if key in _NO_JOIN and not (key in ("ANTI", "SEMI") and tokens.items[i - 1].key == "LEFT"):
            raise _OtherBlock
        if key in words or key in _SECTIONS or (key in _JOIN_WORDS and not _is_call(tokens, i)):
            return i
        i = tokens.partner[i] + 1 if tokens.partner[i] > i else i + 1
    return i


def _is_call(tokens: Tokens, i: int) -> bool:
    """Whether the word is a function call: ``LEFT(name, 1)`` in a condition is not a join."""
    return i + 1 < len(tokens.items) and tokens.items[i + 1].key == "("


def _sections(tokens: Tokens, i: int, outer: int) -> tuple[dict[str, tuple[Token, ...]], int]:
    """The items of each section by keyword, and the item after the block."""
    found: dict[str, tuple[Token, ...]] = {}
    while not _ends(tokens, i, outer):
        key = tokens.items[i].key
        if key not in _SECTIONS or key in found:
            raise _OtherBlock
        if _SECTIONS[key] == 2 and (_ends(tokens, i + 1, outer) or tokens.items[i + 1].key != "BY"):
            raise _OtherBlock
        i = begin = i + _SECTIONS[key]
        while not _ends(tokens, i, outer) and not (tokens.items[i].key in _SECTIONS and _bare(tokens, i)):
            i = tokens.partner[i] + 1 if tokens.partner[i] > i else i + 1
        found[key] = tokens.items[begin:i]
    return found, i


def _bare(tokens: Tokens, i: int) -> bool:
    """Whether a word is a keyword here: not after a dot."""
    return tokens.items[i - 1].key != "."


def _ends(tokens: Tokens, i: int, outer: int) -> bool:
    if i >= len(tokens.items):
        return True
    key = tokens.items[i].key
    if key in _SET_OPERATIONS or key == ";":
        return True
    return outer >= 0 and i == tokens.partner[outer]


def _item(sql: str, part: tuple[Token, ...]) -> SelectItem:
    if len(part) > 2 and part[-2].key == "AS" and part[-1].is_name:
        return SelectItem(_parsed(sql, part[:-2]), part[-1].name)
    try:
        return SelectItem(_parsed(sql, part), None)
    except CepSyntaxError:
        if len(part) < 2 or not part[-1].is_name:
            raise
        return SelectItem(_parsed(sql, part[:-1]), part[-1].name)


def _expression(sql: str, part: tuple[Token, ...] | None) -> Expr | None:
    return None if part is None else _parsed(sql, part)


def _expressions(sql: str, part: tuple[Token, ...]) -> tuple[Expr, ...]:
    return tuple(_parsed(sql, item) for item in split_commas(part)) if part else ()


def _order(sql: str, part: tuple[Token, ...]) -> Expr:
    if len(part) > 2 and part[-2].key == "NULLS":
        part = part[:-2]
    if len(part) > 1 and part[-1].key in ("ASC", "DESC"):
        part = part[:-1]
    return _parsed(sql, part)


def _parsed(sql: str, part: tuple[Token, ...]) -> Expr:
    """The expression that ``part`` is; a block with nothing there (``SELECT a, FROM``, a WHERE at its end) is Spark's to refuse."""
    if not part:
        raise _OtherBlock
    return parse_expression(sql, part)
