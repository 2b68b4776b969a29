"""What EXPLAIN PATTERN says of a clause over a stream: what its state keeps, for how long, and when a match is emitted."""

from __future__ import annotations

from collections.abc import Iterator

from rewrites import RewrittenClause
from sparkcep.pattern.event import looks_ahead
from sparkcep.spec import AggregateSpec, AutomatonSpec, EventPatternSpec, RowPatternSpec, StreamSpec
from sparkcep.spec.row import MatchNumber, most_behind, sources

_LATE = {
    "drop": "counted and dropped (sparkcep.stream.lateRows)",
    "fail": "an error",
    "keep": "handed through as _change_type late, in the column _late",
}


def stream_lines(part: RewrittenClause) -> Iterator[str]:
    """The lines; none for a clause over a table."""
    spec = part.stream
    if spec is None:
        return
    match spec.of:
        case RowPatternSpec():
            yield from _rows(spec.of, spec)
        case EventPatternSpec():
            yield from _events(spec.of, spec)
        case AutomatonSpec():
            yield from _runs(spec.of, spec)
        case AggregateSpec():
            yield from _aggregates(spec.of, spec)
    if spec.followed is not None:
        yield f"follows the pattern {spec.followed.pattern}: what ALTER PATTERN makes of it holds from the next micro-batch on"
    if spec.sigma != 0:
        beyond = "" if spec.sigma is None else f" that are less than {spec.sigma / 1e6:g} seconds beyond the watermark"
        yield f"speculative: events{beyond} count at once; what a later one proves wrong is taken back (_change_type delete)"
    if spec.revisions is not None:
        known = "EVENT KEY, partition and time" if spec.revisions.keyed else "its whole row"
        newest = "; its newest version is that of the greatest _commit_version" if spec.revisions.versioned else ""
        yield f"rows are changes (_change_type): an event is known by {known}{newest}; the watermark makes it final"
    if spec.sequence is not None:
        yield "an event is final once no sequence number before its own is missing, at the latest when the watermark has passed it"
        yield "never dropped: the last sequence number of every partition"
    yield f"rows later than the watermark: {_LATE[spec.late_rows]}"


def _rows(of: RowPatternSpec, spec: StreamSpec) -> Iterator[str]:
    yield "keeps the rows from the first start of a match on that is undecided, and those that the watermark has not passed"
    yield "a match is emitted when the watermark has passed its last row, and the rows that decide that it ends there"
    if spec.deadline is not None:
        yield "a start is decided at the latest when the watermark has passed its time + WITHIN"
    else:
        yield "without WITHIN a start stays until rows decide it"
    behind = most_behind(of)
    if behind:
        yield f"never dropped: the last {'row' if behind == 1 else f'{behind} rows'} of every partition, for PREV"
    if any(isinstance(one, MatchNumber) for one in sources(of)):
        yield "never dropped: the number of matches of every partition, for MATCH_NUMBER()"


def _aggregates(of: AggregateSpec, spec: StreamSpec) -> Iterator[str]:
    ahead = any(looks_ahead(one.pattern) for one in of.patterns) if of.patterns else looks_ahead(of.pattern)
    also = " + WITHIN" if ahead else ""
    kept = (
        "events until their windows have closed"
        if of.within is not None
        else "counters of the pattern's prefixes, no events"
    )
    yield f"keeps {kept}; no match is built"
    if of.emit is None:
        known = "the window in which NOT forbids events behind it" if ahead else "its last event"
        yield "never dropped: the values of every group"
        yield f"a group has a row when its values change: a match counts once the watermark has passed {known}"
        return
    yield "a group in which matches are alive at its last event keeps that window until its next one"
    yield f"a row is emitted when the watermark passes emit_time{also}"
    yield from _followed(spec)


def _runs(of: AutomatonSpec, spec: StreamSpec) -> Iterator[str]:
    if any(arc.kind == "window_end" for arc in of.arcs):
        yield "keeps rows from the first one on whose window is open; the runs are made again in every turn"
        yield "a match is emitted when the watermark passes its first row's time + WITHIN: ON WINDOW END may still add one"
    else:
        yield "keeps runs that are open, in a state that an arc leaves: first row, state and registers"
        yield "a match is emitted when the watermark passes its last row"
    yield from _followed(spec)


def _followed(spec: StreamSpec) -> Iterator[str]:
    if spec.event_time is not None:
        yield f"{spec.event_time[0]} has a watermark: windowed aggregates and other clauses may stand behind"


def _events(of: EventPatternSpec, spec: StreamSpec) -> Iterator[str]:
    if of.within is None:
        yield "keeps matches that have begun, each with its rows, until an event completes or ends it"
    else:
        yield "keeps events until their windows have closed: what lies further back than WITHIN goes as the watermark moves"
    also = ", and the window behind in which NOT forbids events" if looks_ahead(of.pattern) else ""
    yield f"a match is emitted when the watermark passes its last event{also}"
    yield from _followed(spec)
