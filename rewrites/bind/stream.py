"""What a clause over a stream needs beside what it means: a time that a watermark follows, an end to what is kept, an order that a restart repeats.

In: a bound clause over a streaming relation. Out: the SQL of its time and order, and notices of what stays for ever; or the refusal, at its place, of
what no watermark decides. Semantics: a stream emits the batch answer restricted to what no further row can change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    NumericType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
)
from sqlglot import exp

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.notices import Notice
from rewrites.bind.partitions import plain_column, sorting
from rewrites.bind.relation import Relation, no_stream
from rewrites.bind.revisions import Revised, bind_revisions, identity
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.bind.sequence import bind_sequence
from rewrites.bind.within import Window, window_of
from rewrites.dialect import span_of
from rewrites.dialect.clause import Clause, MatchAutomatonClause, MatchPatternClause, MatchRecognizeClause, OrderItem
from rewrites.dialect.nodes import MatchNumber, Navigation
from rewrites.dialect.tokens import Token, tokenize
from rewrites.settings import StreamSettings
from rewrites.sql.builder import quoted, string
from rewrites.sql.instants import local_micros
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.pattern import event as events
from sparkcep.pattern import row as pattern
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import WATERMARK, SequenceNumber

IDENTITY = "__cep_identity"
"""The column with the hash of a row."""
_ATOMIC = (
    *(NumericType, BooleanType, BinaryType, StringType, DateType, TimestampType, TimestampNTZType),
    DayTimeIntervalType,
)


@dataclass(frozen=True, slots=True)
class Streamed:
    """``clause``: its words, which tell it from others; ``time``: SQL of the event time in microseconds; ``identity``: of a hash of the row;
    ``order``: SQL of the further ORDER BY items, with how the engine sorts them (the first item is ``time``); ``retention``: the window that bounds a
    clause without WITHIN; ``delay``: the watermark's, in milliseconds, where it holds for the ends of the matches too: each is emitted when its
    last event becomes final. ``revised``: what a turn reads of changes, where the input's rows are that; ``sequence``: how it reads sequence numbers,
    where the clause has some.
    """

    clause: str
    time: str
    identity: str
    order: tuple[tuple[str, OrderColumn], ...]
    notices: tuple[Notice, ...] = ()
    retention: Window | None = None
    delay: int | None = None
    revised: Revised | None = None
    sequence: SequenceNumber | None = None


def bind_row_stream(
    clause: MatchRecognizeClause, bound: BoundRowPattern, source: Source, *, keep_null_time: bool
) -> Streamed:
    """MATCH_RECOGNIZE over a stream. Raises CepAnalysisError and CepUnsupportedError with spans."""
    _refuse_undecided(clause)
    streamed = _streamed(clause, bound, source, keep_null_time)
    return replace(streamed, notices=(*streamed.notices, *_kept_for_ever(clause)))


def bind_event_stream(
    clause: MatchPatternClause,
    bound: BoundEventPattern,
    source: Source,
    settings: StreamSettings,
    *,
    keep_null_time: bool,
) -> Streamed:
    """MATCH PATTERN over a stream. Raises CepAnalysisError and CepUnsupportedError with spans."""
    if clause.within is not None and clause.within.events is not None:
        raise no_stream("WITHIN n EVENTS", clause.within.span)
    streamed = _streamed(clause, bound, source, keep_null_time)
    retention: Window | None = None
    notices = (*streamed.notices, *_kept_measures(clause))
    counted = bool(bound.measures) and bound.emit_changes is None
    if bound.window is None and settings.retention is not None:
        length = f"INTERVAL {settings.retention}"
        types = bound.relation.types_of([(length, clause.site.keyword)])
        retention = window_of(bound.time, bound.time_type, (length, types[0]), clause.site.keyword)
        text = f"matches longer than sparkcep.stream.retention ({settings.retention}) are not found"
        notices += (Notice(text, clause.site.keyword, "say WITHIN, or a longer retention"),)
    elif bound.window is None and not counted:
        if bound.strategy == "any" or bound.measures:
            raise CepAnalysisError(
                "without WITHIN every event of the stream stays of use for ever",
                code="STREAM_WITHIN",
                span=clause.site.keyword,
                hint="write WITHIN INTERVAL 1 HOUR, or SET sparkcep.stream.retention = 1 hour",
            )
        kept = "without WITHIN a match that has begun stays open, with its rows, until an event completes or ends it"
        notices += (Notice(kept, clause.site.keyword, "WITHIN bounds that"),)
    decided_at_end = bound.matches == "all" and not events.looks_ahead(bound.pattern)
    delay = _watermarked(clause.order_by[0], bound.relation).metadata[WATERMARK] if decided_at_end else None
    return replace(streamed, notices=notices, retention=retention, delay=delay)


def bind_automaton_stream(
    clause: MatchAutomatonClause, bound: BoundAutomaton, source: Source, *, keep_null_time: bool
) -> Streamed:
    """MATCH AUTOMATON over a stream. Raises CepAnalysisError and CepUnsupportedError with spans."""
    streamed = _streamed(clause, bound, source, keep_null_time)
    notices = streamed.notices
    if bound.window is None:
        kept = "without WITHIN a run stays open until no arc takes it further"
        notices += (Notice(kept, clause.site.keyword, "WITHIN bounds that"),)
    at_end = all(arc.kind != "window_end" for arc in bound.arcs)
    delay = _watermarked(clause.order_by[0], bound.relation).metadata[WATERMARK] if at_end else None
    return replace(streamed, delay=delay, notices=notices)


def _streamed(
    clause: Clause,
    bound: BoundRowPattern | BoundEventPattern | BoundAutomaton,
    source: Source,
    keep_null_time: bool,
) -> Streamed:
    """What every clause has: event time, identity and the further ORDER BY items, of types that a turn can compare."""
    items, relation = clause.order_by, bound.relation
    if not items or items[0].descending:
        raise _no_event_time("ORDER BY", items[0].span if items else clause.site.keyword, relation)
    time = _micros(_watermarked(items[0], relation), keep_null_time)
    rest = [(source.text(item.expr.span), item.expr.span) for item in items[1:]]
    for (_, span), data_type in zip(rest, relation.types_of(rest), strict=True):
        _check_type(data_type, "ORDER BY", span)
    for key in bound.keys:
        _check_type(key.data_type, "PARTITION BY", key.span)
    order = [(text, sorting(f"__cep_o{i}", direction)) for i, (text, direction) in enumerate(bound.order[1:], 1)]
    revised = bind_revisions(clause, bound.keys, relation)
    notices: tuple[Notice, ...] = () if revised is None else (revised.notice,)
    sequence = bind_sequence(clause, tuple(column for _, column in order), relation)
    if sequence is not None:
        notices += (_kept_numbers(clause),)
    words = _words(clause, source.sql)
    return Streamed(words, time, identity(relation), tuple(order), notices, revised=revised, sequence=sequence)


def _words(clause: Clause, sql: str) -> str:
    """The clause without its hints and comments, however it is spaced, and its names are spelt. Values of parameters are not part of it."""
    return " ".join([clause.site.kind, *(_word(token, sql) for token in tokenize(sql).inside(clause.site.body))])


def _word(token: Token, sql: str) -> str:
    if not token.is_name:
        return sql[token.span.start : token.span.end]
    return token.text.upper() if re.fullmatch(r"\w+", token.text) else f"`{token.text.upper()}`"


def _kept_numbers(clause: Clause) -> Notice:
    assert clause.sequence is not None
    hint = "leave it out where partitions come and go: the watermark decides then"
    return Notice("SEQUENCE NUMBER keeps the last number of every partition for ever", clause.sequence.span, hint)


def _watermarked(item: OrderItem, relation: Relation) -> StructField:
    """The event time: a plain column with a watermark."""
    column = plain_column(item.expr.node, relation)
    if column is None or WATERMARK not in (relation.schema[column].metadata or {}):
        raise _no_event_time("ORDER BY", item.expr.span, relation)
    return relation.schema[column]


def _no_event_time(what: str, span: Span, relation: Relation) -> CepAnalysisError:
    known = next((f.name for f in relation.schema if WATERMARK in (f.metadata or {})), None)
    hint = f"ORDER BY {known}" if known else "FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS … ORDER BY ts"
    return CepAnalysisError(
        f"{what} of a clause over a stream begins with the column that its watermark follows, ascending",
        code="STREAM_WATERMARK",
        span=span,
        hint=hint,
    )


def _micros(field: StructField, keep_null_time: bool) -> str:
    name = quoted(field.name)
    micros = local_micros(name) if isinstance(field.dataType, TimestampNTZType) else f"UNIX_MICROS({name})"
    if not keep_null_time:
        return micros
    message = (
        f"[CEP_DATA_NULL_EVENT_TIME] {field.name} is NULL; filter such events, or set sparkcep.nullEventTime to drop"
    )
    return f"CASE WHEN {name} IS NULL THEN CAST(RAISE_ERROR({string(message)}) AS BIGINT) ELSE {micros} END"


def _check_type(data_type: DataType, what: str, span: Span) -> None:
    """Values that the engine compares as Spark does."""
    plain = isinstance(data_type, _ATOMIC)
    if not plain or (isinstance(data_type, StringType) and not data_type.isUTF8BinaryCollation()):
        raise CepUnsupportedError(
            f"{what} a {data_type.simpleString()} over a stream",
            code="STREAM",
            span=span,
            hint="cast it to a string or a number in a subquery",
        )


def _refuse_undecided(clause: MatchRecognizeClause) -> None:
    """What only a partition's end, or rows yet to come, could tell."""
    for node in pattern.walk(clause.pattern):
        if isinstance(node, pattern.PartitionStart | pattern.PartitionEnd):
            raise no_stream(str(node), node.span or clause.pattern_span)
    if clause.initial is not None:
        raise no_stream("INITIAL", clause.initial)
    for navigation in _navigations(clause):
        if navigation.function == "NEXT":
            raise no_stream("NEXT", span_of(navigation))
    for window in (part for expr in clause.expressions for part in expr.node.find_all(exp.Window)):
        raise no_stream("a window function", span_of(window))


def _navigations(clause: MatchRecognizeClause) -> Iterator[Navigation]:
    for expr in clause.expressions:
        yield from expr.node.find_all(Navigation)


def _kept_for_ever(clause: MatchRecognizeClause) -> Iterator[Notice]:
    previous = next((one for one in _navigations(clause) if one.function == "PREV"), None)
    if previous is not None:
        yield Notice(
            "PREV may look at rows before the match: the last rows of every partition are kept for ever",
            span_of(previous),
            "compare with LAST(…, 1) within the match where that is meant",
        )
    number = next((one for expr in clause.expressions for one in expr.node.find_all(MatchNumber)), None)
    if number is not None:
        yield Notice(
            "MATCH_NUMBER() keeps a number for every partition for ever",
            span_of(number),
            "match_id identifies a match without",
        )


def _kept_measures(clause: MatchPatternClause) -> Iterator[Notice]:
    if clause.measures and clause.emit_changes is None:
        yield Notice(
            "MEASURES keeps the values of every group for ever",
            clause.measures[0].expr.span,
            "EMIT CHANGES keeps groups only while matches are alive",
        )
