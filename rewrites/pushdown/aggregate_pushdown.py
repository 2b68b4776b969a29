"""aggregate_pushdown: a query block that only aggregates the matches is answered by A-Seq, without building any match.

``SELECT day, COUNT(*) FROM t MATCH PATTERN (… PARTITION BY day …) GROUP BY day`` → the clause becomes a query with one row per partition (its
keys and partial aggregates), ``COUNT(*)`` becomes a sum over it; the rest of the block is unchanged. Applies if the select list, WHERE, GROUP BY,
HAVING and ORDER BY use only PARTITION BY columns, COUNT(*), COUNT/SUM/AVG/MIN/MAX(v.attr) of single events and output names, and no condition
compares variables; tables may be joined to the clause on its PARTITION BY columns. Spark checks that the original block is valid and that the new one
has the same columns; in case of doubt the answer is computed from the matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql.types import DateType, StructType

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.dialect.blocks import Block, find_block
from rewrites.dialect.clause import MatchPatternClause
from rewrites.emit.aggregates import aggregate_query, aggregate_spec, one_partition
from rewrites.emit.event_outputs import one_match
from rewrites.pushdown.partials import Partials
from rewrites.pushdown.reader import AggregateReader, NotPushed
from rewrites.rules.time_shards import Shards
from rewrites.sql.builder import quoted
from rewrites.sql.source import Edit, Source
from sparkcep.errors import CepError, Span
from sparkcep.spec import AggregateSpec, EventPatternSpec, MatchSpec, to_json
from sparkcep.spec.neighbours import linked

NAME = "aggregate_pushdown"
_UNITS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_EVEN_UNITS = {"interval", "to", "l", "d", *_UNITS, *(f"{unit}s" for unit in _UNITS)}
"""Words of a WITHIN whose deadlines are monotone (those of months are not: 30 January 12:00, 31 January 10:00)."""
_CALENDAR_UNITS = {"month", "months", "year", "years"}
"""Units that are monotone as well if times are dates."""


@dataclass(frozen=True, slots=True)
class Pushdown:
    """The new parts of the block: ``query`` replaces the clause, ``edits`` apply to the rest of the block.

    ``bound``: the clause with the columns that A-Seq reads.
    """

    spec: AggregateSpec
    bound: BoundEventPattern
    query: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class EmittedClause:
    """A clause whose matches are already emitted, as ``query``. ``shards``: how its timeline was sharded for that."""

    clause: MatchPatternClause
    bound: BoundEventPattern
    spec: EventPatternSpec
    query: str
    shards: Shards | None = None


@dataclass(frozen=True, slots=True)
class PushdownSession:
    """The part of ``Options`` that the rule needs: ``check`` raises for what no engine can run, ``function`` names a spec's function."""

    check: Callable[[MatchSpec], None]
    function: Callable[[str], str] | None
    keep_null_time: bool


def aggregate_pushdown(part: EmittedClause, source: Source, session: PushdownSession) -> Pushdown | str:
    """The block answered by A-Seq; or the reason why the matches are needed (empty: the block does not aggregate)."""
    block = find_block(source.sql, part.clause.site)
    if block is None:
        return ""
    try:
        return _pushdown(block, part, source, session)
    except NotPushed as reason:
        return str(reason)


def _pushdown(block: Block, part: EmittedClause, source: Source, session: PushdownSession) -> Pushdown:
    check_clause(part, source)
    site = part.clause.site
    partials = Partials(part.bound.relation.schema)
    reader = AggregateReader(
        part.bound, partials, source, site.alias.value if site.alias else None, joined=block.joined
    )
    edits = list(_block_edits(block, reader, part.bound))
    if not edits:
        raise NotPushed("")
    typed = source.with_edit(site.span, one_match(part.bound, part.spec, part.shards))
    written = _described(block, typed, part)
    edits += _names(block, edits, written)
    reader.require_scalar_functions(typed.text(block.rows))
    part = with_columns(part, reader)
    spec, query = partials_query(part, partials, session)
    edited = source.with_edit(site.span, one_partition(part.bound, spec))
    for span, text in edits:
        edited = edited.with_edit(span, text)
    if column_types(_described(block, edited, part)) != column_types(written):
        raise NotPushed("Spark gives the aggregates different types there")
    return Pushdown(spec, part.bound, query, tuple(edits))


def with_columns(part: EmittedClause, reader: AggregateReader) -> EmittedClause:
    """The clause with the columns that the reader's calls aggregate."""
    return replace(part, bound=replace(part.bound, columns=part.bound.columns | reader.columns))


def partials_query(part: EmittedClause, partials: Partials, session: PushdownSession) -> tuple[AggregateSpec, str]:
    """A-Seq's spec, and the query of the PARTITION BY columns and the partial aggregates. Raises NotPushed."""
    spec = aggregate_spec(part.bound, part.spec, partials.sources)
    kept_together = part.shards is None or part.shards.leaders is None or spec.emit is not None
    shards = None if kept_together else part.shards
    if shards is not None:
        spec = replace(spec, line=shards.line, unordered=shards.line)
    try:
        session.check(spec)
    except CepError as error:
        raise NotPushed(error.message) from None
    function = None if session.function is None else session.function(to_json(spec))
    return spec, aggregate_query(part.bound, spec, function, keep_null_time=session.keep_null_time, shards=shards)


def check_clause(part: EmittedClause, source: Source) -> None:
    """Raise NotPushed for a clause whose matches A-Seq cannot count, whatever the aggregates."""
    if part.spec.strategy != "any" or part.spec.matches != "all":
        raise NotPushed("A-Seq counts ALL MATCHES under SKIP TILL ANY MATCH")
    try:
        linked(part.spec.predicates)
    except CepError as error:
        raise NotPushed(error.message) from None
    followed = part.spec.predicates if part.bound.emit_changes is not None else ()
    compared = [predicate.text for predicate in followed]
    compared += [source.text(conjunct.span) for conjunct in part.bound.residual]
    if compared:
        raise NotPushed(f"{compared[0]} compares events, and A-Seq keeps none")
    within = part.clause.within
    if within is not None and within.length is not None:
        words = set(re.findall("[a-z_]+", source.text(within.length.span).lower()))
        dated = isinstance(part.bound.time_type, DateType)
        if not words <= (_EVEN_UNITS | _CALENDAR_UNITS if dated else _EVEN_UNITS):
            raise NotPushed(
                "A-Seq slides windows of one length, in numbers or in weeks, days, hours, minutes and seconds; of dates also in months"
            )


def _block_edits(block: Block, reader: AggregateReader, bound: BoundEventPattern) -> Iterator[Edit]:
    """Edits for all aggregate calls of the block."""
    taken = {"match_start", "match_end", *(name.lower() for name in bound.variables)}
    aliases = {item.alias.value.lower() for item in block.items if item.alias is not None} - taken
    for item in block.items:
        yield from reader.edits(item.expr.node, set())
    for condition in [*block.on, *([block.where] if block.where else [])]:
        yield from reader.edits(condition.node, set())
    behind = [*block.group_by, *([block.having] if block.having else []), *block.order_by]
    for expr in behind:
        yield from reader.edits(expr.node, aliases)


def _described(block: Block, source: Source, part: EmittedClause) -> StructType:
    try:
        return part.bound.relation.describe(source.text(block.span))
    except PySparkException:
        raise NotPushed("Spark does not accept the block on its own") from None


def column_types(schema: StructType) -> list[tuple[str, str]]:
    """Names and types of columns."""
    return [(column.name, column.dataType.simpleString()) for column in schema]


def _names(block: Block, edits: list[Edit], written: StructType) -> Iterator[Edit]:
    """Aliases that keep the names Spark gave to columns without one."""
    for item, column in zip(block.items, written, strict=True):
        span = item.expr.span
        if item.alias is None and any(span.start <= place.start < span.end for place, _ in edits):
            yield Span(span.end, span.end), f" AS {quoted(column.name)}"
