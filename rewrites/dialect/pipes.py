"""Pipes: ``FROM t |> WHERE x > 1 |> MATCH_RECOGNIZE (…)``. What stands before the clause's pipe is a query, and the clause's input."""

from __future__ import annotations

from rewrites.dialect.scopes import find_withs
from rewrites.dialect.tokens import Tokens

_BEGINS = {"FROM", "SELECT", "VALUES"}


def is_piped(tokens: Tokens, clause: int) -> bool:
    """Whether ``|>`` stands before item ``clause``."""
    items = tokens.items
    return clause > 2 and (items[clause - 2].key, items[clause - 1].key) == ("|", ">") and _adjacent(tokens, clause - 2)


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
