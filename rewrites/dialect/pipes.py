"""Pipes: ``FROM t |> WHERE x > 1 |> MATCH_RECOGNIZE (…)``. What stands before the clause's pipe is a query, and the clause's input."""

from __future__ import annotations

from rewrites.dialect.scopes import find_withs
from rewrites.dialect.tokens import Tokens

_BEGINS = {"FROM", "SELECT", "VALUES"}
_OPERATORS = {
    *("SELECT", "EXTEND", "SET", "DROP", "AS", "WHERE", "WINDOW", "PIVOT", "UNPIVOT", "TABLESAMPLE", "AGGREGATE"),
    *("NATURAL", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "JOIN", "LATERAL"),
    *("UNION", "EXCEPT", "MINUS", "INTERSECT", "ORDER", "CLUSTER", "DISTRIBUTE", "SORT", "LIMIT", "OFFSET"),
    *("MATCH_RECOGNIZE", "MATCH"),
}
"""How an operator behind a pipe begins."""


def pipe_before(tokens: Tokens, clause: int) -> int | None:
    """The item where a pipe begins, ``|>`` or ``|``, right before item ``clause``; None: there is none."""
    return next((i for i in (clause - 2, clause - 1) if i > 0 and pipe_end(tokens, i) == clause), None)


def pipe_end(tokens: Tokens, i: int) -> int | None:
    """The item behind the pipe that begins at item ``i``; None: none does. A single ``|`` is one where an operator of pipes follows it."""
    items = tokens.items
    if i + 2 > len(items) - 1 or items[i].key != "|" or (i and items[i - 1].key == "|" and _adjacent(tokens, i - 1)):
        return None
    if items[i + 1].key == ">":
        return i + 2 if _adjacent(tokens, i) else None
    return i + 1 if items[i + 1].key in _OPERATORS else None


def query_start(tokens: Tokens, pipe: int) -> int | None:
    """The item where the query before the pipe begins; None where there is none.

    A pipe is about the whole query before it, set operations too; behind WITH it begins after the definitions.
    """
    outer = tokens.outer[pipe]
    inside = [i for i in range(outer + 1, pipe) if tokens.outer[i] == outer]
    for i in inside:
        if tokens.items[i].key == ";":
            inside = [j for j in inside if j > i]
    starts = {tokens.items[i].span.start for i in inside}
    for clause in find_withs(tokens):
        if clause.definitions[0].start in starts:
            inside = [i for i in inside if tokens.items[i].span.start >= clause.definitions[-1].end]
    if inside and tokens.items[inside[0]].key in ("(", "TABLE"):
        return inside[0]
    return next((i for i in inside if tokens.items[i].key in _BEGINS), None)


def _adjacent(tokens: Tokens, i: int) -> bool:
    return tokens.items[i].span.end == tokens.items[i + 1].span.start
