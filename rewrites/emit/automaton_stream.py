"""BoundAutomaton over a stream → SQL."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import LongType
from sqlglot import exp

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.stream import IDENTITY, Streamed
from rewrites.bind.within import TIME
from rewrites.emit.automaton import events, outputs_of, read, results
from rewrites.emit.stream import Emitted, added_below, last_columns, stream_call, stream_spec, with_turn_columns
from rewrites.settings import StreamSettings
from rewrites.sql.builder import quoted, raw, select, text_of
from rewrites.sql.hashing import Value, hashed
from sparkcep.spec.automaton import AutomatonSpec, FinalState, Output, RegisterValue
from sparkcep.spec.event import FirstEvent, LastEvent

_FIRST, _LAST = "__cep_i0", "__cep_i1"
_IDENTITIES = (Output(_FIRST, FirstEvent(IDENTITY)), Output(_LAST, LastEvent(IDENTITY)))
_KNOWN_BY = FinalState | RegisterValue
"""A match is known by its first and its last row, its state and its registers."""


def automaton_stream(
    bound: BoundAutomaton, spec: AutomatonSpec, streamed: Streamed, settings: StreamSettings, *, keep_null_time: bool
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
    own = {one.name: isinstance(one.source, RegisterValue) for one in spec.outputs if isinstance(one.source, _KNOWN_BY)}
    types, may_be_null = dict(columns), {_FIRST: False, _LAST: False} | own
    values = (Value(quoted(name), types[name], nullable) for name, nullable in may_be_null.items())
    identity = f"CAST({hashed(values)} AS STRING)"
    last = last_columns(spec, [identity], settings)
    result = exp.select(*results(bound), *last).from_(stream_call(stream, query, columns, settings))
    return Emitted(stream, f"({text_of(result)})")
