"""``'X' IN (SELECT 'Y')``: Spark's grammar reads the query as a literal of a type SELECT, and ``IN (SELECT ('Y'))`` as a call.

In: a statement and its clauses. Out: edits that give such a query's one column a name, inside the clauses only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rewrites.dialect.clause import Site
from rewrites.dialect.tokens import Tokens, tokenize
from rewrites.sql.source import Edit
from sparkcep.errors import Span

NAME = "__cep_q"
_MAY_BE = re.compile(r"\bIN\s*\(\s*SELECT\s*[('\"]", re.IGNORECASE)


def named_columns(sql: str, sites: tuple[Site, ...]) -> tuple[Edit, ...]:
    """``'X' IN (SELECT 'Y')`` → ``'X' IN (SELECT 'Y' AS `__cep_q`)``."""
    if not _MAY_BE.search(sql):
        return ()
    tokens = tokenize(sql)
    bodies = [site.body for site in sites]
    return tuple(
        (Span(end, end), f" AS `{NAME}`")
        for end in _ends(tokens)
        if any(body.start <= end < body.end for body in bodies)
    )


def _ends(tokens: Tokens) -> Iterator[int]:
    """Where the queries end that are SELECT and one string, or one pair of parentheses."""
    for i, token in enumerate(tokens.items[:-3]):
        if token.key != "IN" or [item.key for item in tokens.items[i + 1 : i + 3]] != ["(", "SELECT"]:
            continue
        first = tokens.items[i + 3]
        last = i + 3 if first.kind == "string" else tokens.partner[i + 3] if first.key == "(" else -1
        if last >= 0 and last + 1 == tokens.partner[i + 1]:
            yield tokens.items[last].span.end
