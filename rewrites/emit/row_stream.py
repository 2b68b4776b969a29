"""BoundRowPattern over a stream → SQL."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import DataType, LongType
from sqlglot import exp

from rewrites.bind.row_pattern import BoundRowPattern, boolean_conditions
from rewrites.bind.stream import IDENTITY, Streamed
from rewrites.emit.projected import projected, sent, whole_rows
from rewrites.emit.row_pattern import engine_input, input_rows, outputs_of, results, row_pattern_spec
from rewrites.emit.stream import (
    Emitted,
    added_below,
    following,
    known_by,
    last_columns,
    stream_call,
    stream_spec,
    with_turn_columns,
)
from rewrites.settings import Follows, StreamSettings
from rewrites.sql.builder import filtered, named, quoted, subquery, text_of
from sparkcep.pattern.row import Empty
from sparkcep.spec.projection import ProjectedSpec
from sparkcep.spec.row import ColumnAt, CurrentRow, Navigation, Output, RowPatternSpec

_FIRST, _LAST, _CURRENT = "__cep_i0", "__cep_i1", "__cep_i2"
_IDENTITIES = (
    Output(_FIRST, ColumnAt(IDENTITY, Navigation(last=False))),
    Output(_LAST, ColumnAt(IDENTITY, Navigation())),
    Output(_CURRENT, CurrentRow(IDENTITY)),
)
"""A match is known by its first and its last row (from a row there is one match at most), an empty one and a row outside by that row."""


def row_pattern_stream(
    bound: BoundRowPattern,
    spec: RowPatternSpec,
    streamed: Streamed,
    settings: StreamSettings,
    follows: Follows | None = None,
    *,
    keep_null_time: bool,
) -> Emitted:
    """The clause over a stream. ``keep_null_time``: a NULL event time is an error; otherwise such rows are dropped."""
    timed = [] if keep_null_time else [f"({streamed.time}) IS NOT NULL"]
    below = [named(text, column.column) for text, column in streamed.order]
    below += added_below(streamed, bound.relation, settings, timed=False)
    rows = filtered(input_rows(bound, below), timed)
    boolean_conditions(bound, lambda bound: text_of(subquery(input_rows(bound, below))))
    of = _with_identities(spec)
    if follows is None:
        rows = with_turn_columns(engine_input(bound, of, rows), streamed, spec.partition, settings)
        query = bound.relation.alone(text_of(rows))
    else:
        query = whole_rows(bound, streamed, spec, settings, spec.partition, spec.partition, timed)
    columns = _columns(bound)
    stream = stream_spec(of, spec.partition, streamed, bound.relation, settings, columns, _deadline(bound))
    if follows is not None:
        stream = following(
            stream, follows, "MATCH_RECOGNIZE", lasting(of), query, settings.buckets if spec.partition else 1
        )
    identities = [f"COALESCE({quoted(_FIRST)}, {quoted(_CURRENT)})", f"COALESCE(CAST({quoted(_LAST)} AS STRING), '')"]
    last = last_columns(known_by(streamed, follows, lasting(spec)), identities, settings)
    result = exp.select(*results(bound), *last).from_(stream_call(stream, query, columns, settings, bound.relation))
    return Emitted(stream, result)


def row_version(bound: BoundRowPattern, streamed: Streamed) -> ProjectedSpec:
    """A version of a clause whose rows are sent whole, ``bound`` over the stand-in for these. Raises CepError."""
    of = _with_identities(row_pattern_spec(bound))
    rows = input_rows(bound, [])
    boolean_conditions(bound, lambda bound: text_of(subquery(input_rows(bound, []))))
    query = engine_input(bound, of, rows)
    has = sent(bound, of.partition, (column.column for _, column in streamed.order))
    return projected(of, query, bound.relation, has, sparse=False, deadline=_deadline(bound))


def _deadline(bound: BoundRowPattern) -> str | None:
    """The column with the deadline of a match that begins at the row."""
    return None if bound.within is None else bound.within.deadline


def lasting(spec: RowPatternSpec) -> RowPatternSpec:
    """What a clause that follows a pattern has in common with all its versions."""
    return RowPatternSpec((), Empty(), (), (), "", spec.rows_per_match, partition=spec.partition)


def _with_identities(spec: RowPatternSpec) -> RowPatternSpec:
    return replace(spec, schema="", outputs=(*spec.outputs, *_IDENTITIES))


def _columns(bound: BoundRowPattern) -> list[tuple[str, DataType]]:
    own = [(output.name, data_type) for output, data_type in outputs_of(bound)]
    return [*own, *((output.name, LongType()) for output in _IDENTITIES)]
