"""Which parentheses of a statement are windows with patterns: ``OVER (… PATTERN (…) …)`` and ``WINDOW w AS (… PATTERN (…) …)``.

In: any SQL text. Out: its tokens, and the items that open such windows.
"""

from __future__ import annotations

import re
from typing import NoReturn

from rewrites.dialect.sites import NOT_CODE, find_sites
from rewrites.dialect.tokens import Tokens, tokenize
from sparkcep.errors import CepUnsupportedError, Span

_MAY_HAVE = re.compile(r"\b(OVER|WINDOW)\b.*\bPATTERN\s*\(", re.IGNORECASE | re.DOTALL)
_HINT = "put the window into a subquery of the form SELECT … FROM … WHERE … WINDOW …"
_NOTHING = Tokens("", (), (), (), ())


def pattern_windows(sql: str) -> tuple[Tokens, list[int]]:
    """The opening parentheses of all windows with patterns (cheap where there are none: then no tokens either)."""
    if not _MAY_HAVE.search(sql) or not _MAY_HAVE.search(NOT_CODE.sub(" ", sql)):
        return _NOTHING, []
    tokens = tokenize(sql)
    bodies = [site.body for site in find_sites(sql)]
    return tokens, [i for i in range(len(tokens.items)) if _is_pattern_window(tokens, i, bodies)]


def select_of(tokens: Tokens, place: int) -> int:
    """The item SELECT of the block around ``place``."""
    i = place
    while True:
        outer = tokens.outer[i]
        for j in range(i - 1, outer, -1):
            if tokens.outer[j] == outer and tokens.items[j].key == "SELECT" and tokens.items[j - 1].key != ".":
                return j
        if outer < 0:
            refuse(tokens, tokens.items[place].span, "a window with a pattern outside of SELECT … FROM …")
        i = outer


def refuse(tokens: Tokens, span: Span, message: str, hint: str = _HINT) -> NoReturn:
    """Raise for a block of another form."""
    raise CepUnsupportedError(message, code="WINDOW_BLOCK", sql=tokens.sql, span=span, hint=hint)


def _is_pattern_window(tokens: Tokens, i: int, bodies: list[Span]) -> bool:
    """Whether item ``i`` opens ``OVER (``, or ``w AS (`` of a WINDOW clause, with PATTERN ( inside."""
    items = tokens.items
    if items[i].key != "(" or i == 0 or any(body.start <= items[i].span.start < body.end for body in bodies):
        return False
    if items[i - 1].key != "OVER" and not _names_window(tokens, i):
        return False
    close = tokens.partner[i] if tokens.partner[i] >= 0 else len(items) - 1
    return any(items[j].key == "PATTERN" and tokens.outer[j] == i and items[j + 1].key == "(" for j in range(i, close))


def _names_window(tokens: Tokens, i: int) -> bool:
    """``WINDOW a AS (…), b AS (``: whether item ``i`` is such a parenthesis."""
    items = tokens.items
    while i > 2 and items[i].key == "(" and items[i - 1].key == "AS" and items[i - 2].is_name:
        if items[i - 3].key == "WINDOW":
            return True
        if items[i - 3].key != "," or i < 5 or items[i - 4].key != ")":
            return False
        i = tokens.partner[i - 4]
    return False
