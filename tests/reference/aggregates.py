"""Aggregates over matches (A-Seq sections 2 and 5, the project's semantics page) by listing the matches.

In: a ``Query``, events, ``(function, variable, attribute)``. Out: one value, or with EMIT CHANGES the values over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.reference.events import Event, Match, Query, match_events
from tests.reference.row_output import reduce_values

Aggregate = tuple[str, str | None, str | None]
"""("count", None, None) is COUNT(*); otherwise function, variable and attribute."""


def aggregate(matches: Sequence[Match], events: Sequence[Event], wanted: Aggregate) -> Any:
    """One contribution per match; for a Kleene variable one per element of the closure and match. NULLs are skipped."""
    function, variable, attribute = wanted
    if variable is None:
        return len(matches)
    values = [events[event].get(attribute) for match in matches for event in _taken(match, variable)]
    return reduce_values(function, [value for value in values if value is not None])


def changes(query: Query, events: Sequence[Event], wanted: Aggregate) -> list[tuple[Any, Any]]:
    """EMIT CHANGES on one partition: (emit_time, value) where the value over the matches alive changes."""
    matches = sorted(match_events(replace(query, partition=()), events), key=repr)
    before = aggregate([], events, wanted)
    found = []
    for now in sorted({event[query.order[0]] for event in events}):
        alive = [match for match in matches if _alive(match, events, query, now)]
        value = aggregate(alive, events, wanted)
        if value != before:
            found.append((now, value))
        before = value
    return found


def _alive(match: Match, events: Sequence[Event], query: Query, now: Any) -> bool:
    times = [events[event][query.order[0]] for variable, _ in match for event in _taken(match, variable)]
    return max(times) <= now and (query.within is None or min(times) > now - query.within)


def _taken(match: Match, variable: str) -> tuple[int, ...]:
    value = dict(match)[variable]
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)
