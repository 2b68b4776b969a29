"""``/*+ CEP_ENGINE(chain), CEP_SHARDING(off) */`` after a clause's opening parenthesis → hints.

Spark's own hints follow SELECT and are ignored here. To the tokenizer a hint inside the clause is a comment, so its text is tokenised separately.
"""

from __future__ import annotations

import re

from rewrites.dialect.clause import Hint, Name
from rewrites.dialect.tokens import Tokens, tokenize
from sparkcep.errors import CepSyntaxError, Span

_HINTS = re.compile(r"\s*/\*\+(.*?)\*/", re.DOTALL)


def parse_hints(sql: str, body: Span) -> tuple[tuple[Hint, ...], Span]:
    """The hints at the start of the clause, and the rest of its body. Values are not checked."""
    found = _HINTS.match(sql, body.start, body.end)
    if found is None:
        return (), body
    tokens = tokenize(found.group(1))
    hints, i = [], 0
    while i < len(tokens.items):
        hint, i = _hint(sql, tokens, i, found.start(1))
        hints.append(hint)
    return tuple(hints), Span(found.end(), body.end)


def _hint(sql: str, tokens: Tokens, i: int, offset: int) -> tuple[Hint, int]:
    """The hint at item ``i``, and the item after it and its comma; ``offset`` is the position of the hints' text in ``sql``."""
    items = tokens.items
    closing = tokens.partner[i + 1] if i + 1 < len(items) and items[i + 1].key == "(" else -1
    if not items[i].is_name or closing < 0:
        raise CepSyntaxError(
            "a hint is written NAME(value)",
            code="HINT",
            sql=sql,
            span=_moved(items[i].span, offset),
            hint="for example MATCH PATTERN ( /*+ CEP_ENGINE(chain) */ SEQ(A a, B b) ORDER BY ts )",
        )
    value = tokens.sql[items[i + 1].span.end : items[closing].span.start]
    name = Name(items[i].text, _moved(items[i].span, offset))
    behind = closing + 2 if closing + 1 < len(items) and items[closing + 1].key == "," else closing + 1
    return Hint(name, value, name.span.to(_moved(items[closing].span, offset))), behind


def _moved(span: Span, offset: int) -> Span:
    return Span(span.start + offset, span.end + offset)
