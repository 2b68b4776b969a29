"""``name AS pattern [, …]``: the first section of MATCH PATTERNS ( … ).

In: the tokens before the first keyword. Out: names, pattern trees and their spans.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewrites.dialect.clause import Name, Site
from rewrites.dialect.cursor import Cursor
from rewrites.dialect.event_pattern import parse_event_pattern
from rewrites.dialect.sections import Section
from rewrites.dialect.tokens import Token, cover, depths
from sparkcep.errors import CepSyntaxError, Span
from sparkcep.pattern.event import EventPattern

_HINT = "for example MATCH PATTERNS ( p AS SEQ(A a, B b), q AS SEQ(A a, C c) ORDER BY ts MEASURES COUNT(*) AS n )"


def parse_named_patterns(sql: str, site: Site, section: Section) -> tuple[tuple[Name | None, EventPattern, Span], ...]:
    """The named patterns, in the order written."""
    if not section.tokens:
        raise CepSyntaxError(
            "MATCH PATTERNS begins with named patterns", code="PATTERN", sql=sql, span=site.keyword, hint=_HINT
        )
    found = tuple(_named(sql, part, section.place) for part in _parts(section.tokens))
    seen: set[str] = set()
    for name, _, _ in found:
        if name.value.lower() in seen:
            raise CepSyntaxError(
                f"two patterns are named {name.value}", code="DUPLICATE_NAME", sql=sql, span=name.span, hint=_HINT
            )
        seen.add(name.value.lower())
    return found


def _named(sql: str, tokens: tuple[Token, ...], place: Span) -> tuple[Name, EventPattern, Span]:
    cursor = Cursor.over(sql, tokens, cover(tokens) if tokens else place)
    name = cursor.name("the pattern's name")
    cursor.expect("AS", hint=_HINT)
    rest = tokens[2:]
    if not rest:
        cursor.fail("a pattern is missing here", hint=_HINT)
    span = cover(rest)
    return name.name, parse_event_pattern(sql, span), span


def _parts(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """The tokens between top-level commas."""
    start = 0
    for i, depth in depths(tokens):
        if depth == 0 and tokens[i].key == ",":
            yield tokens[start:i]
            start = i + 1
    yield tokens[start:]
