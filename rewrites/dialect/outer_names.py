"""Names of the queries around a correlated subquery, which a clause inside it may mean: ``n`` in ``FROM names n, LATERAL (SELECT … n.limit …)``."""

from __future__ import annotations

from rewrites.dialect.clause import Site
from rewrites.dialect.table_refs import in_from_list
from rewrites.dialect.tokens import Tokens, tokenize

_QUERY = {"SELECT", "FROM", "WITH", "VALUES"}


def outer_names(sql: str, site: Site) -> frozenset[str]:
    """The identifiers, in lower case, of the queries whose columns the clause at ``site`` may name."""
    tokens = tokenize(sql)
    keyword = next(i for i, token in enumerate(tokens.items) if token.span.start == site.keyword.start)
    found: set[str] = set()
    opening = tokens.outer[keyword]
    while opening >= 0:
        if tokens.items[opening + 1].key in _QUERY:
            if not _may_look_out(tokens, opening):
                break
            level = tokens.outer[opening]
            same = (token for token, outer in zip(tokens.items, tokens.outer, strict=True) if outer == level)
            found.update(token.text.lower() for token in same if token.is_name)
        opening = tokens.outer[opening]
    return frozenset(found)


def _may_look_out(tokens: Tokens, opening: int) -> bool:
    """Whether a query in parentheses sees the one around it: LATERAL, or an expression; not a plain table or a CTE."""
    if opening == 0:
        return False
    before = tokens.items[opening - 1].key
    if before in ("FROM", "JOIN", "AS"):
        return False
    return before != "," or not in_from_list(tokens, opening - 1)
