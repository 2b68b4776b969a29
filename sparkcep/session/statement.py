"""A statement of the user's → the SQL that Spark gets: clauses rewritten, EXPLAIN PATTERN answered."""

from __future__ import annotations

import logging
from dataclasses import replace

from rewrites import Options, Rewritten, analyse, guarded, has_clause, has_function
from rewrites.bind.relation import Describe
from rewrites.dialect import ExplainPrefix, explain_prefix
from rewrites.dialect.tokens import tokenize
from sparkcep.errors import CepNotice, Span
from sparkcep.explanation import analyze_query, explain_query
from sparkcep.session.replay import Rewriter

LOGGER = logging.getLogger("sparkcep")
_REWRITER = Rewriter()
_VIEW_WORDS = ("OR", "REPLACE", "GLOBAL", "TEMP", "TEMPORARY")
"""What may stand between CREATE and VIEW."""


def concerns(text: str) -> bool:
    """Whether a statement is sparkcep's to rewrite; all others are Spark's as they are."""
    with guarded(text):
        return has_clause(text) or has_function(text) or explain_prefix(text) is not None


def only_explains(text: str) -> bool:
    """Whether a statement is an EXPLAIN PATTERN, which runs no pattern."""
    prefix = explain_prefix(text)
    return prefix is not None and prefix.mode != "analyze"


def lasting_view(text: str) -> Span | None:
    """Where a statement makes a view that other sessions read: CREATE VIEW, ALTER VIEW, CREATE GLOBAL TEMPORARY VIEW."""
    first, *rest = tokenize(text).items
    words = [token.key for token in rest[:5]]
    kind = next((word for word in words if word not in _VIEW_WORDS), "")
    if first.key not in ("CREATE", "ALTER") or kind != "VIEW":
        return None
    before = set(words[: words.index("VIEW")])
    return None if before & {"TEMP", "TEMPORARY"} and "GLOBAL" not in before else first.span


def spark_sql(text: str, describe: Describe, options: Options) -> str:
    """The SQL for a statement that ``concerns`` sparkcep. Raises CepError with the statement's text."""
    with guarded(text):
        prefix = explain_prefix(text)
        return _rewritten(text, describe, options) if prefix is None else _explained(text, prefix, describe, options)


def _explained(text: str, prefix: ExplainPrefix, describe: Describe, options: Options) -> str:
    """What EXPLAIN [ANALYZE] PATTERN answers, as a query."""
    blank = "".join("\n" if character == "\n" else " " for character in text[: prefix.rest_offset])
    analyze = prefix.mode == "analyze"
    rewritten = analyse(blank + text[prefix.rest_offset :], describe, replace(options, analyze=analyze))
    if analyze:
        return analyze_query(rewritten)
    return explain_query(rewritten, options.explain_rows)


def analysed(text: str, describe: Describe, options: Options) -> Rewritten:
    """A statement with every stage of its rewriting; EXPLAIN PATTERN in front of it is passed over."""
    with guarded(text):
        prefix = explain_prefix(text)
        return analyse(text[prefix.rest_offset if prefix else 0 :], describe, options)


def _rewritten(text: str, describe: Describe, options: Options) -> str:
    """The SQL; what is odd about the statement goes to the log."""
    kept = _REWRITER.rewrite(text, describe, options)
    for notice in kept.notices:
        LOGGER.warning("%s", CepNotice(notice.message, sql=text, span=notice.span, hint=notice.hint))
    return kept.sql
