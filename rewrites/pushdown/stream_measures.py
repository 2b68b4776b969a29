"""MEASURES over a stream, of one pattern or several: A-Seq's, since the rows of matches would need an aggregate of Spark's with its own output mode.

In: the clause, bound. Out: its query and how its turns run; what A-Seq cannot count is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, StructType

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.relation import spark_message
from rewrites.bind.stream import Streamed
from rewrites.dialect.clause import MatchPatternClause
from rewrites.emit.aggregate_stream import StreamMeasure, aggregate_stream
from rewrites.emit.aggregates import aggregate_spec
from rewrites.emit.stream import Emitted
from rewrites.pushdown.aggregate_pushdown import EmittedClause, Pushdown, check_clause, with_columns
from rewrites.pushdown.partials import Partials
from rewrites.pushdown.reader import AggregateReader, NotPushed
from rewrites.pushdown.several_patterns import named_patterns
from rewrites.settings import Follows, StreamSettings
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.spec import AggregateSpec, EventPatternSpec, StreamSpec
from sparkcep.spec.stream import BEFORE

_HINT = (
    "leave MEASURES out, and aggregate the matches behind the clause: "
    "GROUP BY window(match_end, '1 hour'), or other columns in the output mode update"
)


@dataclass(frozen=True, slots=True)
class Counted:
    """A clause that A-Seq counts: ``bound`` with the columns that it reads, its ``spec``, the ``types`` of the spec's columns, and the measures."""

    bound: BoundEventPattern
    spec: AggregateSpec
    types: dict[str, DataType]
    measures: tuple[StreamMeasure, ...]


def counted(clause: MatchPatternClause, bound: BoundEventPattern, events: EventPatternSpec, source: Source) -> Counted:
    """``events``: the spec of the clause's matches. Raises CepUnsupportedError with a span for what A-Seq does not count."""
    part = EmittedClause(clause, bound, events, "")
    try:
        check_clause(part, source)
    except NotPushed as reason:
        _refuse(
            f"MEASURES over a streaming relation, where matches would have to be built: {reason}", clause.site.keyword
        )
    now = Partials(bound.relation.schema, whole=True)
    before = Partials(bound.relation.schema, now.sources, whole=True, prefix=BEFORE)
    readers = [AggregateReader(bound, partials, source, measures=True) for partials in (now, before)]
    measures = []
    for measure in bound.measures:
        try:
            texts = [
                source.splice(measure.expr.span, list(reader.edits(measure.expr.node, set()))) for reader in readers
            ]
        except NotPushed as reason:
            _refuse(f"this measure over a streaming relation: {reason}", measure.expr.span)
        measures.append(StreamMeasure(measure.name.value, *texts))
    part = with_columns(part, readers[0])
    spec = aggregate_spec(part.bound, events, now.sources)
    if clause.site.kind == "MATCH PATTERNS":
        spec = named_patterns(clause, spec)
    return Counted(part.bound, spec, _types(bound, spec, now), tuple(measures))


def stream_measures(
    found: Counted,
    streamed: Streamed,
    settings: StreamSettings,
    check: Callable[[StreamSpec], None],
    *,
    keep_null_time: bool,
    follows: Follows | None = None,
) -> tuple[Emitted, Pushdown]:
    """``check`` raises for what no engine can run. Raises CepError with a span."""
    emitted = aggregate_stream(
        found.bound,
        found.spec,
        found.types,
        found.measures,
        streamed,
        settings,
        keep_null_time=keep_null_time,
        follows=follows,
    )
    check(emitted.spec)
    _describe(found.bound, emitted)
    return emitted, Pushdown(found.spec, found.bound, emitted.query, ())


def _types(bound: BoundEventPattern, spec: AggregateSpec, partials: Partials) -> dict[str, DataType]:
    schema = StructType.fromJson(json.loads(spec.schema))
    types: dict[str, DataType] = {field.name: field.dataType for field in schema}
    types |= {key.name: key.data_type for key in bound.keys} | dict(partials.sources.values())
    return types


def _describe(bound: BoundEventPattern, emitted: Emitted) -> None:
    try:
        bound.relation.describe(f"SELECT * FROM {emitted.query}")
    except PySparkException as error:
        span = bound.measures[0].expr.span
        raise CepAnalysisError(spark_message(error), code="MEASURE", span=span) from None


def _refuse(message: str, span: Span) -> NoReturn:
    raise CepUnsupportedError(message, code="STREAM", span=span, hint=_HINT) from None
