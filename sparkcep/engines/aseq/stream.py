"""A-Seq on a stream: aggregates over the matches that a turn decides, from the rows whose windows are open.

A match is known when its last event is final; where a negated event may lie behind it, when the window of its first event has closed. Either the
aggregates so far are emitted when they change (MEASURES), or those over the matches alive at each event time (EMIT CHANGES). Without WITHIN no row is
kept, but counters.
"""

from __future__ import annotations

from functools import partial

from sparkcep.engines.aseq import running_totals, stream_changes, stream_counters, stream_totals
from sparkcep.engines.aseq.plan import plan
from sparkcep.engines.event_pattern.stream import check
from sparkcep.engines.turn import Decide
from sparkcep.errors import CepInternalError
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.stream import StreamSpec


def compile(spec: StreamSpec, *, alone: bool = False) -> Decide:
    """What decides the turns of ``spec``; ``alone`` (of totals): without those of the turns before. Raises CepUnsupportedError, by name, for clauses
    whose windows never close, for a least or greatest value that a turn cannot tell, and what ``plan.plan`` raises."""
    clause = spec.of
    if not isinstance(clause, AggregateSpec):
        raise CepInternalError("a clause whose matches are not only aggregated, on A-Seq")
    if clause.within is not None or clause.emit is not None:
        check(spec, clause)
    if clause.emit is not None:
        return partial(stream_changes.decide, stream_changes.compile(clause))
    turns = _turns(clause, spec.keys)
    return turns if alone else partial(running_totals.decide, clause, turns)


def _turns(clause: AggregateSpec, keys: tuple[str, ...]) -> Decide:
    if clause.within is None:
        return partial(stream_counters.decide, stream_counters.compile(plan(clause), keys))
    return partial(stream_totals.decide, stream_totals.compile(plan(clause)))
