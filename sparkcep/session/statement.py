"""A user's statement → the SQL that Spark gets: named patterns looked up, clauses rewritten, EXPLAIN PATTERN answered."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from itertools import chain, pairwise

from rewrites import Options, Rewritten, analyse, guarded, has_clause, has_function
from rewrites.bind.relation import Describe
from rewrites.dialect import ExplainPrefix, explain_prefix, find_sites
from rewrites.dialect.pattern_names import uses
from rewrites.dialect.pattern_statements import is_pattern_statement, parse_pattern_statement
from rewrites.dialect.tokens import Token, tokenize
from rewrites.dialect.window_blocks import find_window_blocks
from rewrites.patterns import Expanded, FixedPatterns, PatternStore, expand, statement_sql
from rewrites.settings import Follows
from sparkcep.errors import CepError, CepNotice, CepSyntaxError, Span
from sparkcep.explanation import analyze_query, explain_query
from sparkcep.session.replay import Rewriter

LOGGER = logging.getLogger("sparkcep")
NO_PATTERNS = FixedPatterns()
_REWRITER = Rewriter()
_VIEW_WORDS = ("OR", "REPLACE", "GLOBAL", "TEMP", "TEMPORARY")
"""The words allowed between CREATE and VIEW."""


def concerns(text: str) -> bool:
    """Whether sparkcep must rewrite a statement; all others go to Spark unchanged."""
    with guarded(text):
        ours = is_pattern_statement(text) or explain_prefix(text) is not None or any(True for _ in uses(text))
        return ours or has_clause(text) or has_function(text)


def runs_no_pattern(text: str) -> bool:
    """Whether a statement is an EXPLAIN PATTERN or one about named patterns: neither needs workers."""
    prefix = explain_prefix(text)
    return is_pattern_statement(text) or (prefix is not None and prefix.mode != "analyze")


def lasting_view(text: str) -> Span | None:
    """The span of a statement that creates a view visible to other sessions: CREATE VIEW, ALTER VIEW, CREATE GLOBAL TEMPORARY VIEW."""
    tokens = _view(text)
    if tokens is None:
        return None
    words = {token.key for token in tokens}
    return None if words & {"TEMP", "TEMPORARY"} and "GLOBAL" not in words else tokens[0].span


def immediate(text: str) -> Span | None:
    """The text of a pattern that EXECUTE IMMEDIATE of the statement runs."""
    items = tokenize(text).items if "IMMEDIATE" in text.upper() else ()
    for (one, two), said in zip(pairwise(items), items[2:], strict=False):
        if (one.key, two.key) == ("EXECUTE", "IMMEDIATE") and said.kind == "string" and concerns(said.text):
            return said.span
    return None


def _view(text: str) -> list[Token] | None:
    """The tokens before VIEW of a statement that creates or alters one."""
    if "VIEW" not in text.upper():
        return None
    tokens = tokenize(text).items[:7]
    place = next((i for i, token in enumerate(tokens[1:], 1) if token.key not in _VIEW_WORDS), 0)
    made = place and tokens[place].key == "VIEW" and tokens[0].key in ("CREATE", "ALTER")
    return list(tokens[:place]) if made else None


def spark_sql(text: str, describe: Describe, options: Options, patterns: PatternStore = NO_PATTERNS) -> str:
    """The SQL for a statement that ``concerns`` sparkcep. Raises CepError with the statement's text."""
    with guarded(text):
        if (statement := parse_pattern_statement(text)) is not None:
            return statement_sql(text, statement, patterns, describe)
        if (prefix := explain_prefix(text)) is not None:
            return _explained(text, prefix, describe, options, patterns)
        options = replace(options, lasting=_view(text) is not None)
        return _rewritten(expand(text, patterns), describe, options, patterns)


def _explained(text: str, prefix: ExplainPrefix, describe: Describe, options: Options, patterns: PatternStore) -> str:
    """What EXPLAIN [ANALYZE] PATTERN answers, as a query."""
    blank = "".join("\n" if character == "\n" else " " for character in text[: prefix.rest_offset])
    analyze = prefix.mode == "analyze"
    expanded = expand(blank + text[prefix.rest_offset :], patterns)
    rewritten = _analysed(expanded, describe, replace(options, analyze=analyze), patterns)
    if analyze:
        return analyze_query(rewritten)
    return explain_query(rewritten, options.explain_rows)


def analysed(text: str, describe: Describe, options: Options, patterns: PatternStore = NO_PATTERNS) -> Rewritten:
    """All stages of rewriting a statement; a leading EXPLAIN PATTERN is skipped."""
    with guarded(text):
        prefix = explain_prefix(text)
        return _analysed(expand(text[prefix.rest_offset if prefix else 0 :], patterns), describe, options, patterns)


def _analysed(expanded: Expanded, describe: Describe, options: Options, patterns: PatternStore) -> Rewritten:
    options = replace(options, follows=_follows(expanded, patterns))
    with expanded.locating():
        return replace(analyse(expanded.text, describe, options), expanded=expanded.changed)


def without_clauses(text: str) -> str | None:
    """``text`` with blanks for its clauses, so that all places stay the same; None for the statements that Spark does not know."""
    if explain_prefix(text) is not None or is_pattern_statement(text):
        return None
    for use in uses(text):
        text = _blank(text, use.span)
    for span in _clause_spans(text):
        text = _blank(text, span)
    return text


def _clause_spans(text: str) -> list[Span]:
    """The clauses, the insides of windows with patterns, and the OVER of what is called over those."""
    spans = [Span(site.keyword.start, site.span.end) for site in find_sites(text)]
    for block in find_window_blocks(text):
        spans += [window.site.body for window in block.windows]
        calls = chain(*(item.calls for item in block.items), block.outer_calls)
        spans += [Span(call.call.end, call.span.end) for call in calls]
    return spans


def not_parsed(text: str, message: str) -> CepSyntaxError:
    """Spark cannot parse an expression of a clause: ``message`` is what it says."""
    places, around = [use.span for use in uses(text)], text
    for place in places:
        around = _blank(around, place)
    places += [site.keyword for site in find_sites(around)]
    places += [window.site.keyword for block in find_window_blocks(around) for window in block.windows]
    return CepSyntaxError(
        f"Spark cannot parse what stands in the clause: {message}",
        code="SPARK",
        sql=text,
        span=max(places, key=lambda place: place.start, default=Span(0, len(text))),
    )


def _blank(text: str, span: Span) -> str:
    return text[: span.start] + re.sub(r"[^\n]", " ", text[span.start : span.end]) + text[span.end :]


def _follows(expanded: Expanded, patterns: PatternStore) -> tuple[Follows, ...]:
    """The clauses that are named patterns."""
    if not expanded.changed:
        return ()
    named = ((site.keyword.start, expanded.name_at(site.body)) for site in find_sites(expanded.text))
    return tuple(Follows(at, name, patterns.qualified) for at, name in named if name is not None)


def _rewritten(expanded: Expanded, describe: Describe, options: Options, patterns: PatternStore) -> str:
    """The SQL; notices are logged, and what a stream follows is recorded in the table of patterns."""
    options = replace(options, follows=_follows(expanded, patterns))
    with expanded.locating():
        kept = _REWRITER.rewrite(expanded.text, describe, options)
        for binding in kept.bindings:
            try:
                patterns.follow(binding, describe)
            except CepError as error:
                at = next(one.at for one in options.follows if one.pattern == binding.pattern)
                error.span = Span(at, at + len("MATCH AUTOMATON"))
                raise
    for notice in kept.notices:
        LOGGER.warning("%s", expanded.located(CepNotice(notice.message, span=notice.span, hint=notice.hint)))
    return kept.sql
