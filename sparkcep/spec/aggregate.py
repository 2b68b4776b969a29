"""AggregateSpec: aggregates over the matches of a MATCH PATTERN clause, per partition, as the A-Seq engine reads them.

The engine's input is that of ``EventPatternSpec``: events of whole partitions with masks and ranks. There are no predicates
between variables: local ones are in the masks, equivalences in the partitioning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparkcep.pattern.event import EventPattern
from sparkcep.spec.event import Predicate, WithinEvents, WithinTime

AggregateFunction = Literal["count", "sum", "min", "max"]
Number = Literal["bigint", "decimal", "double", "unscaled"]


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """The input column in the first row of the partition (a PARTITION BY column)."""

    column: str


@dataclass(frozen=True, slots=True)
class EmitTime:
    """The input column in an event at the time of the row (EMIT CHANGES)."""

    column: str


@dataclass(frozen=True, slots=True)
class PatternName:
    """The name of the pattern that a row is about (MATCH PATTERNS)."""


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """One of several patterns over the same events. Patterns share a variable if they name it alike."""

    name: str
    pattern: EventPattern


@dataclass(frozen=True, slots=True)
class MatchAggregate:
    """``COUNT(*)`` (no ``variable``) or ``function(variable.column)`` over all matches of the partition, NULLs skipped.

    ``number``: the type of a count, and of a sum of integers: BIGINT, where a value outside it is an error;
    DECIMAL(38,0), exact; DOUBLE, rounded. ``unscaled``: a sum of decimals as DECIMAL(38,0), in units of their last
    digit. Other sums of decimals and floats have the type that Spark's SUM gives them, MIN
    and MAX the column's. A sum, minimum or maximum of nothing is NULL.
    ``text``: the argument as it was written, where it is not ``variable.column``.
    """

    function: AggregateFunction
    variable: str | None = None
    column: str | None = None
    number: Number = "bigint"
    text: str = ""


@dataclass(frozen=True, slots=True)
class AggregateOutput:
    """One column of the engine's output table."""

    name: str
    source: GroupColumn | EmitTime | MatchAggregate | PatternName


@dataclass(frozen=True, slots=True)
class AggregateFunctionSpec:
    """``aseq_count`` and its kin: one aggregate over the matches of ``pattern`` in a group of events.

    ``function`` ranges over the values of all events of all matches, NULLs skipped. ``within``: a length in the units of a numeric time, in
    microseconds for any other; None: no window. ``months``: of the calendar, where times are dates, instead.
    """

    function: Literal["count", "sum", "avg", "min", "max"]
    pattern: EventPattern
    within: int | float | None = None
    text: str = ""
    months: int | None = None


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """Aggregates over all skip-till-any matches: one output row per partition that has a match.

    The fields that ``EventPatternSpec`` has too mean the same. With ``patterns`` (MATCH PATTERNS) there is one row per
    pattern and partition that has a match of it, and ``pattern`` is not looked at.
    ``neighbours``: conditions between ``b[i]`` and ``b[i-1]``, the only ones over several events.
    ``emit`` (EMIT CHANGES): a column that is equal in the events of one time and of one partition only; the engine then reads every event
    of a partition, and gives a row wherever the aggregates over the matches alive at a time differ from those at the time before.
    ``classes`` (``[attr]`` under EMIT CHANGES): a column that differs between neighbouring classes of a partition, whose rows stand class by
    class, each in order; ``emit`` then grows with time throughout the partition.
    """

    variables: tuple[str, ...]
    pattern: EventPattern
    masks: tuple[str, ...]
    rank: str
    outputs: tuple[AggregateOutput, ...]
    schema: str
    within: WithinTime | WithinEvents | None = None
    partition: tuple[str, ...] = ()
    text: str = ""
    patterns: tuple[NamedPattern, ...] = ()
    emit: str | None = None
    classes: str | None = None
    neighbours: tuple[Predicate, ...] = ()
