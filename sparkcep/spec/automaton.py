"""AutomatonSpec: a MATCH AUTOMATON clause as an engine reads it.

Engine input: events of whole partitions, partition after partition, each in ORDER BY order. Bit 0 of the first mask column is set on
the first row of a partition. Bit ``1 + i`` of the masks (62 bits each) is the ``bit`` i of arcs: what their conditions ask of one event,
and whether it lies in the arc's [FROM, TO); for an arc at the window's end the bit is read in the row where the run began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sparkcep.spec.event import FirstEvent, LastEvent, WithinTime
from sparkcep.spec.expression import Call, Constant, SparkFunction
from sparkcep.spec.order import OrderColumn

ArcKind = Literal["event", "epsilon", "window_end"]


@dataclass(frozen=True, slots=True)
class RegisterValue:
    """The value of a register before the arc is taken."""

    register: str

    def __str__(self) -> str:
        return self.register


@dataclass(frozen=True, slots=True)
class EventValue:
    """The value of an input column in the event that the arc would take."""

    column: str

    def __str__(self) -> str:
        return self.column


Value = Call | SparkFunction | RegisterValue | EventValue | Constant
"""A condition or a register's new value: operators over registers, the event's columns and constants."""


@dataclass(frozen=True, slots=True)
class Register:
    """A register: ``type`` as Spark writes it, its value before the first event (None: NULL, unless ``column`` holds it in every row)."""

    name: str
    type: str
    default: Constant | None = None
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """``SET register = value``; ``text`` is the user's."""

    register: str
    value: Value
    text: str = ""


@dataclass(frozen=True, slots=True)
class Arc:
    """A step between states. It is taken where its ``bit`` is set (None: always) and its ``condition`` holds; NULL does not hold.

    All assignments see the old values. ``text`` is the condition as the user wrote it.
    """

    name: str
    source: str
    target: str
    kind: ArcKind = "event"
    bit: int | None = None
    condition: Value | None = None
    sets: tuple[Assignment, ...] = ()
    text: str = ""

    @property
    def ignorable(self) -> bool:
        """Whether it leaves a run as it is (appendix D of the AFA paper)."""
        return self.kind == "event" and self.source == self.target and not self.sets

    @property
    def label(self) -> str:
        """What a drawing writes on it: its name, what it waits for, its condition and assignments."""
        kinds = {"event": "", "epsilon": "ε", "window_end": "window end"}
        text = " ".join(self.text.split())
        sets = ", ".join(" ".join(one.text.split()) for one in self.sets)
        return "; ".join(part for part in (self.name, kinds[self.kind], text, sets) if part)

    @property
    def title(self) -> str:
        """What reports call it: its states and its name."""
        return f"{self} ({self.name})" if self.name else str(self)

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True, slots=True)
class FinalState:
    """The name of the state that accepts (STRING)."""


Source = FirstEvent | LastEvent | FinalState | RegisterValue


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the engine's output table."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Period:
    """What holds from the time ``since`` on, in microseconds, until the next period: the ``arcs`` (by number) and the states that accept."""

    since: int
    arcs: tuple[int, ...]
    finals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AutomatonSpec:
    """A bound MATCH AUTOMATON clause.

    ``states`` begins with the start state. ``schema`` is the output as Spark's StructType JSON, in the order of ``outputs``. ``text`` is the
    clause's body as the user wrote it. ``max_runs``: more runs at one time end with an error (None: the engine's own limit). ``periods``: of an
    automaton that changes, by the event time in the column ``clock`` (microseconds; BIGINT); the first one begins with time (none: all arcs and
    ``finals`` hold always). ``starts``: as in ``EventPatternSpec``; ``sort``: the rows of a task are in no order, the worker sorts them by
    ``starts`` and these.
    """

    states: tuple[str, ...]
    finals: tuple[str, ...]
    arcs: tuple[Arc, ...]
    masks: tuple[str, ...]
    outputs: tuple[Output, ...]
    schema: str
    registers: tuple[Register, ...] = ()
    within: WithinTime | None = None
    partition: tuple[str, ...] = ()
    text: str = ""
    max_runs: int | None = None
    clock: str | None = None
    periods: tuple[Period, ...] = ()
    starts: tuple[str, ...] = ()
    sort: tuple[OrderColumn, ...] = ()


def waits(spec: AutomatonSpec) -> bool:
    """Whether some matches are known only when the window of their first event has passed."""
    return any(arc.kind == "window_end" for arc in spec.arcs)


def leaves(value: Any) -> tuple[Any, ...]:
    """The registers and columns that a value reads, each once."""
    found: dict[Any, None] = {}
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call | SparkFunction):
            waiting += reversed(node.arguments)
        elif isinstance(node, RegisterValue | EventValue):
            found[node] = None
    return tuple(found)


def values(arc: Arc) -> tuple[Value, ...]:
    """All that an arc computes: its condition and its assignments."""
    own = () if arc.condition is None else (arc.condition,)
    return (*own, *(assignment.value for assignment in arc.sets))
