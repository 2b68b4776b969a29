"""EventPatternSpec: a MATCH PATTERN clause as an engine reads it.

Engine input: events of whole partitions, partition after partition, each in ORDER BY order. Bit 0 of the first mask column is set on
the first row of a partition; bit ``1 + i`` of the masks (62 bits each, BIGINT) says that the event has a type of ``variables[i]`` and
satisfies its local predicates. Under the contiguity strategies, the bit after those of the variables says that the event is not adjacent to the
previous row: in the partition, or under strict contiguity in the whole input.
``rank`` (INT or BIGINT) is one more than the number of events strictly earlier in the partition:
concurrent events share it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from sparkcep.errors import Span
from sparkcep.pattern.event import EventPattern, elements
from sparkcep.spec.expression import Constant, Expression, restricted, variables

Strategy = Literal["any", "next", "partition_contiguity", "strict_contiguity"]
MatchOutput = Literal["all", "non_overlapping", "compressed"]
Engine = Literal["auto", "chain", "tree", "eager", "stack", "basic", "backtrack"]
"""``chain``: the lazy Chain NFA, rarest variable first; ``tree``: the order chosen anew for each block of time; ``eager``: variables in pattern
order, as events arrive; ``stack``: SASE's active instance stacks, scanned forwards and constructed backwards; ``auto``: the order of least expected
cost. All find the same matches.

Under the other strategies: ``basic``: every run separately; ``backtrack``: one run at a time; ``auto``: equivalent runs merged."""

STRATEGIES: dict[Strategy, str] = {
    "any": "SKIP TILL ANY MATCH",
    "next": "SKIP TILL NEXT MATCH",
    "partition_contiguity": "PARTITION CONTIGUITY",
    "strict_contiguity": "STRICT CONTIGUITY",
}
"""As a clause names them."""

_RUNS: tuple[Engine, ...] = ("auto", "basic", "backtrack")
ENGINES: dict[Strategy, tuple[Engine, ...]] = {
    "any": ("auto", "chain", "tree", "eager", "stack"),
    **dict.fromkeys(get_args(Strategy)[1:], _RUNS),
}
"""Those that a strategy has."""

Negation = Literal["auto", "post", "first"]
"""When a negated event is checked: ``post``: on complete matches (Post-Processing); ``first``: as soon as everything it depends on is bound
(First-Chance), if possible; ``auto``: whichever costs less, for each negated variable."""


@dataclass(frozen=True, slots=True)
class WithinTime:
    """``last.ts - first.ts < W``: the latest event's ``time`` is less than the earliest event's deadline, time + W.

    The deadline is a column that Spark computes, or (None) ``time`` + ``length``. Columns are BIGINT (microseconds, days, or the numeric time itself)
    or DOUBLE; with a length, BIGINT or, for automata, the event's own time.
    """

    time: str
    deadline: str | None = None
    length: int = 0

    @property
    def columns(self) -> list[str]:
        """Those that the engine reads."""
        return [self.time] if self.deadline is None else [self.time, self.deadline]


@dataclass(frozen=True, slots=True)
class WithinEvents:
    """``rank(last) - rank(first) < count``."""

    count: int


@dataclass(frozen=True, slots=True)
class Predicate:
    """A conjunct of WHERE over two or more events; ``text`` is the user's text, for messages and EXPLAIN, and ``span`` its place."""

    condition: Expression
    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sum:
    """A column that is not sent: ``name`` = ``column`` (INT or BIGINT, and so is the sum) + ``addend``. Where it overflows in an event that
    ``variable`` can take it is an error, as Spark's sum would be; elsewhere NULL. ``text``: what the user wrote.
    """

    name: str
    column: str
    addend: int
    variable: str
    text: str


@dataclass(frozen=True, slots=True)
class Instant:
    """A column that is not sent: ``name`` = the microseconds of the timestamps in ``column``."""

    name: str
    column: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """A column that is not sent: ``value`` in every event."""

    name: str
    value: Constant


@dataclass(frozen=True, slots=True)
class FirstEvent:
    """The input column in the earliest event of the match (match_start, PARTITION BY columns)."""

    column: str


@dataclass(frozen=True, slots=True)
class LastEvent:
    """The input column in the latest event of the match (match_end)."""

    column: str


@dataclass(frozen=True, slots=True)
class EventStruct:
    """The event that ``variable`` took, as a STRUCT of ``fields`` (name, input column); NULL if it took none.

    For a Kleene variable: a LIST of such STRUCTs in event order, empty if ``*`` took none. ``flat`` (for an event that every match has): one column
    per field instead, named by ``flat_name``; Spark reads those at half the cost.
    """

    variable: str
    fields: tuple[tuple[str, str], ...]
    flat: bool = False


@dataclass(frozen=True, slots=True)
class BufferStruct:
    """The match buffer below the last event (COMPRESSED MATCHES): a STRUCT of ARRAYs ``variable``, ``event`` (STRUCTs of
    ``fields``), ``previous``, ``other``; see ``engines.event_pattern.output.compressed``."""

    fields: tuple[tuple[str, str], ...]


Source = FirstEvent | LastEvent | EventStruct | BufferStruct


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the engine's output table."""

    name: str
    source: Source


def flat_name(output: Output, field: str) -> str:
    """The column that holds a field of a flat STRUCT."""
    return f"{output.name}.{field}"


@dataclass(frozen=True, slots=True)
class EventPatternSpec:
    """A bound MATCH PATTERN clause.

    ``schema`` is the output as Spark's StructType JSON, in the order of ``outputs``. ``text`` is the pattern as the user
    wrote it. ``max_partial_matches``: a run that creates more fails (None: the engine's own limit).
    ``line``: the rows of a task are in the order of ``within.time``, and no bit 0 is set: a partition may begin wherever time has moved on by
    ``within.length``, which no match spans.
    ``starts``: the rows of a task are in the order of these columns, and no bit 0 is set: a partition begins where one of them changes.
    ``unordered``: the rows of a task are in no order: the worker sorts them, by ``starts`` and time.
    ``time_of``: the column, sent for the result, whose whole numbers (of a timestamp its microseconds) ``within.time`` is; then that is not sent.
    ``statistics``: (variable, relative frequency) given by the user; if they cover a branch, they replace the counts in the choice of the order.
    """

    variables: tuple[str, ...]
    pattern: EventPattern
    masks: tuple[str, ...]
    rank: str
    outputs: tuple[Output, ...]
    schema: str
    predicates: tuple[Predicate, ...] = ()
    within: WithinTime | WithinEvents | None = None
    strategy: Strategy = "any"
    matches: MatchOutput = "all"
    partition: tuple[str, ...] = ()
    text: str = ""
    engine: Engine = "auto"
    max_partial_matches: int | None = None
    negation: Negation = "auto"
    statistics: tuple[tuple[str, float], ...] = ()
    line: bool = False
    unordered: bool = False
    time_of: str | None = None
    sums: tuple[Sum, ...] = ()
    constants: tuple[Fixed, ...] = ()
    instants: tuple[Instant, ...] = ()
    starts: tuple[str, ...] = ()

    def asked(self, known: Collection[str]) -> tuple[Predicate, ...]:
        """The conditions on matches in which of the positive variables only ``known`` take events; those on negated ones as they are."""
        lacking = {element.variable for element in elements(self.pattern, negated=False)}.difference(known)
        found = []
        for predicate in self.predicates:
            seen = set(variables(predicate.condition))
            about_matches = seen <= lacking.union(known)
            left = restricted(predicate.condition, known) if seen & lacking and about_matches else predicate.condition
            found += [] if left is None else [replace(predicate, condition=left)]
        return tuple(found)
