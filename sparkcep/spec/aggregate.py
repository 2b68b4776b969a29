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
    """One of several patterns over the same events. Variables of equal name are shared between patterns."""

    name: str
    pattern: EventPattern


@dataclass(frozen=True, slots=True)
class MatchAggregate:
    """``COUNT(*)`` (no ``variable``) or ``function(variable.column)`` over all matches of the partition, NULLs skipped.

    ``number``: the type of a count, and of a sum of integers: BIGINT (overflow is an error), DECIMAL(38,0) (exact) or DOUBLE (rounded). ``unscaled``:
    a sum of decimals as DECIMAL(38,0), in units of their last digit. Other sums of decimals and floats have the type of Spark's SUM; MIN and MAX have
    the column's type. A sum, minimum or maximum of no values is NULL.
    ``text``: the argument as written, if it is not ``variable.column``.
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
    """``aseq_count`` and its siblings: one aggregate over the matches of ``pattern`` in a group of events.

    ``function`` ranges over the values of all events of all matches, NULLs skipped. ``within``: a length in the units of a numeric time, or in
    microseconds for other times; None: no window. ``months``: instead, a length in calendar months, for times that are dates.
    """

    function: Literal["count", "sum", "avg", "min", "max"]
    pattern: EventPattern
    within: int | float | None = None
    text: str = ""
    months: int | None = None


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """Aggregates over all skip-till-any matches: one output row per partition that has a match.

    Fields shared with ``EventPatternSpec`` have the same meaning. With ``patterns`` (MATCH PATTERNS) there is one row per pattern and partition that
    has a match of it, and ``pattern`` is ignored.
    ``neighbours``: conditions between ``b[i]`` and ``b[i-1]``, the only ones over several events.
    ``emit`` (EMIT CHANGES): a column that is equal exactly in the events of one partition at one time; the engine then reads every event of a
    partition, and returns a row whenever the aggregates over the live matches differ from those at the previous time.
    ``classes`` (``[attr]`` under EMIT CHANGES): a column that differs between adjacent classes of a partition, whose rows are sorted by class, then
    by order; ``emit`` then increases with time throughout the partition.
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
    line: bool = False
    unordered: bool = False
    starts: tuple[str, ...] = ()

    @property
    def of_all_matches(self) -> bool:
        """Whether the aggregates are those over all matches, not those over the matches alive at a time (EMIT CHANGES)."""
        return self.emit is None
