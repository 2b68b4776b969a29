"""Positional parameter markers: the ``?`` of a statement that are not quantifiers of a pattern."""

from __future__ import annotations

from sqlglot.tokens import TokenType

from rewrites.dialect import match_pattern, match_recognize
from rewrites.dialect.clause import Site
from rewrites.dialect.sections import cut
from rewrites.dialect.sites import find_sites
from rewrites.dialect.tokens import tokenize
from sparkcep.errors import Span


def placeholders(sql: str) -> tuple[Span, ...]:
    """The spans of the ``?`` markers, in order: ``PATTERN (A? B) DEFINE B AS x > ?`` has one."""
    patterns = [pattern_span(sql, site) for site in find_sites(sql)]
    marks = (token for token in tokenize(sql).raw if token.token_type is TokenType.PLACEHOLDER)
    return tuple(
        Span(mark.start, mark.end + 1)
        for mark in marks
        if not any(span.start <= mark.start < span.end for span in patterns)
    )


def pattern_span(sql: str, site: Site) -> Span:
    """The span of the clause's pattern."""
    if site.kind == "MATCH_RECOGNIZE":
        section = cut(sql, site.body, match_recognize.GRAMMAR).get("PATTERN")
        return section.place if section else Span(site.body.start, site.body.start)
    return cut(sql, site.body, match_pattern.GRAMMAR, first="PATTERN")["PATTERN"].place
