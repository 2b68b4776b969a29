"""The body of a named pattern: which clause it is of, and whether it follows that clause's grammar.

In: the text that stands between a clause's parentheses. Nothing is resolved: a body is bound where its name is used.
"""

from __future__ import annotations

from sqlglot.tokens import TokenType

from rewrites.dialect import match_automaton, match_pattern, match_recognize
from rewrites.dialect.clause import ClauseKind, Site
from rewrites.dialect.event_pattern import parse_event_pattern
from rewrites.dialect.hints import parse_hints
from rewrites.dialect.pattern_names import Inclusion, inclusions
from rewrites.dialect.sections import cut, guessed
from rewrites.dialect.tokens import Token, depths, tokenize
from rewrites.dialect.where import parse_where
from sparkcep.errors import CepError, CepSyntaxError, CepUnsupportedError, Span


def clause_of(body: str) -> ClauseKind:
    """``PATTERN (`` makes it MATCH_RECOGNIZE, ``ARC`` MATCH AUTOMATON, ``name AS`` at the start MATCH PATTERNS; anything else MATCH PATTERN."""
    tokens = tokenize(body).items
    top = [i for i, depth in depths(tokens) if depth == 0]
    keys = [token.key for token in tokens]
    if any(keys[i] == "PATTERN" and keys[i + 1 : i + 2] == ["("] for i in top):
        return "MATCH_RECOGNIZE"
    if any(_begins_arc(tokens, i) for i in top) or {"START", "FINAL"} <= {keys[i] for i in top}:
        return "MATCH AUTOMATON"
    if keys[1:2] == ["AS"] and tokens[0].is_name:
        return "MATCH PATTERNS"
    return "MATCH PATTERN"


def body_site(body: str) -> Site:
    """A body by itself as the site of its clause."""
    return Site(clause_of(body), Span(0, len(body)), Span(0, 0), Span(0, 0), Span(0, len(body)))


def check_body(body: str) -> ClauseKind:
    """The clause of a body that follows its grammar. Raises CepError with a place in ``body``, none where the body as a whole is at fault.

    A body of MATCH PATTERN may lack ORDER BY: it can stand inside another pattern then.
    """
    if not tokenize(body).items:
        raise CepSyntaxError(
            "the body is empty", code="EMPTY", hint="for example CREATE PATTERN p AS (SEQ(A a, B b) ORDER BY ts)"
        )
    site = body_site(body)
    try:
        _check(body, site)
    except CepError as error:
        whole = error.span is None or error.span.end == 0
        raise error.at(body, None if whole else error.span) from None
    return site.kind


def _check(body: str, site: Site) -> None:
    if site.kind == "MATCH AUTOMATON":
        _check_automaton(body, site)
        return
    row_pattern = site.kind == "MATCH_RECOGNIZE"
    grammar = match_recognize.GRAMMAR if row_pattern else match_pattern.GRAMMAR
    try:
        place = _check_row_body(body, site) if row_pattern else _check_event_body(_without_inclusions(body, site), site)
    except CepSyntaxError as error:
        raise guessed(error, body, site.body, grammar) from None
    _refuse_positional(body, place)


def _check_automaton(body: str, site: Site) -> None:
    try:
        match_automaton.parse_match_automaton(body, site)
    except CepSyntaxError as error:
        raise guessed(error, body, site.body, match_automaton.GRAMMAR) from None
    _refuse_positional(body, Span(0, 0))


def _check_row_body(body: str, site: Site) -> Span:
    """Where its pattern stands."""
    return match_recognize.parse_match_recognize(body, site).pattern_span


def _check_event_body(text: str, site: Site) -> Span:
    """Where its pattern stands."""
    _, rest = parse_hints(text, site.body)
    sections = cut(text, rest, match_pattern.GRAMMAR, first="PATTERN")
    if "ORDER BY" in sections or site.kind == "MATCH PATTERNS" or set(sections) - {"PATTERN", "WHERE"}:
        match_pattern.parse_match_pattern(text, site)
    else:
        parse_event_pattern(text, sections["PATTERN"].place)
        if where := sections.get("WHERE"):
            parse_where(text, where)
    return sections["PATTERN"].place


def _without_inclusions(body: str, site: Site) -> str:
    """``PATTERN other`` → an element of the same length: what the other pattern is, is known where this one is used."""
    text = body
    for number, found in enumerate(inclusions(body, site)):
        text = text[: found.span.start] + _stand_in(found, number) + text[found.span.end :]
    return text


def _stand_in(found: Inclusion, number: int) -> str:
    return f"ANY _{number}".ljust(found.span.end - found.span.start, "_")


def _refuse_positional(body: str, pattern: Span) -> None:
    for token in tokenize(body).raw:
        if token.token_type is TokenType.PLACEHOLDER and not pattern.start <= token.start < pattern.end:
            raise CepUnsupportedError(
                "a positional parameter in a named pattern",
                code="PATTERN_PARAMETER",
                span=Span(token.start, token.end + 1),
                hint="give it a name, :limit, and the value to each query that uses the pattern",
            )


def _begins_arc(tokens: tuple[Token, ...], i: int) -> bool:
    """``ARC a -> b``."""
    return tokens[i].key == "ARC" and [token.key for token in tokens[i + 2 : i + 4]] == ["-", ">"]
