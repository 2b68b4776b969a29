"""RowPatternSpec: a MATCH_RECOGNIZE clause as an engine reads it.

Engine input: rows of whole partitions, partition after partition, each in ORDER BY order. Bit 0 of the first mask column is set on the
first row of a partition; bit ``1 + i`` of the masks (62 bits each, all BIGINT) says that the row satisfies the DEFINE
condition of ``variables[i]`` (a condition that is NULL does not hold).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sparkcep.pattern.row import RowPattern
from sparkcep.spec.expression import Call, Constant, SparkFunction
from sparkcep.spec.order import OrderColumn

MASK_BITS = 62
"""Bits used per BIGINT mask column: the sign bit and one spare stay clear."""

MAX_OFFSETS = 4096
"""Rows that FIRST and LAST of one set of variables may look back on in a condition; each costs 8 bytes a row of the match."""

RowsPerMatch = Literal["one", "all_show_empty", "all_omit_empty", "all_with_unmatched", "window"]
"""``window``: a row for every input row, with the match that it has in its ``Frame``."""
SkipTo = Literal["past_last_row", "next_row", "first", "last"]
Moment = Literal["var_samp", "var_pop", "stddev_samp", "stddev_pop"]
MOMENTS = get_args(Moment)
"""Variances and deviations, of a sample and of a population: by their place here in bytecode."""
MEAN_DIGITS = 4
"""Decimal places that an average of decimals has more than its values, as in Spark."""

AggregateFunction = Literal["count", "sum", "avg", "min", "max", "array_agg"] | Moment


@dataclass(frozen=True, slots=True)
class Skip:
    """AFTER MATCH SKIP. ``variables`` (a primary variable, or the members of a SUBSET) for ``first`` and ``last``."""

    to: SkipTo = "past_last_row"
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Navigation:
    """The row of the match (ISO 19075-5, 4.13) from which a value is taken.

    Among the rows mapped to ``variables`` (None: all rows of the match), up to the current row (``running``) or of the whole match: the last (or
    first) one, moved back (or forward) by ``logical`` rows among these; then moved by ``physical`` rows in the partition (PREV is negative). NULL if
    there is no such row.
    """

    variables: tuple[str, ...] | None = None
    last: bool = True
    running: bool = False
    logical: int = 0
    physical: int = 0

    def of(self, value: str) -> str:
        """The navigation around ``value`` as SQL: ``PREV(RUNNING LAST(up.price, 1), 2)``."""
        name = " or ".join(f"{variable}.{value}" for variable in self.variables or ()) or value
        offset = f", {self.logical}" if self.logical else ""
        text = f"{'RUNNING' if self.running else 'FINAL'} {'LAST' if self.last else 'FIRST'}({name}{offset})"
        if not self.physical:
            return text
        return f"{'NEXT' if self.physical > 0 else 'PREV'}({text}, {abs(self.physical)})"


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """The input column of the output row itself; with ONE ROW PER MATCH, of the first row of the match."""

    column: str


@dataclass(frozen=True, slots=True)
class ColumnAt:
    """The input column in the row at ``at``."""

    column: str
    at: Navigation

    def __str__(self) -> str:
        return self.at.of(self.column)


@dataclass(frozen=True, slots=True)
class ClassifierAt:
    """The name of the variable that the row at ``at`` is mapped to (STRING).

    NULL if there is no row, the row is unmatched, or its variable is not in ``at.variables``.
    """

    at: Navigation

    def __str__(self) -> str:
        return self.at.of("CLASSIFIER()")


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """The number of the match in its partition, from 1 (BIGINT); empty matches count."""

    def __str__(self) -> str:
        return "MATCH_NUMBER()"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over rows of the match mapped to ``variables`` (None: all rows), running or final.

    ``column`` None: COUNT of rows; with array_agg the variables that the rows are mapped to. ``filter`` is a BOOLEAN input column.
    NULLs of ``column`` are skipped (for array_agg too, as in Spark). MOMENTS are those of DOUBLE values, without ``distinct``;
    avg is one of DECIMAL(p, s), with MEAN_DIGITS more: a DECIMAL(p + 4, s + 4) of at most 38 digits, in conditions of at most 18.
    """

    function: AggregateFunction
    column: str | None = None
    variables: tuple[str, ...] | None = None
    running: bool = False
    distinct: bool = False
    filter: str | None = None

    def __str__(self) -> str:
        rows = " or ".join(self.variables or ()) or "all rows"
        nothing = "CLASSIFIER()" if self.function == "array_agg" else "*"
        what = f"{'DISTINCT ' if self.distinct else ''}{self.column or nothing}"
        where = f" FILTER (WHERE {self.filter})" if self.filter else ""
        return f"{'RUNNING' if self.running else 'FINAL'} {self.function.upper()}({what}){where} over {rows}"


Source = CurrentRow | ColumnAt | ClassifierAt | MatchNumber | Aggregate


Condition = Call | SparkFunction | Source | Constant
"""A match-dependent condition, or a part of it: operators over values taken from rows of the match so far."""


def leaves(condition: Condition) -> Iterator[Source]:
    """The sources below a condition, left to right."""
    if isinstance(condition, Call | SparkFunction):
        for argument in condition.arguments:
            yield from leaves(argument)
    elif not isinstance(condition, Constant):
        yield condition


_UNNAMED = {"Source", "Cast", "AttributeReference", "LambdaFunction", "NamedLambdaVariable"}
"""Functions that the user did not write."""


def slow_functions(condition: Any) -> tuple[str, ...]:
    """Spark's names of the functions in a condition that are evaluated on the slow path, each once; empty if there are none."""
    if isinstance(condition, SparkFunction):
        own = () if condition.name in _UNNAMED else (condition.text or condition.name,)
        below = (name for part in condition.arguments for name in slow_functions(part))
        return tuple(dict.fromkeys([*own, *below]))
    if isinstance(condition, Call):
        return tuple(dict.fromkeys(name for part in condition.arguments for name in slow_functions(part)))
    return ()


@dataclass(frozen=True, slots=True)
class Define:
    """What a row must satisfy in addition to its mask bit to be mapped to ``variable``; NULL does not hold.

    All navigation and aggregates are running, and treat the row under test as already mapped to ``variable``. A ``Call``'s arguments
    are calls and ``Source`` leaves (``ColumnAt``, ``ClassifierAt``, ``MatchNumber``, ``Aggregate``), and numbers and booleans (``Constant``); other
    constants are a ``ColumnAt`` of the row under test. ``text`` is the user's condition.
    """

    variable: str
    condition: Condition
    text: str = ""


@dataclass(frozen=True, slots=True)
class Within:
    """WITHIN: the columns with a row's event time, by which the rows of a partition are in order, and with the deadline of a match that begins there:
    the times of its rows are before it. Every variable has a ``Define`` of this ``condition``, alone or as the first of an ``and``."""

    time: str
    deadline: str

    @property
    def condition(self) -> Call:
        """What it says of the row under test."""
        first = ColumnAt(self.deadline, Navigation(None, last=False, running=True))
        return Call("lt", (ColumnAt(self.time, Navigation(running=True)), first))


@dataclass(frozen=True, slots=True)
class Near:
    """A row-only condition that looks at rows which may lie outside of a frame, where they count as absent.

    ``bits`` are mask bits (``1 + i`` for ``variables[i]``, where nothing is absent), for each number of rows from the frame's first row to
    the row under test (0 … ``prev``, which stands for more too) those for each number of rows to the frame's last (0 … ``next``, the same).
    """

    variable: str
    prev: int
    next: int
    bits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """The full frame of each row, ``ROWS BETWEEN CURRENT ROW AND …``: its match and its measures look at no row outside of it.

    ``following``: the input column with the number of rows behind the current one (None: all of the partition). ``seek``: a match may
    begin behind the current row; then the row has the first one. ``near``: conditions that are not the same near the frame's bounds.
    """

    following: str | None = None
    seek: bool = False
    near: tuple[Near, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the engine's output table."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class RowPatternSpec:
    """A bound MATCH_RECOGNIZE clause. ``defines`` are the match-dependent conditions (none: a row-only pattern).

    ``schema`` is the output as Spark's StructType JSON, in the order of ``outputs``. ``partition`` names input columns with the PARTITION BY values,
    if present (for error messages). ``text`` is the pattern as the user wrote it. ``frame``: with ``rows_per_match`` ``window``, where a row without
    a match has no rows (COUNT 0) and the MATCH_NUMBER 0. ``starts`` and ``sort``: as in ``AutomatonSpec``; then masks that are not sent have all
    bits. ``adjacent``: what rows must satisfy in addition to their mask bits, which rows next to them in the partition tell. ``within`` says no more
    than ``defines`` do.
    """

    variables: tuple[str, ...]
    pattern: RowPattern
    masks: tuple[str, ...]
    outputs: tuple[Output, ...]
    schema: str
    rows_per_match: RowsPerMatch = "one"
    skip: Skip = Skip()
    initial: bool = False
    defines: tuple[Define, ...] = ()
    partition: tuple[str, ...] = ()
    text: str = ""
    frame: Frame | None = None
    starts: tuple[str, ...] = ()
    sort: tuple[OrderColumn, ...] = ()
    adjacent: tuple[Define, ...] = ()
    within: Within | None = None


def most_behind(spec: RowPatternSpec) -> int:
    """How many rows back a condition or a measure looks from a row, at most."""
    return max((-one.at.physical for one in sources(spec) if isinstance(one, ColumnAt)), default=0)


def read_columns(spec: RowPatternSpec) -> frozenset[str]:
    """The input columns that an engine reads of sorted rows."""
    adjacent = (leaf for define in spec.adjacent for leaf in leaves(define.condition))
    read = {getattr(one, name, None) for one in (*sources(spec), *adjacent) for name in ("column", "filter")}
    following = spec.frame.following if spec.frame is not None else None
    return frozenset(
        name for name in {*read, following, *spec.masks, *spec.partition, *spec.starts} if name is not None
    )


def sources(spec: RowPatternSpec) -> Iterator[Source]:
    """All that conditions and measures read."""
    for define in spec.defines:
        yield from leaves(define.condition)
    for output in spec.outputs:
        yield output.source
