"""MATCH_RECOGNIZE through all stages."""

from __future__ import annotations

from dataclasses import replace

from rewrites.bind.notices import notices
from rewrites.bind.relation import Relation
from rewrites.bind.row_pattern import BoundRowPattern, bind_row_pattern
from rewrites.clauses.stream import row_stream
from rewrites.dialect.clause import MatchRecognizeClause
from rewrites.emit.analyze import row_pattern_counts
from rewrites.emit.row_pattern import row_pattern_query, row_pattern_spec
from rewrites.emit.timeline import row_spec, row_timeline, told_columns
from rewrites.options import Options, RewrittenClause
from rewrites.rules import key_filters, keys_in_order, prune_fields
from rewrites.sql.source import Source
from sparkcep.spec import AnalyzeSpec, RowPatternSpec


def row_pattern(
    clause: MatchRecognizeClause, rows: Relation, source: Source, options: Options, *, only_clause: bool
) -> RewrittenClause:
    """The clause over ``rows``, rewritten; ``only_clause``: the statement has no other. Raises CepError."""
    bound = _bound(clause, rows, source, options)
    if (
        not (options.analyze or rows.streaming) and key_filters.NAME not in options.disabled
    ):  # ANALYZE is about all rows
        bound = replace(bound, key_filters=key_filters.key_filters(bound, clause.site, source))
    if rows.streaming:
        return row_stream(clause, bound, source, options)
    if only_clause and prune_fields.NAME not in options.disabled:
        bound = replace(bound, used=prune_fields.used_input(bound, clause.site, source.sql))
    spec = row_pattern_spec(bound)
    query = row_pattern_query(bound, spec, options.checked_function_of(spec, clause.site))
    return RewrittenClause(clause, bound, spec, query, notices(clause))


def _bound(clause: MatchRecognizeClause, rows: Relation, source: Source, options: Options) -> BoundRowPattern:
    def bind(adjacent: bool) -> BoundRowPattern:
        return bind_row_pattern(clause, rows, source, adjacent=adjacent)

    if options.analyze or rows.streaming or keys_in_order.NAME in options.disabled:
        return bind(False)
    return keys_in_order.row_pattern_keys(bind, options.numbers_tasks)


def counts(part: RewrittenClause, options: Options) -> str:
    """The query that counts, for EXPLAIN ANALYZE PATTERN."""
    assert isinstance(part.bound, BoundRowPattern)
    assert isinstance(part.spec, RowPatternSpec)
    return row_pattern_counts(part.bound, part.spec, options.function_of(AnalyzeSpec(part.spec)))


def timeline(part: RewrittenClause, source: Source, options: Options) -> str:
    """The query that lists the rows of the clause's matches."""
    assert isinstance(part.bound, BoundRowPattern)
    told = told_columns(part.bound, part.clause.site, source.sql)
    spec = row_spec(part.bound, part.clause.site, told)
    return row_timeline(part.bound, spec, told, options.function_of(spec))
