"""A statement, clause by clause: inner ones first, each replaced by the query that answers it.

Text → ``dialect`` (clauses found and parsed) → ``bind`` (names resolved, expressions split) → ``rules`` → ``emit`` (SQL and MatchSpec) →
``pushdown`` (aggregates instead of matches). The text around the clauses is kept byte for byte; a statement without a clause is returned unchanged.
A query block with patterns in its windows is replaced as a whole (``clauses.windows``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rewrites.bind.ambiguous import refuse_two_readings
from rewrites.bind.char_literals import with_padded_literals
from rewrites.bind.correlation import Correlated, correlated
from rewrites.bind.inner_references import with_inner_references
from rewrites.bind.parameter_values import whole_number
from rewrites.bind.relation import Describe, in_scope
from rewrites.bind.revisions import without_feed
from rewrites.bind.sequence import check_sequence
from rewrites.bind.spark_complaints import in_terms_of
from rewrites.clauses import automaton, event_pattern, row_pattern, windows
from rewrites.dialect import find_sites, parse_clause
from rewrites.dialect.clause import Clause, MatchAutomatonClause, MatchPatternClause, MatchRecognizeClause, Site
from rewrites.dialect.parameter_values import ValueOf
from rewrites.dialect.table_refs import table_name
from rewrites.dialect.window_blocks import WindowBlock, find_window_blocks
from rewrites.dialect.window_places import pattern_windows
from rewrites.guard import guarded
from rewrites.options import Options, Rewritten, RewrittenClause
from rewrites.pushdown.aggregate_pushdown import NAME as AGGREGATE_PUSHDOWN
from rewrites.rules.aseq_functions import NAME as ASEQ_FUNCTIONS
from rewrites.rules.aseq_functions import aseq_functions, has_calls
from rewrites.settings import check_hints, stream_hinted
from rewrites.sql.bare_queries import named_columns
from rewrites.sql.parameters import named_markers
from rewrites.sql.source import Source
from sparkcep.errors import Span

RULES = (ASEQ_FUNCTIONS, *(name for name, _ in event_pattern.RULES), AGGREGATE_PUSHDOWN)
"""The names of all rules, in the order in which they are applied."""


def has_clause(text: str) -> bool:
    """Whether a statement has a pattern clause, or a window with a pattern (cheap if it has none)."""
    return bool(find_sites(text) or pattern_windows(text)[1])


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
    sites, blocks = find_sites(text), find_window_blocks(text)
    if not sites and not blocks and not has_function(text):
        return Rewritten(text, text)
    bodies = (*sites, *(window.site for block in blocks for window in block.windows))
    source = Source(text, (*named_markers(text), *named_columns(text, bodies)))
    calls = () if ASEQ_FUNCTIONS in options.disabled else aseq_functions(source, options.aggregate_function)
    source = source.with_edits(calls)
    parameter = whole_number(source, describe)
    steps = _inner_first([_parsed(text, site, parameter) for site in sites], blocks)
    done: list[RewrittenClause] = []
    for step in steps:
        if isinstance(step, WindowBlock):
            with guarded(text, step.windows[0].site.keyword):
                query, parts = windows.window_block(step, source, describe, parameter, options)
            done += parts
            source = source.with_edit(step.span, source.laid_out(step.span, query))
            continue
        with guarded(text, step.site.keyword), in_terms_of(step, text):
            part = _clause(step, source, describe, options, only_clause=len(steps) == 1)
            done += (_with_queries(each, source, options, last=False) for each in _rounds(part))
            done.append(_with_queries(part, source, options, last=step is steps[-1]))
        edits = part.edits if isinstance(part.pushdown, str) else (*part.edits, *part.pushdown.edits)
        query = source.laid_out(step.site.span, f"{'FROM ' if step.site.pipe else ''}{part.query}")
        source = source.with_edits([(step.site.span, query), *edits])
    if not steps and not calls:
        return Rewritten(text, text)
    return Rewritten(text, source.text(Span(0, len(text))), tuple(done), len(calls))


def _inner_first(clauses: list[Clause], blocks: tuple[WindowBlock, ...]) -> list[Clause | WindowBlock]:
    """Clauses and blocks, each after those inside it."""
    steps: list[Clause | WindowBlock] = [*clauses, *blocks]
    return sorted(steps, key=lambda step: (step.site.span.end, -step.site.span.start))


def _parsed(text: str, site: Site, parameter: ValueOf) -> Clause:
    with guarded(text, site.keyword):
        return parse_clause(text, site, parameter)


def _clause(
    clause: Clause, source: Source, describe: Describe, options: Options, *, only_clause: bool
) -> RewrittenClause:
    if not isinstance(clause, MatchPatternClause) or clause.site.kind == "MATCH PATTERNS":
        check_hints(clause.hints, clause.site.kind)
    options = replace(options, stream=stream_hinted(options.stream, clause.hints))
    found = correlated(clause, source, describe)
    if found.hidden:  # an aggregate in place of the matches would be one over all outer rows
        options = replace(options, disabled=options.disabled | {AGGREGATE_PUSHDOWN})
    part = _by_kind(found, options, only_clause=only_clause and not found.hidden)
    return replace(part, query=found.query(part.query))


def _rounds(part: RewrittenClause) -> Iterator[RewrittenClause]:
    """The clauses of the rounds in a clause, inner ones first."""
    for each in part.rounds:
        yield from _rounds(each)
        yield each


def _by_kind(found: Correlated, options: Options, *, only_clause: bool) -> RewrittenClause:
    clause, source = found.clause, found.source
    check_sequence(clause, found.rows)
    rows = without_feed(clause, found.rows, source.sql)
    known = None if clause.site.pipe else table_name(source.sql, clause.site.input)
    refuse_two_readings(known, rows.schema, source.sql, clause.site.body)
    rows, source = with_inner_references(clause, rows, source, known)
    source = with_padded_literals(clause, rows, source)
    if isinstance(clause, MatchRecognizeClause):
        return row_pattern.row_pattern(clause, rows, source, options, only_clause=only_clause)
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
            return row_pattern.timeline(part, source, options)
        case MatchAutomatonClause():
            return automaton.timeline(part, options)
    return event_pattern.timeline(part, source, options)
