"""MATCH AUTOMATON through all stages."""

from __future__ import annotations

from dataclasses import replace

from rewrites.bind.automaton import BoundAutomaton, bind_automaton
from rewrites.bind.notices import notices
from rewrites.bind.relation import Relation
from rewrites.clauses.stream import automaton_stream
from rewrites.dialect.clause import MatchAutomatonClause
from rewrites.emit.analyze import automaton_counts
from rewrites.emit.automaton import automaton_query, automaton_spec
from rewrites.emit.timeline import automaton_timeline
from rewrites.options import Options, RewrittenClause
from rewrites.rules import key_filters, keys_in_order
from rewrites.sql.source import Source
from sparkcep.spec import AnalyzeSpec, AutomatonSpec


def automaton(clause: MatchAutomatonClause, rows: Relation, source: Source, options: Options) -> RewrittenClause:
    """The clause over ``rows``, rewritten. Raises CepError."""
    bound = bind_automaton(clause, rows, source)
    if rows.streaming:
        return automaton_stream(clause, bound, source, options)
    if not options.analyze and key_filters.NAME not in options.disabled:  # ANALYZE is about all rows of the clause
        bound = replace(bound, key_filters=key_filters.key_filters(bound, clause.site, source))
    if keys_in_order.NAME not in options.disabled:
        bound = replace(bound, together=keys_in_order.automaton_keys(bound, options.numbers_tasks))
    spec = replace(automaton_spec(bound), max_runs=options.evaluation.max_partial_matches)
    function = options.checked_function_of(spec, clause.site)
    query = automaton_query(bound, spec, function, keep_null_time=options.keep_null_time)
    return RewrittenClause(clause, bound, spec, query, notices(clause))


def counts(part: RewrittenClause, options: Options) -> str:
    """The query that counts, for EXPLAIN ANALYZE PATTERN."""
    assert isinstance(part.bound, BoundAutomaton)
    assert isinstance(part.spec, AutomatonSpec)
    function = options.function_of(AnalyzeSpec(part.spec))
    return automaton_counts(part.bound, part.spec, function, keep_null_time=options.keep_null_time)


def timeline(part: RewrittenClause, options: Options) -> str:
    """The query that lists the first and the last event of the clause's matches."""
    assert isinstance(part.bound, BoundAutomaton)
    assert isinstance(part.spec, AutomatonSpec)
    return automaton_timeline(part.bound, part.query)
