"""MATCH PATTERN and MATCH PATTERNS through all stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rewrites.bind.event_pattern import BoundEventPattern, bind_event_pattern
from rewrites.bind.loop_refusals import check_loops, refuse_loops
from rewrites.bind.loops import Rounds, of_rounds, over_rounds, with_rounds
from rewrites.bind.relation import Relation
from rewrites.bind.several_patterns import joined
from rewrites.clauses.stream import event_stream, measures_stream
from rewrites.dialect.clause import MatchPatternClause
from rewrites.emit.analyze import event_pattern_counts
from rewrites.emit.event_outputs import typed_outputs
from rewrites.emit.event_pattern import event_pattern_query, event_pattern_spec
from rewrites.emit.timeline import event_spec, event_timeline, told_columns
from rewrites.options import Options, RewrittenClause
from rewrites.pushdown import aggregate_pushdown
from rewrites.pushdown.aggregate_pushdown import EmittedClause, Pushdown, PushdownSession
from rewrites.pushdown.measures import measured, used_by_measures
from rewrites.pushdown.several_patterns import check_patterns, several_patterns
from rewrites.rules import (
    induced_predicates,
    inferred_equalities,
    key_filters,
    keys_in_order,
    prune_fields,
    time_shards,
)
from rewrites.rules.prune_fields import Shown
from rewrites.rules.time_shards import Shards
from rewrites.settings import Evaluation, frequencies, hinted
from rewrites.sql.source import Source
from sparkcep.pattern.event import elements, loops
from sparkcep.spec import AnalyzeSpec, EventPatternSpec, MatchSpec
from sparkcep.spec.event import EventStruct


@dataclass(frozen=True, slots=True)
class _Plan:
    """A bound clause and what the rules decided so far.

    ``shards``: how its timeline is cut, or why it is not. ``shown``: what the result carries; None: every column.
    """

    bound: BoundEventPattern
    evaluation: Evaluation
    shards: Shards | str
    shown: Shown | None = None

    @property
    def cut(self) -> Shards | None:
        return None if isinstance(self.shards, str) else self.shards


@dataclass(frozen=True, slots=True)
class _Context:
    """What the rules may use in addition to the plan."""

    clause: MatchPatternClause
    source: Source
    options: Options
    only_clause: bool


def event_pattern(
    clause: MatchPatternClause, rows: Relation, source: Source, options: Options, *, only_clause: bool
) -> RewrittenClause:
    """The clause over ``rows``, rewritten; ``only_clause``: the statement has no other. Raises CepError."""
    if clause.site.kind == "MATCH PATTERNS":
        for _, tree, _ in clause.patterns:
            refuse_loops(tree, "MATCH PATTERNS")
        return _several(clause, rows, source, options)
    rounds: tuple[RewrittenClause, ...] = ()
    if loops(clause.patterns[0][1]):
        check_loops(clause, rows)
        rest = over_rounds(clause, rows, source)
        rounds = _rounds(clause, rows, source, options)
        rows = with_rounds(rows, clause, source, {part.loop: _found(part) for part in rounds})
        clause = rest
    context = _Context(clause, source, options, only_clause)
    planned = _planned(bind_event_pattern(clause, rows, source), context)
    if rows.streaming and planned.bound.measures:
        return measures_stream(clause, planned.bound, planned.evaluation, source, options)
    if rows.streaming:
        shown = planned.shown or prune_fields.every_column(planned.bound, clause.site)
        return event_stream(clause, planned.bound, shown, planned.evaluation, source, options)
    part = _emitted(planned, context)
    query, pushdown = _pushed(part, source, options)
    return RewrittenClause(
        clause, planned.bound, part.spec, query, (), pushdown, planned.shards, planned.evaluation, rounds=rounds
    )  # fmt: skip


def _rounds(
    clause: MatchPatternClause, rows: Relation, source: Source, options: Options
) -> tuple[RewrittenClause, ...]:
    """For each loop the clause whose matches are its rounds."""
    options = replace(options, disabled=options.disabled | {aggregate_pushdown.NAME})
    found = loops(clause.patterns[0][1])
    parts = (event_pattern(of_rounds(clause, one), rows, source, options, only_clause=False) for one in found)
    return tuple(replace(part, loop=loop.variable, pushdown="") for part, loop in zip(parts, found, strict=True))


def _found(part: RewrittenClause) -> Rounds:
    """The rounds that a clause finds."""
    assert isinstance(part.bound, BoundEventPattern)
    assert isinstance(part.spec, EventPatternSpec)
    outputs = typed_outputs(part.bound, part.spec, None)
    return Rounds(part.query, {one.name: kind for one, kind in outputs if isinstance(one.source, EventStruct)})


def _key_filters(plan: _Plan, context: _Context) -> _Plan:
    """Partitions that the WHERE around the clause excludes are not read; EXPLAIN ANALYZE PATTERN covers all of them.

    Nor are those of a stream left out: its watermark would then follow the rest alone.
    """
    if context.options.analyze or plan.bound.relation.streaming:
        return plan
    filters = key_filters.key_filters(plan.bound, context.clause.site, context.source)
    return replace(plan, bound=replace(plan.bound, key_filters=filters))


def _induced_predicates(plan: _Plan, context: _Context) -> _Plan:
    """Events beyond the bounds that others set are not sent; EXPLAIN ANALYZE PATTERN counts them."""
    if context.options.analyze:
        return plan
    return replace(plan, bound=induced_predicates.induced_predicates(plan.bound))


def _inferred_equalities(plan: _Plan, context: _Context) -> _Plan:
    """Equalities that WHERE implies partition the events; not those that have versions (EVENT KEY), which may differ in them, nor those
    that are numbered (SEQUENCE NUMBER), of which each must come."""
    clause = context.clause
    if plan.bound.emit_changes is not None or clause.event_key is not None or clause.sequence is not None:
        return plan
    return replace(plan, bound=inferred_equalities.inferred_equalities(plan.bound))


def _time_shards(plan: _Plan, context: _Context) -> _Plan:
    """A timeline that nothing partitions is cut, except under EXPLAIN ANALYZE, so that nothing is counted twice."""
    if plan.bound.relation.streaming:
        return plan
    shards = time_shards.time_shards(plan.bound, plan.evaluation, place=context.clause.site.keyword)
    analysed = "so that nothing is counted twice" if context.options.analyze and shards else shards
    return replace(plan, shards=analysed)


def _keys_in_order(plan: _Plan, context: _Context) -> _Plan:
    """Workers see where partitions begin; those of a time line that is cut begin with its shards."""
    if plan.cut is not None:
        return plan
    together = keys_in_order.keys_in_order(plan.bound, context.options.numbers_tasks)
    return replace(plan, bound=replace(plan.bound, together=together))


def _prune_fields(plan: _Plan, context: _Context) -> _Plan:
    """The result carries what the measures, or the statement, use."""
    site, sql = context.clause.site, context.source.sql
    shown = used_by_measures(plan.bound) if plan.bound.measures else None
    return replace(
        plan, shown=shown or prune_fields.used_columns(plan.bound, site, sql, only_clause=context.only_clause)
    )


RULES: tuple[tuple[str, Callable[[_Plan, _Context], _Plan]], ...] = (
    (key_filters.NAME, _key_filters),
    (induced_predicates.NAME, _induced_predicates),
    (inferred_equalities.NAME, _inferred_equalities),
    (time_shards.NAME, _time_shards),
    (keys_in_order.NAME, _keys_in_order),
    (prune_fields.NAME, _prune_fields),
)
"""The rules in the order in which they are applied; each returns the plan unchanged if it does not apply."""


def _planned(bound: BoundEventPattern, context: _Context) -> _Plan:
    """The rules, one after another."""
    evaluation = hinted(context.options.evaluation, context.clause.hints, bound.strategy)
    plan = _Plan(bound, evaluation, time_shards.SWITCHED_OFF)
    for name, rule in RULES:
        if name not in context.options.disabled:
            plan = rule(plan, context)
    return plan


def _emitted(planned: _Plan, context: _Context) -> EmittedClause:
    """The query that gives the clause's matches."""
    bound, evaluation, options = planned.bound, planned.evaluation, context.options
    spec = replace(
        event_pattern_spec(bound, planned.shown or prune_fields.every_column(bound, context.clause.site), planned.cut),
        engine=evaluation.engine,
        max_partial_matches=evaluation.max_partial_matches,
        negation=evaluation.negation,
        statistics=frequencies(elements(bound.pattern), evaluation.statistics),
    )
    function = options.checked_function_of(spec, context.clause.site)
    keep = options.keep_null_time
    query = event_pattern_query(bound, spec, context.source, function, keep_null_time=keep, shards=planned.cut)
    return EmittedClause(context.clause, bound, spec, query, planned.cut)


def _pushed(part: EmittedClause, source: Source, options: Options) -> tuple[str, Pushdown | str]:
    """The query that replaces the clause, and how A-Seq answers instead of the matches, or why it does not."""
    off, session = _pushdown_off(part, options), _pushdown_session(options)
    if part.bound.measures:
        answer = measured(part, source, session, off)
        pushdown, query = answer.pushdown, answer.query
    else:
        pushdown, query = off or aggregate_pushdown.aggregate_pushdown(part, source, session), part.query
    return (query if isinstance(pushdown, str) else pushdown.query), pushdown


def _pushdown_off(part: EmittedClause, options: Options) -> str:
    """Why pushdown is disabled for the whole clause (empty: it is not)."""
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
    if rows.streaming:
        check_patterns(clause, part, source, _pushdown_session(options))
        return measures_stream(clause, bound, options.evaluation, source, options)
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
    told = told_columns(part.bound, part.clause.site, source.sql)
    return event_timeline(part.bound, spec, told, source, options.function_of(spec))
