"""Positional parameter markers: the ``?`` of a statement that are not quantifiers of a pattern themselves."""

from __future__ import annotations

from sqlglot.tokens import TokenType

from rewrites.dialect import match_pattern, match_recognize
from rewrites.dialect.clause import Site
from rewrites.dialect.refused import check_options
from rewrites.dialect.sections import cut
from rewrites.dialect.sites import find_sites
from rewrites.dialect.tokens import Tokens, tokenize
from rewrites.dialect.window_places import pattern_windows
from sparkcep.errors import Span


def placeholders(sql: str, *, named: bool = False) -> tuple[Span, ...]:
    """The spans of the ``?`` markers, in order: ``PATTERN (A? B{?}) DEFINE B AS x > ?`` has two. ``named``: as ``find_sites`` has it."""
    patterns = [pattern_span(sql, site) for site in find_sites(sql, named=named)]
    patterns += [window_pattern(tokens, place) for tokens, places in [pattern_windows(sql)] for place in places]
    bounds = _bounds(tokenize(sql))
    marks = (token for token in tokenize(sql).raw if token.token_type is TokenType.PLACEHOLDER)
    return tuple(
        Span(mark.start, mark.end + 1)
        for mark in marks
        if mark.start in bounds or not any(span.start <= mark.start < span.end for span in patterns)
    )


def _bounds(tokens: Tokens) -> set[int]:
    """Where a ``?`` is a number of a quantifier: inside braces that are no exclusion's."""
    items = tokens.items
    found = (i for i, token in enumerate(items) if token.key == "?" and tokens.outer[i] >= 0)
    return {
        items[i].span.start
        for i in found
        if items[tokens.outer[i]].key == "{" and items[tokens.outer[i] + 1].key != "-"
    }


def pattern_span(sql: str, site: Site) -> Span:
    """The span of the clause's pattern."""
    if site.kind == "MATCH_RECOGNIZE":
        check_options(tokenize(sql), site.body)
        section = cut(sql, site.body, match_recognize.GRAMMAR).get("PATTERN")
        return section.place if section else Span(site.body.start, site.body.start)
    return cut(sql, site.body, match_pattern.GRAMMAR, first="PATTERN")["PATTERN"].place


def window_pattern(tokens: Tokens, place: int) -> Span:
    """Where the pattern of the window stands that item ``place`` opens."""
    opening = next(
        i + 1 for i in range(place, len(tokens.items)) if tokens.items[i].key == "PATTERN" and tokens.outer[i] == place
    )
    close = tokens.partner[opening]
    return tokens.items[opening].span.to(tokens.items[close if close >= 0 else opening].span)
