"""Parsed clauses: what the user wrote between the parentheses, split into parts, with nothing resolved yet.

In: built by ``rewrites.dialect`` from SQL text. Every span is an offset range in the whole statement, so that errors can underline it and the user's
expressions are spliced, never regenerated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sparkcep.errors import Span
from sparkcep.pattern.event import EventPattern
from sparkcep.pattern.row import RowPattern
from sparkcep.spec.automaton import ArcKind
from sparkcep.spec.event import MatchOutput, Strategy
from sparkcep.spec.row import RowsPerMatch, SkipTo

ClauseKind = Literal["MATCH_RECOGNIZE", "MATCH PATTERN", "MATCH PATTERNS", "MATCH AUTOMATON", "WINDOW"]


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier: its value without backticks, and its span."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Expr:
    """A user's expression: its syntax tree (each node knows its span, see ``dialect.span_of``) and its own span."""

    node: exp.Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Site:
    """The location of a pattern clause in a statement.

    ``span`` runs from the first character of the input table reference to the clause's closing parenthesis: this is what the rewrite replaces (an
    alias after it is kept). ``input`` is the table reference, ``body`` the text inside the parentheses
    (without them). ``scopes``: for each enclosing WITH, outermost first, the definitions (``name [(columns)] AS (…)``) that
    the input may name; ``around``: those of recursive tables inside which the clause stands. ``lateral``: the clause is inside a
    LATERAL subquery. ``pipe``: it follows ``|>``, and ``input`` is the query before the pipe. ``columns``: the list of names behind the alias,
    ``AS m (a, b)``, with its parentheses.
    """

    kind: ClauseKind
    span: Span
    input: Span
    keyword: Span
    body: Span
    alias: Name | None = None
    scopes: tuple[tuple[Span, ...], ...] = ()
    recursive: tuple[bool, ...] = ()
    around: tuple[Span, ...] = ()
    lateral: bool = False
    pipe: bool = False
    columns: Span | None = None


@dataclass(frozen=True, slots=True)
class EventKey:
    """``EVENT KEY (column, …)``: what an event of a stream of changes is known by."""

    columns: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class SequenceNumber:
    """``SEQUENCE NUMBER (column FROM first)``: the events of a partition are numbered one by one."""

    column: Name
    first: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class PartitionItem:
    """A PARTITION BY expression, with its optional name (MATCH PATTERN)."""

    expr: Expr
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class OrderItem:
    """An ORDER BY item; ``span`` covers the expression and its direction, ready to splice."""

    expr: Expr
    span: Span
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """``[RUNNING|FINAL] expr [AS] name``; ``running`` is None if neither is given."""

    expr: Expr
    name: Name
    running: bool | None = None


@dataclass(frozen=True, slots=True)
class SkipClause:
    """AFTER MATCH SKIP; ``variable`` for TO [FIRST|LAST] variable (plain TO means LAST)."""

    to: SkipTo
    span: Span
    variable: Name | None = None


@dataclass(frozen=True, slots=True)
class Subset:
    """``name = (variable, …)``."""

    name: Name
    variables: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Define:
    """``variable AS condition``."""

    variable: Name
    condition: Expr


@dataclass(frozen=True, slots=True)
class Reading:
    """A function of another engine's, and what it is read as here."""

    text: str
    meaning: str
    engine: str


@dataclass(frozen=True, slots=True)
class FrameClause:
    """``ROWS BETWEEN CURRENT ROW AND …``: ``following`` rows (None: none, with ``current_row``, or all of the partition)."""

    span: Span
    following: Expr | None = None
    current_row: bool = False
    seek: bool = False

    @property
    def bounded(self) -> bool:
        """Whether a frame may end before its partition."""
        return self.current_row or self.following is not None


@dataclass(frozen=True, slots=True)
class Hint:
    """``CEP_ENGINE(chain)`` after the clause's opening parenthesis: how to evaluate it, never what it means."""

    name: Name
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class MatchRecognizeClause:
    """ISO SQL:2016 R010, with WITHIN as Flink SQL has it; with a ``frame`` R020, the pattern of a window."""

    site: Site
    pattern: RowPattern
    pattern_span: Span
    partition_by: tuple[PartitionItem, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows_per_match: RowsPerMatch = "one"
    rows_per_match_span: Span | None = None
    skip: SkipClause | None = None
    initial: Span | None = None
    within: Expr | None = None
    subsets: tuple[Subset, ...] = ()
    defines: tuple[Define, ...] = ()
    readings: tuple[Reading, ...] = ()
    frame: FrameClause | None = None
    hints: tuple[Hint, ...] = ()
    event_key: EventKey | None = None
    sequence: SequenceNumber | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Those of MEASURES, then those of DEFINE."""
        return (*(measure.expr for measure in self.measures), *(define.condition for define in self.defines))


@dataclass(frozen=True, slots=True)
class Within:
    """``WITHIN``: an interval or number (``length``), or a number of events (``events``)."""

    span: Span
    length: Expr | None = None
    events: int | None = None


@dataclass(frozen=True, slots=True)
class Equivalence:
    """``[attr]`` or ``[attr = literal]`` in WHERE: all variables agree on the attribute."""

    attribute: Name
    span: Span
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class MatchPatternClause:
    """SASE / SASE+ / A-Seq. ``conjuncts`` are WHERE's top-level AND operands, ``equivalences`` its ``[attr]`` ones.

    ``patterns`` has one unnamed pattern for MATCH PATTERN, several named ones for MATCH PATTERNS.
    """

    site: Site
    patterns: tuple[tuple[Name | None, EventPattern, Span], ...]
    order_by: tuple[OrderItem, ...]
    event_type: Name | None = None
    partition_by: tuple[PartitionItem, ...] = ()
    strategy: Strategy = "any"
    strategy_span: Span | None = None
    where: Span | None = None
    conjuncts: tuple[Expr, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    within: Within | None = None
    matches: MatchOutput = "all"
    matches_span: Span | None = None
    measures: tuple[Measure, ...] = ()
    emit_changes: Span | None = None
    hints: tuple[Hint, ...] = ()
    event_key: EventKey | None = None
    sequence: SequenceNumber | None = None


@dataclass(frozen=True, slots=True)
class Register:
    """``name TYPE [DEFAULT literal]``; ``data_type`` is the place of the type's text."""

    name: Name
    data_type: Span
    default: Expr | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """``register = value`` of a SET."""

    register: Name
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Arc:
    """``ARC source -> target [NAMED name] [ON EPSILON | ON WINDOW END] [WHEN condition] [SET …] [VALID FROM … TO …]``.

    ``span`` is the whole arc, ``kind_span`` the place of ON ….
    """

    source: Name
    target: Name
    span: Span
    name: Name | None = None
    kind: ArcKind = "event"
    kind_span: Span | None = None
    condition: Expr | None = None
    sets: tuple[Assignment, ...] = ()
    valid_from: Expr | None = None
    valid_to: Expr | None = None


@dataclass(frozen=True, slots=True)
class MatchAutomatonClause:
    """Augmented finite automata (AFA)."""

    site: Site
    order_by: tuple[OrderItem, ...]
    start: Name
    finals: tuple[Name, ...]
    arcs: tuple[Arc, ...]
    registers: tuple[Register, ...] = ()
    partition_by: tuple[PartitionItem, ...] = ()
    within: Within | None = None
    hints: tuple[Hint, ...] = ()
    event_key: EventKey | None = None
    sequence: SequenceNumber | None = None


Clause = MatchRecognizeClause | MatchPatternClause | MatchAutomatonClause
