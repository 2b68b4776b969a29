"""MEASURES of MATCH PATTERN: answered by A-Seq if the pattern allows it, otherwise from the matches.

In: the clause with the query of its matches. Out: the query that replaces the clause, and which of the two ways it takes. Spark analyses the columns
of the query over matches; those of A-Seq's query must be the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.names import Variables, references
from rewrites.bind.relation import spark_message
from rewrites.dialect.clause import Measure
from rewrites.emit.aggregates import one_partition
from rewrites.emit.event_outputs import one_match
from rewrites.emit.measures import PRESENT, alive_matches, changes_query, measures_query
from rewrites.pushdown.aggregate_pushdown import (
    EmittedClause,
    Pushdown,
    PushdownSession,
    check_clause,
    column_types,
    partials_query,
    with_columns,
)
from rewrites.pushdown.from_matches import MatchCalls, NoMatches, over_matches
from rewrites.pushdown.over_elements import ElementCalls
from rewrites.pushdown.partials import Partials
from rewrites.pushdown.reader import AggregateReader, NotPushed
from rewrites.rules.prune_fields import Shown
from rewrites.sql.builder import quoted
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.pattern.event import elements


@dataclass(frozen=True, slots=True)
class Measured:
    """``query`` computes the measures; ``pushdown``: A-Seq's part in it, or why the matches are needed."""

    query: str
    pushdown: Pushdown | str


def measured(part: EmittedClause, source: Source, session: PushdownSession, off: str = "") -> Measured:
    """The measures of a clause. ``off``: why A-Seq is not to be used. Raises CepError at a measure's place."""
    over, schema = _from_matches(part, source, session)
    if off:
        return Measured(over, off)
    try:
        pushdown = _pushed(part, source, session, schema)
    except NotPushed as reason:
        return Measured(over, str(reason))
    return Measured(pushdown.query, pushdown)


def used_by_measures(bound: BoundEventPattern) -> Shown:
    """For each positive variable the input columns that measures and residual conditions read of its events (at least one)."""
    names = tuple(bound.relation.schema.names)
    nodes = [expr.node for expr in (*(measure.expr for measure in bound.measures), *bound.residual)]
    variables = Variables(bound.variables)
    found = [ref for node in nodes for ref in references(node, variables)]
    whole = {name for node in nodes for name in _taken_whole(node, variables)}
    used: dict[str, tuple[str, ...]] = {}
    for variable in (element.variable for element in elements(bound.pattern, negated=False)):
        columns = {bound.relation.column(ref.column.value) for ref in found if ref.members == (variable,)}
        kept = tuple(name for name in names if name in columns)
        used[variable] = tuple(bound.fields_of(variable)) if variable in whole else kept or names[:1]
    return Shown(used)


def _taken_whole(node: exp.Expression, variables: Variables) -> set[str]:
    """Variables whose events an expression uses as a whole: ``COLLECT_LIST(a)``."""
    paths = [part.name for part in node.find_all(exp.Column) if not part.table and not isinstance(part.this, exp.Star)]
    return {members[0] for name in paths if (members := variables.members(name)) is not None}


def _from_matches(part: EmittedClause, source: Source, session: PushdownSession) -> tuple[str, StructType]:
    bound = part.bound
    rows, typed = part.query, one_match(bound, part.spec, part.shards)
    closures = frozenset(element.variable for element in elements(bound.pattern) if element.kleene)
    following = bound.emit_changes is not None
    calls = MatchCalls(bound.relation.schema, closures, PRESENT if following else None, in_order=following)
    reader = AggregateReader(bound, calls, source, measures=True)
    over = ElementCalls(bound, source, closures, typed)

    def known(node: exp.Expression) -> str | None:
        call = reader.call(node)
        return None if call is None else calls.combined(call)

    if following:
        _require_calls(bound, reader)
        rows, typed = (
            alive_matches(bound, part.spec, one, keep_null_time=session.keep_null_time) for one in (rows, typed)
        )
    else:
        over.find(lambda node: known(node) is not None)
        rows, typed = over.rows(rows), over.rows(typed)
        calls = replace(calls, present=PRESENT if over.walked else None)

    def combined(node: exp.Expression) -> str | None:
        return known(node) or over.text(node)

    texts = [(over_matches(measure.expr.node, source, combined), measure.name.value) for measure in bound.measures]
    try:
        return _queries(part, texts, rows, typed, source)
    except PySparkException as error:
        raise _located(part, texts, typed, error) from None


def _require_calls(bound: BoundEventPattern, reader: AggregateReader) -> None:
    for measure in bound.measures:
        try:
            list(reader.edits(measure.expr.node, set()))
        except NotPushed as reason:
            raise CepUnsupportedError(
                f"EMIT CHANGES of this measure: {reason}",
                code="EMIT_CHANGES",
                span=measure.expr.span,
                hint="COUNT(*), and COUNT, SUM, AVG, MIN, MAX of v.column can be followed",
            ) from None


def _queries(
    part: EmittedClause, texts: list[tuple[str, str]], rows: str, typed: str, source: Source
) -> tuple[str, StructType]:
    """The measures over ``rows``, once per partition or at every change, and their columns; ``typed``: a relation with the columns of ``rows``."""
    bound = part.bound
    if bound.emit_changes is None:
        made = [measures_query(bound, texts, one) for one in (rows, typed)]
    else:
        made = followed(bound, texts, rows, typed, source)
    return made[0], bound.relation.describe(f"SELECT * FROM {made[1]}")


def followed(
    bound: BoundEventPattern,
    texts: list[tuple[str, str]],
    rows: str,
    typed: str,
    source: Source,
    apart: tuple[str, ...] = (),
) -> list[str]:
    """EMIT CHANGES: the measures ``texts`` over ``rows`` and over ``typed``, with ``apart`` as keys in addition to PARTITION BY."""
    columns = ", ".join(text for text, _ in texts)
    schema = bound.relation.describe(f"SELECT {columns} FROM {typed}{_grouped(bound)}")
    nothing = [_over_nothing(bound, measure, source) for measure in bound.measures]
    before = list(zip(nothing, (field.dataType for field in schema), strict=True))
    return [changes_query(bound, texts, one, before, apart) for one in (rows, typed)]


def _grouped(bound: BoundEventPattern) -> str:
    keys = [quoted(key.name) for key in bound.keys]
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def _over_nothing(bound: BoundEventPattern, measure: Measure, source: Source) -> str:
    reader = AggregateReader(bound, NoMatches(), source, measures=True)
    return source.splice(measure.expr.span, list(reader.edits(measure.expr.node, set())))


def _located(part: EmittedClause, texts: list[tuple[str, str]], rows: str, error: PySparkException) -> CepAnalysisError:
    """Spark's error, with the span of the first measure that causes it."""
    for measure, text in zip(part.bound.measures, texts, strict=True):
        try:
            part.bound.relation.describe(f"SELECT * FROM {measures_query(part.bound, [text], rows)}")
        except PySparkException as own:
            return _error(measure, own)
    return _error(part.bound.measures[0], error)


def _error(measure: Measure, error: PySparkException) -> CepAnalysisError:
    return CepAnalysisError(spark_message(error), code="MEASURE", span=measure.expr.span)


def _pushed(part: EmittedClause, source: Source, session: PushdownSession, schema: StructType) -> Pushdown:
    check_clause(part, source)
    partials = Partials(part.bound.relation.schema)
    reader = AggregateReader(part.bound, partials, source, measures=True)
    texts = []
    for measure in part.bound.measures:
        edits = list(reader.edits(measure.expr.node, set()))
        texts.append((source.splice(measure.expr.span, edits), measure.name.value))
    reader.require_scalar_functions(one_match(part.bound, part.spec, part.shards))
    part = with_columns(part, reader)
    spec, rows = partials_query(part, partials, session)
    try:
        query, found = _queries(part, texts, rows, one_partition(part.bound, spec), source)
    except PySparkException:
        raise NotPushed("Spark does not accept the measures over partial aggregates") from None
    if column_types(found) != column_types(schema):
        raise NotPushed("Spark gives the aggregates different types there")
    return Pushdown(spec, part.bound, query, ())
