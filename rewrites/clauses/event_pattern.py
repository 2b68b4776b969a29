"""MATCH PATTERN and MATCH PATTERNS through all stages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewrites.bind.event_pattern import BoundEventPattern, bind_event_pattern
from rewrites.bind.relation import Relation
from rewrites.bind.several_patterns import joined
from rewrites.dialect.clause import MatchPatternClause
from rewrites.emit.analyze import event_pattern_counts
from rewrites.emit.event_pattern import event_pattern_query, event_pattern_spec
from rewrites.emit.timeline import event_spec, event_timeline
from rewrites.options import Options, RewrittenClause
from rewrites.pushdown import aggregate_pushdown
from rewrites.pushdown.aggregate_pushdown import EmittedClause, Pushdown, PushdownSession
from rewrites.pushdown.measures import measured, used_by_measures
from rewrites.pushdown.several_patterns import several_patterns
from rewrites.rules import inferred_equalities, key_filters, time_shards
from rewrites.rules.prune_fields import Shown, used_columns
from rewrites.rules.time_shards import Shards
from rewrites.settings import Evaluation, frequencies, hinted
from rewrites.sql.source import Source
from sparkcep.pattern.event import elements
from sparkcep.spec import AnalyzeSpec, EventPatternSpec, MatchSpec


@dataclass(frozen=True, slots=True)
class _Planned:
    """A bound clause with what the rules decided. ``shards``: how its time line is cut, or why it is not."""

    bound: BoundEventPattern
    evaluation: Evaluation
    shards: Shards | str
    shown: Shown

    @property
    def cut(self) -> Shards | None:
        return None if isinstance(self.shards, str) else self.shards


def event_pattern(
    clause: MatchPatternClause, rows: Relation, source: Source, options: Options, *, only_clause: bool
) -> RewrittenClause:
    """The clause over ``rows``, rewritten; ``only_clause``: the statement has no other. Raises CepError."""
    if clause.site.kind == "MATCH PATTERNS":
        return _several(clause, rows, source, options)
    planned = _planned(bind_event_pattern(clause, rows, source), clause, source, options, only_clause)
    part = _emitted(planned, clause, source, options)
    query, pushdown = _pushed(part, source, options)
    return RewrittenClause(
        clause, planned.bound, part.spec, query, (), pushdown, planned.shards, planned.evaluation
    )  # fmt: skip


def _planned(
    bound: BoundEventPattern, clause: MatchPatternClause, source: Source, options: Options, only_clause: bool
) -> _Planned:
    """The rules, one after another."""
    site, off = clause.site, options.disabled
    evaluation = hinted(options.evaluation, clause.hints)
    if key_filters.NAME not in off and not options.analyze:  # ANALYZE is about all rows of the clause
        bound = replace(bound, key_filters=key_filters.key_filters(bound, site, source))
    if inferred_equalities.NAME not in off and bound.emit_changes is None:
        bound = inferred_equalities.inferred_equalities(bound)
    shards = time_shards.time_shards(bound, evaluation, disabled=time_shards.NAME in off, place=site.keyword)
    if options.analyze and shards:
        shards = "so that nothing is counted twice"
    shown = used_by_measures(bound) if bound.measures else None
    shown = shown or used_columns(bound, site, source.sql, only_clause=only_clause)
    return _Planned(bound, evaluation, shards, shown)


def _emitted(planned: _Planned, clause: MatchPatternClause, source: Source, options: Options) -> EmittedClause:
    """The query that gives the clause's matches."""
    bound, evaluation = planned.bound, planned.evaluation
    spec = replace(
        event_pattern_spec(bound, planned.shown, planned.cut),
        engine=evaluation.engine,
        max_partial_matches=evaluation.max_partial_matches,
        negation=evaluation.negation,
        statistics=frequencies(elements(bound.pattern), evaluation.statistics),
    )
    function = options.checked_function_of(spec, clause.site)
    keep = options.keep_null_time
    query = event_pattern_query(bound, spec, source, function, keep_null_time=keep, shards=planned.cut)
    return EmittedClause(clause, bound, spec, query, planned.cut)


def _pushed(part: EmittedClause, source: Source, options: Options) -> tuple[str, Pushdown | str]:
    """The query that stands in the clause's place, and how A-Seq answers in the matches' stead, or why it does not."""
    off, session = _pushdown_off(part, options), _pushdown_session(options)
    if part.bound.measures:
        answer = measured(part, source, session, off)
        pushdown, query = answer.pushdown, answer.query
    else:
        pushdown, query = off or aggregate_pushdown.aggregate_pushdown(part, source, session), part.query
    return (query if isinstance(pushdown, str) else pushdown.query), pushdown


def _pushdown_off(part: EmittedClause, options: Options) -> str:
    """Why no aggregate of the clause is pushed down, whatever it is."""
    if options.check is None or aggregate_pushdown.NAME in options.disabled:
        return f"{aggregate_pushdown.NAME} is switched off"
    return "" if part.spec.engine == "auto" else f"the engine {part.spec.engine} was asked for"


def _pushdown_session(options: Options) -> PushdownSession:
    return PushdownSession(options.check or _unchecked, options.function, options.keep_null_time)


def _unchecked(spec: MatchSpec) -> None:
    """No engine is at hand."""


def _several(clause: MatchPatternClause, rows: Relation, source: Source, options: Options) -> RewrittenClause:
    together = joined(clause)
    bound = bind_event_pattern(together, rows, source)
    spec = event_pattern_spec(bound, used_by_measures(bound))
    part = EmittedClause(together, bound, spec, "")
    pushdown = several_patterns(clause, part, source, _pushdown_session(options))
    return RewrittenClause(clause, bound, spec, pushdown.query, pushdown=pushdown)


def counts(part: RewrittenClause, source: Source, options: Options) -> str:
    """The query that counts, for EXPLAIN ANALYZE PATTERN."""
    assert isinstance(part.bound, BoundEventPattern)
    assert isinstance(part.spec, EventPatternSpec)
    pushed = None if isinstance(part.pushdown, str) else part.pushdown.spec
    bound = part.bound if isinstance(part.pushdown, str) else part.pushdown.bound
    matches = options.function_of(part.spec) if part.bound.residual else None
    functions = options.function_of(AnalyzeSpec(pushed or part.spec)), matches
    return event_pattern_counts(
        bound, part.spec, pushed, source, functions, keep_null_time=options.keep_null_time
    )  # fmt: skip


def timeline(part: RewrittenClause, source: Source, options: Options) -> str:
    """The query that lists the events of the clause's matches."""
    assert isinstance(part.bound, BoundEventPattern)
    spec = event_spec(part.bound, part.clause.site)
    return event_timeline(part.bound, spec, source, options.function_of(spec))
