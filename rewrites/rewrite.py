"""A statement, clause by clause: inner ones first, each replaced by the query that answers it.

The text around the clauses is kept byte for byte; a statement without a clause comes back as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rewrites.bind.event_pattern import BoundEventPattern, bind_event_pattern
from rewrites.bind.notices import Notice, notices
from rewrites.bind.relation import Describe, Relation, in_scope, relation
from rewrites.bind.row_pattern import BoundRowPattern, bind_row_pattern
from rewrites.bind.several_patterns import joined
from rewrites.dialect import find_sites, parse_clause
from rewrites.dialect.clause import Clause, MatchPatternClause, MatchRecognizeClause, Site
from rewrites.dialect.window_blocks import WindowBlock, find_window_blocks
from rewrites.emit.analyze import event_pattern_counts, row_pattern_counts
from rewrites.emit.event_pattern import event_pattern_query, event_pattern_spec
from rewrites.emit.row_pattern import row_pattern_query, row_pattern_spec
from rewrites.emit.timeline import event_spec, event_timeline, row_spec, row_timeline
from rewrites.pushdown.aggregate_pushdown import NAME as AGGREGATE_PUSHDOWN
from rewrites.pushdown.aggregate_pushdown import EmittedClause, Pushdown, PushdownSession, aggregate_pushdown
from rewrites.pushdown.measures import measured, used_by_measures
from rewrites.pushdown.several_patterns import several_patterns
from rewrites.rules.aseq_functions import NAME as ASEQ_FUNCTIONS
from rewrites.rules.aseq_functions import FunctionName, aseq_functions, has_calls
from rewrites.rules.inferred_equalities import NAME as INFERRED_EQUALITIES
from rewrites.rules.inferred_equalities import inferred_equalities
from rewrites.rules.key_filters import NAME as KEY_FILTERS
from rewrites.rules.key_filters import key_filters
from rewrites.rules.prune_fields import used_columns
from rewrites.rules.time_shards import NAME as TIME_SHARDS
from rewrites.rules.time_shards import Shards, time_shards
from rewrites.settings import Evaluation, frequencies, hinted
from rewrites.sql.parameters import named_markers
from rewrites.sql.source import Source
from rewrites.windows import not_counted, window_block
from sparkcep.errors import CepError, Span
from sparkcep.pattern.event import elements
from sparkcep.spec import AnalyzeSpec, EventPatternSpec, MatchSpec, RowPatternSpec, to_json


@dataclass(frozen=True, slots=True)
class Options:
    """What a session adds to a rewrite.

    ``function`` names the table function that already knows a MatchSpec (Spark Connect); None: ``cep_match`` with the spec as argument.
    ``check`` raises for a MatchSpec that no engine runs. ``keep_null_time``: a NULL event time is an error (else such events are dropped).
    ``aggregate_function`` names a function for a call of ``aseq_count`` or its kin (Spark Connect); None: those that every session has.
    ``disabled``: names of rules that are not to be applied. ``explain_rows``: rows of an input in which EXPLAIN PATTERN counts events.
    ``analyze``: each clause's counts are wanted too; ``timeline``: the events of its
    matches one by one.
    """

    function: Callable[[str], str] | None = None
    check: Callable[[MatchSpec], None] | None = None
    keep_null_time: bool = True
    disabled: frozenset[str] = frozenset()
    evaluation: Evaluation = Evaluation()
    explain_rows: int = 0
    analyze: bool = False
    timeline: bool = False
    aggregate_function: FunctionName | None = None


@dataclass(frozen=True, slots=True)
class RewrittenClause:
    """One clause on its way: as parsed, as bound, and what it became.

    ``pushdown``: its block answered by A-Seq, or why not. ``shards``: its time line cut, or why not.
    ``counts``: the query that counts what happens to its rows (empty unless asked for);
    ``timeline``: the query that lists the events of its matches (the same).
    """

    clause: Clause
    bound: BoundRowPattern | BoundEventPattern
    spec: MatchSpec
    query: str
    notices: tuple[Notice, ...] = ()
    pushdown: Pushdown | str = ""
    shards: Shards | str = ""
    evaluation: Evaluation = Evaluation()
    counts: str = ""
    timeline: str = ""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A statement as Spark gets it, and its clauses in the order in which they were rewritten (inner ones first)."""

    text: str
    sql: str
    clauses: tuple[RewrittenClause, ...] = ()
    functions: int = 0
    """Calls of ``aseq_count`` and its kin that a rule rewrote."""


def has_clause(text: str) -> bool:
    """Whether a statement has a pattern clause, or a window with a pattern (cheap where it has none)."""
    return bool(find_sites(text) or find_window_blocks(text))


def has_function(text: str) -> bool:
    """Whether a statement may call ``aseq_count`` or its kin (cheap)."""
    return has_calls(text)


def rewrite(text: str, describe: Describe, options: Options | None = None) -> str:
    """``text`` with every pattern clause replaced. Raises CepError with the statement's text and a span."""
    return analyse(text, describe, options).sql


def analyse(text: str, describe: Describe, options: Options | None = None) -> Rewritten:
    """Like ``rewrite``, with every stage kept for those who explain it."""
    try:
        return _rewrite(text, describe, options or Options())
    except CepError as error:
        raise error.in_sql(text) from None


def _rewrite(text: str, describe: Describe, options: Options) -> Rewritten:
    sites, blocks = find_sites(text), find_window_blocks(text)
    if not sites and not blocks and not has_function(text):
        return Rewritten(text, text)
    source = Source(text, named_markers(text))
    calls = () if ASEQ_FUNCTIONS in options.disabled else aseq_functions(source, options.aggregate_function)
    if not sites and not blocks and not calls:
        return Rewritten(text, text)
    for span, edit in calls:
        source = source.with_edit(span, edit)
    clauses = [parse_clause(text, site) for site in sorted(sites, key=lambda site: site.span.end)]
    done: list[RewrittenClause] = []
    for clause in _inner_first(clauses, blocks):
        if isinstance(clause, WindowBlock):
            parts, query = _windows(clause, source, describe, options)
            done, source = [*done, *parts], source.with_edit(clause.span, query)
            continue
        rows = relation(clause.site, source, describe)
        done.append(_clause(clause, rows, source, options, only_clause=len(clauses) == 1))
        if options.analyze:
            done[-1] = replace(done[-1], counts=in_scope(_counts(done[-1], source, options), clause.site, source))
        if options.timeline and len(done) == len(clauses):
            done[-1] = replace(done[-1], timeline=in_scope(_timeline(done[-1], source, options), clause.site, source))
        source = source.with_edit(clause.site.span, done[-1].query)
        for span, edit in () if isinstance(done[-1].pushdown, str) else done[-1].pushdown.edits:
            source = source.with_edit(span, edit)
    return Rewritten(text, source.text(Span(0, len(text))), tuple(done), len(calls))


def _inner_first(clauses: list[Clause], blocks: tuple[WindowBlock, ...]) -> list[Clause | WindowBlock]:
    """Clauses and blocks, those inside of others before them."""
    steps: list[Clause | WindowBlock] = [*clauses, *blocks]
    return sorted(steps, key=lambda step: (step.site.span.end, -step.site.span.start))


def _windows(
    block: WindowBlock, source: Source, describe: Describe, options: Options
) -> tuple[list[RewrittenClause], str]:
    """The windows with patterns of one block, and the query in the block's place."""
    if options.analyze or options.timeline:
        raise not_counted(block)
    answer = window_block(block, source, describe, lambda spec, window: _function(spec, window.site, options))
    return [RewrittenClause(part.clause, part.bound, part.spec, answer.query) for part in answer.parts], answer.query


def _clause(clause: Clause, rows: Relation, source: Source, options: Options, *, only_clause: bool) -> RewrittenClause:
    if isinstance(clause, MatchRecognizeClause):
        row_bound = bind_row_pattern(clause, rows, source)
        row_bound = replace(row_bound, key_filters=_key_filters(row_bound, clause.site, source, options))
        row_spec = row_pattern_spec(row_bound)
        row_query = row_pattern_query(row_bound, row_spec, _function(row_spec, clause.site, options))
        return RewrittenClause(clause, row_bound, row_spec, row_query, notices(clause))
    if clause.site.kind == "MATCH PATTERNS":
        return _several(clause, rows, source, options)
    bound = bind_event_pattern(clause, rows, source)
    bound = replace(bound, key_filters=_key_filters(bound, clause.site, source, options))
    if INFERRED_EQUALITIES not in options.disabled and bound.emit_changes is None:
        bound = inferred_equalities(bound)
    evaluation = hinted(options.evaluation, clause.hints)
    cut = time_shards(bound, evaluation, disabled=TIME_SHARDS in options.disabled, place=clause.site.keyword)
    cut = "so that nothing is counted twice" if options.analyze and cut else cut
    shards = None if isinstance(cut, str) else cut
    shown = used_by_measures(bound) if bound.measures else None
    shown = shown or used_columns(bound, clause.site, source.sql, only_clause=only_clause)
    spec = replace(
        event_pattern_spec(bound, shown, shards),
        engine=evaluation.engine,
        max_partial_matches=evaluation.max_partial_matches,
        negation=evaluation.negation,
        statistics=frequencies(elements(bound.pattern), evaluation.statistics),
    )
    function = _function(spec, clause.site, options)
    query = event_pattern_query(bound, spec, source, function, keep_null_time=options.keep_null_time, shards=shards)
    part = EmittedClause(clause, bound, spec, query, shards)
    off = _pushdown_off(part, options)
    session = PushdownSession(options.check or _unchecked, options.function, options.keep_null_time)
    if bound.measures:
        answer = measured(part, source, session, off)
        pushed, query = answer.pushdown, answer.query
    else:
        pushed = off or aggregate_pushdown(part, source, session)
    text = query if isinstance(pushed, str) else pushed.query
    return RewrittenClause(clause, bound, spec, text, pushdown=pushed, shards=cut, evaluation=evaluation)


def _key_filters(
    bound: BoundRowPattern | BoundEventPattern, site: Site, source: Source, options: Options
) -> tuple[str, ...]:
    """Not where rows are counted: EXPLAIN ANALYZE PATTERN is about the clause."""
    return () if options.analyze or KEY_FILTERS in options.disabled else key_filters(bound, site, source)


def _counts(part: RewrittenClause, source: Source, options: Options) -> str:
    """The query that counts, for EXPLAIN ANALYZE PATTERN."""

    def make(spec: MatchSpec | AnalyzeSpec) -> str | None:
        return _made(spec, options)

    if isinstance(part.bound, BoundRowPattern):
        assert isinstance(part.spec, RowPatternSpec)
        return row_pattern_counts(part.bound, part.spec, make(AnalyzeSpec(part.spec)))
    assert isinstance(part.spec, EventPatternSpec)
    pushed = None if isinstance(part.pushdown, str) else part.pushdown.spec
    functions = make(AnalyzeSpec(pushed or part.spec)), make(part.spec) if part.bound.residual else None
    keep = options.keep_null_time
    bound = part.bound if isinstance(part.pushdown, str) else part.pushdown.bound
    return event_pattern_counts(bound, part.spec, pushed, source, functions, keep_null_time=keep)


def _timeline(part: RewrittenClause, source: Source, options: Options) -> str:
    """The query that lists the events of the outermost clause's matches."""
    site = part.clause.site
    if isinstance(part.bound, BoundRowPattern):
        rows = row_spec(part.bound, site)
        return row_timeline(part.bound, rows, _made(rows, options))
    events = event_spec(part.bound, site)
    return event_timeline(part.bound, events, source, _made(events, options))


def _made(spec: MatchSpec | AnalyzeSpec, options: Options) -> str | None:
    """The table function that knows ``spec``, where the session has one for each."""
    return None if options.function is None else options.function(to_json(spec))


def _several(clause: MatchPatternClause, rows: Relation, source: Source, options: Options) -> RewrittenClause:
    together = joined(clause)
    bound = bind_event_pattern(together, rows, source)
    spec = event_pattern_spec(bound, used_by_measures(bound))
    session = PushdownSession(options.check or _unchecked, options.function, options.keep_null_time)
    pushdown = several_patterns(clause, EmittedClause(together, bound, spec, ""), source, session)
    return RewrittenClause(clause, bound, spec, pushdown.query, pushdown=pushdown)


def _pushdown_off(part: EmittedClause, options: Options) -> str:
    """Why no aggregate of the clause is pushed down, whatever it is."""
    if options.check is None or AGGREGATE_PUSHDOWN in options.disabled:
        return f"{AGGREGATE_PUSHDOWN} is switched off"
    return "" if part.spec.engine == "auto" else f"the engine {part.spec.engine} was asked for"


def _unchecked(spec: MatchSpec) -> None:
    """No engine is at hand."""


def _function(spec: MatchSpec, site: Site, options: Options) -> str | None:
    if options.check is not None:
        _checked(spec, site, options.check)
    return None if options.function is None else options.function(to_json(spec))


def _checked(spec: MatchSpec, site: Site, check: Callable[[MatchSpec], None]) -> None:
    """A refusal without a place of its own is put at the clause's keyword."""
    try:
        check(spec)
    except CepError as error:
        if error.span is None:
            error.span = site.keyword
        raise
