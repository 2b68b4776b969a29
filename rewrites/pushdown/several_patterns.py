"""MATCH PATTERNS: several patterns over the same events, counted by A-Seq in as few passes as pay off.

In: the clause, bound over the variables of all its patterns. Out: the query that replaces it: one row per pattern and partition with a match of it;
without PARTITION BY one row per pattern; with EMIT CHANGES one row per change. No match is ever built, so what A-Seq cannot count is refused by name.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NoReturn

from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.relation import spark_message
from rewrites.bind.several_patterns import PATTERN
from rewrites.dialect.clause import MatchPatternClause
from rewrites.emit.aggregates import aggregate_query, aggregate_spec, one_partition
from rewrites.pushdown.aggregate_pushdown import EmittedClause, Pushdown, PushdownSession, check_clause, with_columns
from rewrites.pushdown.measures import followed
from rewrites.pushdown.partials import Partials
from rewrites.pushdown.reader import AggregateReader, NotPushed
from rewrites.sql.builder import named, quoted, raw, select, string, text_of
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepError, CepUnsupportedError, Span
from sparkcep.spec import AggregateSpec, to_json
from sparkcep.spec.aggregate import AggregateOutput, NamedPattern, PatternName

_HINT = "write one MATCH PATTERN per pattern, joined by UNION ALL: its answer comes from the matches where it has to"


def several_patterns(
    clause: MatchPatternClause, part: EmittedClause, source: Source, session: PushdownSession
) -> Pushdown:
    """``clause`` as written, ``part`` as bound over all variables. Raises CepError with a span."""
    check_patterns(clause, part, source, session)
    partials = Partials(part.bound.relation.schema)
    reader = AggregateReader(part.bound, partials, source, measures=True)
    texts = []
    for measure in part.bound.measures:
        try:
            edits = list(reader.edits(measure.expr.node, set()))
        except NotPushed as reason:
            _refuse(f"this measure of several patterns: {reason}", measure.expr.span)
        texts.append((source.splice(measure.expr.span, edits), measure.name.value))
    part = with_columns(part, reader)
    spec = named_patterns(clause, aggregate_spec(part.bound, part.spec, partials.sources))
    _checked(spec, session, clause.site.keyword)
    function = None if session.function is None else session.function(to_json(spec))
    rows = aggregate_query(part.bound, spec, function, keep_null_time=session.keep_null_time)
    try:
        query, typed = _queries(part.bound, spec, texts, rows, source)
        part.bound.relation.describe(f"SELECT * FROM {typed}")
    except PySparkException as error:
        span = part.bound.measures[0].expr.span
        raise CepAnalysisError(spark_message(error), code="MEASURE", span=span) from None
    return Pushdown(spec, part.bound, query, ())


def check_patterns(clause: MatchPatternClause, part: EmittedClause, source: Source, session: PushdownSession) -> None:
    """Raise CepError with a span for patterns that cannot be counted together."""
    if any(key.name.lower() == PATTERN for key in part.bound.keys):
        raise CepAnalysisError(
            "the result column pattern names the pattern, but a PARTITION BY column has the same name",
            code="DUPLICATE_NAME",
            span=clause.partition_by[0].expr.span,
            hint="name it: PARTITION BY pattern AS other",
        )
    try:
        check_clause(part, source)
    except NotPushed as reason:
        _refuse(f"several patterns at once: {reason}", clause.site.keyword)
    for _, tree, span in clause.patterns:
        _checked(replace(part.spec, pattern=tree, predicates=()), session, span)


def _checked(spec: object, session: PushdownSession, span: Span) -> None:
    try:
        session.check(spec)  # type: ignore[arg-type]
    except CepError as error:
        if error.span is None:
            error.span = span
        if isinstance(error, CepUnsupportedError) and error.hint is None:
            error.hint = _HINT
        raise


def named_patterns(clause: MatchPatternClause, spec: AggregateSpec) -> AggregateSpec:
    """``spec`` with the clause's patterns, and the column that names them."""
    schema = StructType([StructField(PATTERN, StringType()), *StructType.fromJson(json.loads(spec.schema))])
    patterns = tuple(NamedPattern(name.value, tree) for name, tree, _ in clause.patterns if name is not None)
    outputs = (AggregateOutput(PATTERN, PatternName()), *spec.outputs)
    return replace(spec, outputs=outputs, schema=schema.json(), patterns=patterns)


def _queries(
    bound: BoundEventPattern, spec: AggregateSpec, measures: list[tuple[str, str]], rows: str, source: Source
) -> list[str]:
    """The measures over ``rows``, and over NULLs in their place."""
    typed = one_partition(bound, spec)
    if bound.emit_changes is not None:
        return followed(bound, measures, rows, typed, source, (PATTERN,))
    return [_grouped(bound, spec, measures, one) for one in (rows, typed)]


def _grouped(bound: BoundEventPattern, spec: AggregateSpec, measures: list[tuple[str, str]], rows: str) -> str:
    keys = [quoted(key.name) for key in bound.keys]
    name = quoted(PATTERN)
    if not keys:
        values = ", ".join(f"({string(one.name)})" for one in spec.patterns)
        names = f"(SELECT * FROM VALUES {values} AS `__cep_names`({name}))"
        rows = f"({names} AS `__cep_all` LEFT JOIN {rows} AS `__cep_rows` USING ({name}))"
    columns: list[exp.Expression] = [*map(raw, keys), raw(name), *(named(*measure) for measure in measures)]
    return f"({text_of(select(columns, rows).group_by(*map(raw, keys), raw(name)))})"


def _refuse(message: str, span: Span) -> NoReturn:
    raise CepUnsupportedError(message, code="PATTERNS", span=span, hint=_HINT) from None
