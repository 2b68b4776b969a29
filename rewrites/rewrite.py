"""A statement, clause by clause: inner ones first, each replaced by the query that answers it.

Text → ``dialect`` (clauses found and parsed) → ``bind`` (names resolved, expressions split) → ``rules`` → ``emit`` (SQL and MatchSpec) →
``pushdown`` (aggregates instead of matches). The text around the clauses is kept byte for byte; a statement without a clause is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rewrites.bind.parameter_values import quantifier_bound
from rewrites.bind.relation import Describe, in_scope, relation
from rewrites.clauses import automaton, event_pattern, row_pattern
from rewrites.dialect import find_sites, parse_clause
from rewrites.dialect.clause import Clause, MatchAutomatonClause, MatchRecognizeClause, Site
from rewrites.guard import guarded
from rewrites.options import Options, Rewritten, RewrittenClause
from rewrites.pushdown.aggregate_pushdown import NAME as AGGREGATE_PUSHDOWN
from rewrites.rules.aseq_functions import NAME as ASEQ_FUNCTIONS
from rewrites.rules.aseq_functions import aseq_functions, has_calls
from rewrites.sql.bare_queries import named_columns
from rewrites.sql.parameters import named_markers
from rewrites.sql.source import Source
from sparkcep.errors import Span

RULES = (ASEQ_FUNCTIONS, *(name for name, _ in event_pattern.RULES), AGGREGATE_PUSHDOWN)
"""The names of all rules, in the order in which they are applied."""


def has_clause(text: str) -> bool:
    """Whether a statement has a pattern clause (cheap if it has none)."""
    return bool(find_sites(text))


def has_function(text: str) -> bool:
    """Whether a statement may call ``aseq_count`` or its kin (cheap)."""
    return has_calls(text)


def rewrite(text: str, describe: Describe, options: Options | None = None) -> str:
    """``text`` with every pattern clause replaced. Raises CepError with the statement's text and a span."""
    return analyse(text, describe, options).sql


def analyse(text: str, describe: Describe, options: Options | None = None) -> Rewritten:
    """Like ``rewrite``, with every stage kept for those who explain it."""
    with guarded(text):
        return _rewrite(text, describe, options or Options())


def _rewrite(text: str, describe: Describe, options: Options) -> Rewritten:
    sites = find_sites(text)
    if not sites and not has_function(text):
        return Rewritten(text, text)
    source = Source(text, (*named_markers(text), *named_columns(text, sites)))
    calls = () if ASEQ_FUNCTIONS in options.disabled else aseq_functions(source, options.aggregate_function)
    source = source.with_edits(calls)
    parameter = quantifier_bound(source, describe)
    clauses = [_parsed(text, site, parameter) for site in sorted(sites, key=lambda site: site.span.end)]
    done: list[RewrittenClause] = []
    for clause in clauses:
        with guarded(text, clause.site.keyword):
            part = _clause(clause, source, describe, options, only_clause=len(clauses) == 1)
            done.append(_with_queries(part, source, options, last=clause is clauses[-1]))
        edits = () if isinstance(part.pushdown, str) else part.pushdown.edits
        source = source.with_edits([(clause.site.span, f"{'FROM ' if clause.site.pipe else ''}{part.query}"), *edits])
    if not done and not calls:
        return Rewritten(text, text)
    return Rewritten(text, source.text(Span(0, len(text))), tuple(done), len(calls))


def _parsed(text: str, site: Site, parameter: Callable[[Span], int]) -> Clause:
    with guarded(text, site.keyword):
        return parse_clause(text, site, parameter)


def _clause(
    clause: Clause, source: Source, describe: Describe, options: Options, *, only_clause: bool
) -> RewrittenClause:
    rows = relation(clause.site, source, describe)
    if isinstance(clause, MatchRecognizeClause):
        return row_pattern.row_pattern(clause, rows, source, options)
    if isinstance(clause, MatchAutomatonClause):
        return automaton.automaton(clause, rows, source, options)
    return event_pattern.event_pattern(clause, rows, source, options, only_clause=only_clause)


def _with_queries(part: RewrittenClause, source: Source, options: Options, *, last: bool) -> RewrittenClause:
    """The clause with the queries about it that the options ask for; a time line only of the ``last`` one."""
    if options.analyze:
        part = replace(part, counts=in_scope(_counts(part, source, options), part.clause.site, source))
    if options.timeline and last:
        part = replace(part, timeline=in_scope(_timeline(part, source, options), part.clause.site, source))
    return part


def _counts(part: RewrittenClause, source: Source, options: Options) -> str:
    match part.clause:
        case MatchRecognizeClause():
            return row_pattern.counts(part, options)
        case MatchAutomatonClause():
            return automaton.counts(part, options)
    return event_pattern.counts(part, source, options)


def _timeline(part: RewrittenClause, source: Source, options: Options) -> str:
    match part.clause:
        case MatchRecognizeClause():
            return row_pattern.timeline(part, options)
        case MatchAutomatonClause():
            return automaton.timeline(part, options)
    return event_pattern.timeline(part, source, options)
