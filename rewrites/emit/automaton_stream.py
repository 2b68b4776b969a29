"""BoundAutomaton over a stream → SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql.types import DataType, LongType
from sqlglot import exp

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.stream import IDENTITY, Streamed
from rewrites.bind.within import TIME
from rewrites.emit.automaton import events, outputs_of, read, results
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
from rewrites.sql.builder import quoted, raw, select, string, text_of
from rewrites.sql.hashing import Value, hashed
from sparkcep.spec.automaton import AutomatonSpec, FinalState, Output, RegisterValue
from sparkcep.spec.event import FirstEvent, LastEvent

_FIRST, _LAST = "__cep_i0", "__cep_i1"
_IDENTITIES = (Output(_FIRST, FirstEvent(IDENTITY)), Output(_LAST, LastEvent(IDENTITY)))
_KNOWN_BY = FinalState | RegisterValue
"""A match is known by its first and its last row, its state and its registers."""


def automaton_stream(
    bound: BoundAutomaton,
    spec: AutomatonSpec,
    streamed: Streamed,
    settings: StreamSettings,
    *,
    keep_null_time: bool,
    follows: Follows | None = None,
) -> Emitted:
    """The clause over a stream. A deadline that the engine adds is one of the time by which turns are cut."""
    within = spec.within
    timed = within is not None and within.deadline is not None
    below = added_below(streamed, bound.relation, settings, timed=timed)
    if within is not None and not timed:
        within = replace(within, time=TIME)
    of = replace(spec, schema="", outputs=(*spec.outputs, *_IDENTITIES), within=within)
    rows = select([*read(bound, of), *(raw(quoted(name)) for name in of.masks)], events(bound, keep_null_time, below))
    query = bound.relation.alone(text_of(with_turn_columns(rows, streamed, spec.partition, settings)))
    columns = [(output.name, data_type) for output, data_type in outputs_of(bound)]
    columns += [(output.name, LongType()) for output in _IDENTITIES]
    stream = stream_spec(of, spec.partition, streamed, bound.relation, settings, columns, event_time="match_end")
    if follows is not None:
        buckets = settings.buckets if spec.partition else 1
        stream = following(stream, follows, "MATCH AUTOMATON", lasting(of), query, buckets, tuple(bound.register_types))
    row = f"CAST({_matched(of, dict(columns)) if follows is None else _matched_for_ever(of)} AS STRING)"
    last = last_columns(known_by(streamed, follows, lasting(spec)), [row], settings)
    result = exp.select(*results(bound, late_rows=settings.late_rows == "keep"), *last).from_(
        stream_call(stream, query, columns, settings, bound.relation)
    )
    return Emitted(stream, result)


def lasting(spec: AutomatonSpec) -> AutomatonSpec:
    """What a clause that follows a pattern has in common with all its versions."""
    return replace(spec, states=spec.states[:1], finals=(), arcs=(), registers=(), outputs=(), schema="", text="")


def _matched(spec: AutomatonSpec, types: Mapping[str, DataType]) -> str:
    """SQL of the hash of a match."""
    own = {one.name: isinstance(one.source, RegisterValue) for one in spec.outputs if isinstance(one.source, _KNOWN_BY)}
    may_be_null = {_FIRST: False, _LAST: False} | own
    return hashed(Value(quoted(name), types[name], nullable) for name, nullable in may_be_null.items())


def _matched_for_ever(spec: AutomatonSpec) -> str:
    """The same, whatever registers other versions have: one that has its default adds nothing."""
    names = [_FIRST, _LAST, *(output.name for output in spec.outputs if isinstance(output.source, FinalState))]
    hashes = [f"XXHASH64({', '.join(map(quoted, names))})"]
    for register in spec.registers:
        name = quoted(register.name)
        value = None if register.default is None else register.default.value
        default = "NULL" if value is None else string(str(value))
        hashes.append(
            f"CASE WHEN {name} <=> CAST({default} AS {register.type}) THEN 0L ELSE XXHASH64({string(register.name)}, {name}) END"
        )
    return " ^ ".join(hashes)
