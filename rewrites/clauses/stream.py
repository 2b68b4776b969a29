"""A clause over a stream through the stages that follow its binding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from rewrites.bind.added_columns import added_columns, check_added_names, listed
from rewrites.bind.automaton import BoundAutomaton, bind_automaton
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.notices import Notice, notices
from rewrites.bind.relation import no_stream
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.bind.stream import Streamed, bind_automaton_stream, bind_event_stream, bind_row_stream
from rewrites.dialect.clause import Clause, MatchAutomatonClause, MatchPatternClause, MatchRecognizeClause
from rewrites.emit.automaton import automaton_spec
from rewrites.emit.automaton_stream import automaton_stream as emit_automaton
from rewrites.emit.event_pattern import event_pattern_spec
from rewrites.emit.event_stream import event_pattern_stream
from rewrites.emit.row_pattern import row_pattern_spec
from rewrites.emit.row_stream import row_pattern_stream
from rewrites.emit.stream import Emitted
from rewrites.options import Options, RewrittenClause
from rewrites.patterns.bindings import Binding, automaton_binding, event_binding, row_binding
from rewrites.pushdown.measures import used_by_measures
from rewrites.pushdown.stream_measures import counted, stream_measures
from rewrites.rules import prune_fields
from rewrites.rules.prune_fields import Shown
from rewrites.settings import Evaluation, Follows
from rewrites.sql.source import Edit, Source
from sparkcep.errors import CepError, CepUnsupportedError
from sparkcep.spec.stream import StreamSpec

AGGREGATED_BY_SPARK = "over a stream Spark aggregates the matches"
CUT = "the stream is cut in turns"
"""Why a timeline is not cut into shards."""


def row_stream(
    clause: MatchRecognizeClause, bound: BoundRowPattern, source: Source, options: Options
) -> RewrittenClause:
    """MATCH_RECOGNIZE, bound, over a stream. Raises CepError."""
    _refuse(clause, bound, options)
    if bound.folds:
        raise no_stream("an aggregate that Spark computes from a match's rows", clause.site.keyword)
    streamed = bind_row_stream(clause, bound, source, keep_null_time=options.keep_null_time)
    spec = row_pattern_spec(bound)
    follows, binding, unable = _followed(clause, options, lambda: row_binding(clause, bound.relation, source))
    emitted = row_pattern_stream(bound, spec, streamed, options.stream, follows, keep_null_time=options.keep_null_time)
    options.require_engine(emitted.spec, clause.site)
    found = (*notices(clause), *streamed.notices, *unable)
    binding = _bound_for(emitted.spec, binding)
    edits = _edits(clause, emitted, source, options)
    return RewrittenClause(clause, bound, spec, emitted.query, found, stream=emitted.spec, binding=binding, edits=edits)


def event_stream(
    clause: MatchPatternClause,
    bound: BoundEventPattern,
    shown: Shown,
    evaluation: Evaluation,
    source: Source,
    options: Options,
) -> RewrittenClause:
    """MATCH PATTERN, bound, over a stream. Raises CepError."""
    _refuse(clause, bound, options)
    keep = options.keep_null_time
    streamed = bind_event_stream(clause, bound, source, options.stream, keep_null_time=keep)
    follows, binding, unable = _followed(clause, options, lambda: _event_binding(clause, bound, streamed, source))
    if follows is not None:
        shown = prune_fields.every_column(bound, clause.site)
    bound = replace(bound, window=bound.window or streamed.retention)
    spec = replace(
        event_pattern_spec(bound, shown),
        engine=evaluation.engine,
        max_partial_matches=evaluation.max_partial_matches,
        negation=evaluation.negation,
    )
    emitted = event_pattern_stream(
        bound, spec, shown, streamed, source, options.stream, keep_null_time=keep, follows=follows
    )
    options.require_engine(emitted.spec, clause.site)
    return RewrittenClause(
        clause,
        bound,
        spec,
        emitted.query,
        (*streamed.notices, *unable),
        AGGREGATED_BY_SPARK,
        CUT,
        evaluation,
        stream=emitted.spec,
        binding=_bound_for(emitted.spec, binding),
        edits=_edits(clause, emitted, source, options),
    )


def measures_stream(
    clause: MatchPatternClause, bound: BoundEventPattern, evaluation: Evaluation, source: Source, options: Options
) -> RewrittenClause:
    """MEASURES of MATCH PATTERN or MATCH PATTERNS, bound, over a stream. Raises CepError."""
    _refuse(clause, bound, options)
    streamed = bind_event_stream(clause, bound, source, options.stream, keep_null_time=options.keep_null_time)
    follows, binding, unable = _followed(clause, options, lambda: _event_binding(clause, bound, streamed, source))
    within = replace(bound, window=bound.window or streamed.retention)
    spec = event_pattern_spec(within, used_by_measures(within))
    emitted, pushdown = stream_measures(
        counted(clause, within, spec, source),
        streamed,
        options.stream,
        lambda spec: options.require_engine(spec, clause.site),
        keep_null_time=options.keep_null_time,
        follows=follows,
    )
    return RewrittenClause(
        clause,
        within,
        spec,
        emitted.query,
        (*streamed.notices, *unable),
        pushdown,
        CUT,
        evaluation,
        stream=emitted.spec,
        binding=_bound_for(emitted.spec, binding),
        edits=_edits(clause, emitted, source, options),
    )


def automaton_stream(
    clause: MatchAutomatonClause, bound: BoundAutomaton, source: Source, options: Options
) -> RewrittenClause:
    """MATCH AUTOMATON, bound, over a stream. Raises CepError."""
    _refuse(clause, bound, options)
    keep = options.keep_null_time
    follows, whole, unable = _followed(clause, options, lambda: _whole(clause, bound, source))
    bound = whole or bound
    streamed = bind_automaton_stream(clause, bound, source, keep_null_time=keep)
    spec = replace(automaton_spec(bound), max_runs=options.evaluation.max_partial_matches)
    emitted = emit_automaton(bound, spec, streamed, options.stream, keep_null_time=keep, follows=follows)
    options.require_engine(emitted.spec, clause.site)
    found = (*notices(clause), *streamed.notices, *unable)
    binding = _bound_for(emitted.spec, automaton_binding(bound))
    edits = _edits(clause, emitted, source, options)
    return RewrittenClause(clause, bound, spec, emitted.query, found, stream=emitted.spec, binding=binding, edits=edits)


def _event_binding(clause: MatchPatternClause, bound: BoundEventPattern, streamed: Streamed, source: Source) -> Binding:
    if bound.inferred:
        hint = "say with PARTITION BY what its WHERE implies, or start the stream again after a change"
        raise CepUnsupportedError("a WHERE that partitions its events", code="PATTERN_STREAM", hint=hint)
    if streamed.retention is not None:
        raise CepUnsupportedError("a window that is sparkcep.stream.retention", code="PATTERN_STREAM")
    return event_binding(clause, bound.relation, source)


def _whole(clause: MatchAutomatonClause, bound: BoundAutomaton, source: Source) -> BoundAutomaton:
    """The clause as the engine computes all of it."""
    if bound.relation.expression is None:
        raise CepUnsupportedError("following a pattern over Spark Connect", code="CONNECT")
    return bind_automaton(clause, bound.relation, source, whole=True)


T = TypeVar("T")


def _followed(
    clause: Clause, options: Options, make: Callable[[], T]
) -> tuple[Follows | None, T | None, tuple[Notice, ...]]:
    """The name that a stream follows, with what ``make`` binds for that; or why it does not."""
    follows = _named(clause, options)
    if follows is None or options.stream.patterns == "fixed":
        return None, None, ()
    if clause.sequence is not None:
        return None, None, (_fixed(clause, follows, "SEQUENCE NUMBER"),)
    try:
        return follows, make(), ()
    except CepError as error:  # Spark has accepted the clause: what is wrong is that workers should compute it
        return None, None, (_fixed(clause, follows, error.message, error.hint),)


def _bound_for(stream: StreamSpec, binding: Binding | None) -> Binding | None:
    """What is recorded of a stream that follows a pattern."""
    known = stream.followed
    if known is None or binding is None:
        return None
    return replace(binding, pattern=known.pattern, interface=known.interface)


def _named(clause: Clause, options: Options) -> Follows | None:
    return next((one for one in options.follows if one.at == clause.site.keyword.start), None)


def _fixed(clause: Clause, follows: Follows, why: str, hint: str | None = None) -> Notice:
    text = f"the stream keeps the pattern {follows.pattern} as it is now, whatever ALTER PATTERN makes of it: {why}"
    return Notice(text, clause.site.keyword, hint or "start it again, with a new checkpointLocation, after a change")


def _edits(clause: Clause, emitted: Emitted, source: Source, options: Options) -> tuple[Edit, ...]:
    """What the columns that a stream adds change behind the clause. Raises CepAnalysisError."""
    added = added_columns(options.stream)
    return listed(clause, source.sql, len(emitted.result.selects) - len(added), added)


def _refuse(clause: Clause, bound: BoundRowPattern | BoundEventPattern | BoundAutomaton, options: Options) -> None:
    """What no stream of this session answers, and names that its columns have."""
    if options.analyze or options.timeline:
        raise no_stream("EXPLAIN ANALYZE PATTERN and time lines", clause.site.keyword)
    check_added_names(clause, bound.keys, bound.relation, added_columns(options.stream))
