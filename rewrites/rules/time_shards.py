"""time_shards: runs a pattern WITHIN a time in many tasks, even if nothing partitions its events.

The timeline is cut into shards of equal length, at least W long. A match spans less than W, so a shard extended by the events of the first W after
its end contains every match whose first event lies in it. It keeps exactly those; each match has one first event (events that tie for it have the
same time), so each match is kept once. A leading negation looks back by W: then a shard also gets the events of the last W before it.

If the first event always belongs to the same variable (SEQ(A a, …)), events of other shards are not offered to that variable, so no foreign match is
ever built. Otherwise (AND, a leading closure) foreign matches are built, and dropped by the flag ``own`` of their first event.

The shard length does not affect the answer. If the input is cheap to read twice (a Parquet file, say), the statement itself measures, when it runs,
the span of the timeline and the number of its events: long shards duplicate few events, short ones feed many tasks. Otherwise a shard is ``WINDOWS``
windows long.

Where nothing but the time orders the events, a task reads its shards as one line in the order of time: they are apart, as tasks get shards in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import (
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    YearMonthIntervalType,
)

from rewrites.bind.event_pattern import BoundEventPattern, events_of
from rewrites.settings import Evaluation
from rewrites.sql.instants import DAY, interval_micros
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern.event import And, Element, EventItem, Not, Or, Seq, elements

NAME = "time_shards"

SWITCHED_OFF = f"{NAME} is switched off"

WINDOWS = 4
"""Windows per shard: one event in four is sent to two shards, and a timeline of eight windows feeds two tasks."""

SHARDS_TO_A_TASK = 2
"""Shards per task, so that a busy stretch of the timeline does not fall on a single task."""

MOST_EVENTS = 1_000_000
"""The approximate number of events of a shard: a task holds one shard in memory."""

TASK_BYTES = 64 << 20
"""The approximate input of a task, if Spark knows the input's size: more than two tasks per core only if each gets more than this."""

MEASURED_BYTES = 32 << 20
"""The input size from which it pays to measure the timeline first: this takes a separate job, about as expensive as a small query."""

LONGEST = 1_000_000_000_000_000_000
"""Windows longer than this get one shard each: four of them would overflow BIGINT."""

MONTH_SLACK = 4 * DAY
"""Microseconds by which n months may be longer than the n months from 1 January 1970 on (leap years, clock changes)."""


@dataclass(frozen=True, slots=True)
class Shards:
    """How the timeline is cut. ``length`` and ``window`` are constant SQL in the units of the clause's time, BIGINT or DOUBLE (``whole``). ``window``
    is at least W. ``back``: shards also get the events before them. ``leaders``: positions in the clause's variables of those that take the first
    event of every match they are in; None if that is not known. ``text``: the length, for EXPLAIN. ``tasks``: how many to distribute the shards over
    (None: Spark's shuffle default). ``measured``: the length is a subquery.
    """

    length: str
    window: str
    whole: bool
    back: bool
    leaders: tuple[int, ...] | None
    text: str
    tasks: int | None = None
    measured: bool = False
    line: bool = False
    """Each task reads its shards as one line, which the worker sorts by time: shards of a task are a window apart, so no match spans two."""


@dataclass(frozen=True, slots=True)
class _Room:
    """``cores``: the tasks that run concurrently. ``tasks``: how many to make. ``twice``: the input is large, and cheap to read twice."""

    cores: int
    tasks: int
    twice: bool


class _NotCut(Exception):
    """The timeline is not cut; the message says why."""


def time_shards(bound: BoundEventPattern, evaluation: Evaluation, *, place: Span) -> Shards | str:
    """How to cut the clause's timeline; or why it is not cut (empty: it is already partitioned)."""
    if evaluation.sharding == "auto" and (bound.keys or bound.equivalences or bound.inferred):
        return ""
    try:
        return _shards(bound, evaluation, place)
    except _NotCut as reason:
        return str(reason)


def _shards(bound: BoundEventPattern, evaluation: Evaluation, place: Span) -> Shards:
    if evaluation.sharding == "off":
        raise _NotCut("sparkcep.sharding is off")
    if bound.window is None:
        raise _NotCut("without WITHIN a match may span the whole time line")
    if bound.window.events is not None:
        raise _NotCut("WITHIN a number of events counts along the whole line")
    if bound.strategy != "any" or bound.matches != "all":
        raise _NotCut("only ALL MATCHES under SKIP TILL ANY MATCH are independent of what lies further back")
    amount = bound.window.amount
    window = _constant(bound, bound.window.length, bound.window.length_type) if amount is None else f"{amount}L"
    if window is None:
        raise _NotCut("WITHIN is not the same length for all events")
    whole = not _is_double(bound)
    room = _room(bound) if evaluation.repartition else None
    tasks = None if room is None or bound.keys or bound.equivalences or bound.inferred else room.tasks
    back = _looks_back(bound.pattern)
    line = tasks is not None and tasks > 1 and _is_line(bound)
    least = _least(window, whole, 1 if not line else 3 if back else 2)
    twice = room if evaluation.shard_length is None and room is not None and room.twice else None
    if twice is not None:
        length, text = _measured_length(bound, window, whole, twice, least)
    else:
        length, text = _length(bound, window, whole, evaluation.shard_length, place, least)
    leaders = _leaders(bound.pattern)
    return Shards(
        length=length,
        window=window,
        whole=whole,
        back=back,
        leaders=None if leaders is None else tuple(sorted(bound.variables.index(name) for name in leaders)),
        text=text,
        tasks=tasks,
        measured=twice is not None,
        line=line,
    )


def _is_line(bound: BoundEventPattern) -> bool:
    """Whether the events' times, BIGINTs to which the same W is added, are all that orders them."""
    assert bound.window is not None
    amount = bound.window.amount
    return amount is not None and amount < LONGEST and len(bound.order) == 1


def _least(window: str, whole: bool, windows: int) -> tuple[str, str]:
    """The shortest shard, as SQL and for EXPLAIN. In a line the shards of a task, with the events that others lend them, are a window apart: they
    are two windows long, or three if they also get the events before them. In DOUBLE two windows: see ``emit.shards``.
    """
    if not whole:
        return f"2D * {window}", "WITHIN"
    return (window, "WITHIN") if windows == 1 else (f"{windows}L * ({window})", f"{windows} × WITHIN")


def _room(bound: BoundEventPattern) -> _Room | None:
    """What Spark knows of its cores and of the input; None if it cannot be asked (Spark Connect)."""
    assert bound.window is not None
    if bound.relation.resources is None:
        return None
    found = bound.relation.resources(*bound.relation.columns_of([bound.time]))
    many = found.size // TASK_BYTES if found.size is not None else 0
    tasks = max(min(max(2 * found.cores, many), found.shuffle_partitions), 1)
    twice = found.cheap and found.size is not None and found.size >= MEASURED_BYTES
    return _Room(found.cores, 1 if found.cores == 1 and many <= 1 else tasks, twice)


def _measured_length(
    bound: BoundEventPattern, window: str, whole: bool, room: _Room, least: tuple[str, str]
) -> tuple[str, str]:
    """The length computed, in the statement itself, from the span of the timeline and the number of its events.

    ``SHARDS_TO_A_TASK`` shards per task, more if these would have too many events; at least ``WINDOWS`` windows, unless that feeds fewer tasks than
    there are cores; ``least`` at least. GREATEST and LEAST skip NULL: without any times, or with times too far apart for BIGINT, a
    shard is ``WINDOWS`` windows.
    """
    assert bound.window is not None
    static, _ = _length(bound, window, whole, None, Span(0, 0), least)
    shards = SHARDS_TO_A_TASK * room.tasks if room.tasks > 1 else 1
    count = f"GREATEST({shards}L, COUNT(*) DIV {MOST_EVENTS}L)"
    span = f"TRY_SUBTRACT(MAX({bound.window.time}), MIN({bound.window.time}))"
    divided, more = ("DIV", " + 1L") if whole else ("/", "")
    chosen = (
        f"GREATEST({least[0]}, LEAST({static}, {span} {divided} {room.cores}L{more}), {span} {divided} {count}{more})"
    )
    text = f"1/{shards} of the time line (or {WINDOWS} × WITHIN, where that feeds {room.cores} cores; or {least[1]})"
    return f"({events_of(bound, chosen)})", text


def _is_double(bound: BoundEventPattern) -> bool:
    """Whether time is compared as DOUBLE: fractions on either side of ``time + W``."""
    assert bound.window is not None
    fractions = FloatType | DoubleType | DecimalType
    return isinstance(bound.time_type, fractions) or isinstance(bound.window.length_type, fractions)


def _constant(bound: BoundEventPattern, length: str, length_type: DataType | None) -> str | None:
    """An upper bound of ``length`` in the units of the clause's time; None if it is not constant or depends on Spark's calendar."""
    try:
        bound.relation.types_of([(length, Span(0, 0))], "(SELECT 1)")
    except CepAnalysisError:
        return None
    if "select" in length.lower():
        return None
    if isinstance(length_type, DayTimeIntervalType):
        return interval_micros(length)
    if isinstance(length_type, YearMonthIntervalType):
        return f"UNIX_MICROS(TIMESTAMP_SECONDS(0) + {length}) + {MONTH_SLACK}L"
    if isinstance(length_type, IntegralType | FloatType | DoubleType | DecimalType):
        return f"CAST({length} AS {'DOUBLE' if _is_double(bound) else 'BIGINT'})"
    return None


def _length(
    bound: BoundEventPattern, window: str, whole: bool, wanted: str | None, place: Span, least: tuple[str, str]
) -> tuple[str, str]:
    """The length of shards as SQL and for EXPLAIN."""
    if wanted is None:
        text = f"{WINDOWS} × WITHIN"
        if not whole:
            return f"{WINDOWS}D * {window}", text
        amount = bound.window.amount if bound.window is not None else None
        if amount is not None:
            return f"{WINDOWS * amount if amount < LONGEST else amount}L", text
        return f"CASE WHEN {window} < {LONGEST}L THEN {WINDOWS}L * ({window}) ELSE {window} END", text
    own = _wanted(bound, wanted, place)
    return f"GREATEST({own}, {least[0]})", f"{wanted}, at least {least[1]}"


def _wanted(bound: BoundEventPattern, wanted: str, place: Span) -> str:
    """sparkcep.shardLength in the units of the clause's time."""
    assert bound.window is not None
    numbers = IntegralType | FloatType | DoubleType | DecimalType
    try:
        kind = bound.relation.types_of([(f"({wanted})", place)], "(SELECT 1)")[0]
    except CepAnalysisError:
        kind = None
    found = None
    if kind is not None and isinstance(kind, numbers) == isinstance(bound.window.length_type, numbers):
        found = _constant(bound, f"({wanted})", kind)
    if found is None:
        is_number = isinstance(bound.window.length_type, numbers)
        raise CepAnalysisError(
            f"sparkcep.shardLength is {wanted}, which is no length of the time line of this pattern",
            code="SETTING",
            span=place,
            hint=f"set it to auto, or to a constant such as {'1000' if is_number else '1 DAY'}",
        )
    return found


def _leaders(item: EventItem) -> frozenset[str] | None:
    """The variables that take the first event of every match they are in; None if another variable may."""
    if isinstance(item, Element):
        return frozenset([item.variable]) if not item.kleene and item.low else None
    if isinstance(item, Or):
        parts = [_leaders(part) for part in item.items]
        known = [part for part in parts if part is not None]
        return frozenset().union(*known) if len(known) == len(parts) else None
    if isinstance(item, And | Seq):
        positive = [part for part in item.items if not isinstance(part, Not)]
        if positive and (isinstance(item, Seq) or len(positive) == 1):
            return _leaders(positive[0])
    return None


def _looks_back(item: EventItem, first: bool = True) -> bool:
    """Whether a negation precedes the first event of a match, or may (in AND)."""
    if isinstance(item, Not):
        return first
    if isinstance(item, Seq):
        taken = False
        for part in item.items:
            if _looks_back(part, first and not taken):
                return True
            taken = taken or (not isinstance(part, Not) and _always_takes(part))
        return False
    if isinstance(item, And | Or):
        return any(_looks_back(part, first) for part in item.items)
    return False


def _always_takes(item: EventItem) -> bool:
    """Whether every match of the item takes at least one event."""
    found = elements(item, negated=False)
    return bool(found) and all(element.low for element in found) and not _has_bare_alternative(item)


def _has_bare_alternative(item: EventItem) -> bool:
    """Whether an OR has an alternative of negated items only."""
    if isinstance(item, Or) and any(isinstance(part, Not) or not elements(part, negated=False) for part in item.items):
        return True
    return isinstance(item, And | Or | Seq) and any(_has_bare_alternative(part) for part in item.items)
