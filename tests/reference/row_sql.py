"""DEFINE and MEASURES texts over rows → callables of the reference matcher (ISO/IEC 19075-5, sections 4.10-4.12).

``condition("B.x > LAST(A.x)", …)`` and ``measure("FINAL SUM(A.x)", …)``; ``source`` says what a measure without
operators asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.reference.row_output import Measure, Navigation, Row, View, aggregate, reduce_values
from tests.reference.rows import Binding, Match, Step
from tests.reference.sql import Call, Literal, Node, Ref, evaluate, parse, walk

AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "ARRAY_AGG")
Subsets = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Column:
    """``column`` in the row that ``at`` names."""

    column: str
    at: Navigation


@dataclass(frozen=True, slots=True)
class Classifier:
    """CLASSIFIER() in the row that ``at`` names."""

    at: Navigation


@dataclass(frozen=True, slots=True)
class Number:
    """MATCH_NUMBER()."""


@dataclass(frozen=True, slots=True)
class Total:
    """An aggregate; ``column`` None counts rows."""

    function: str
    variables: tuple[str, ...] | None
    column: str | None
    running: bool


@dataclass(frozen=True, slots=True)
class SequenceNumber:
    """MATCH_SEQUENCE_NUMBER(): the current row's number in the match."""


@dataclass(frozen=True, slots=True)
class Folded:
    """An aggregate over an expression of each row, which may hold CLASSIFIER(), MATCH_NUMBER() and MATCH_SEQUENCE_NUMBER()."""

    function: str
    variables: tuple[str, ...] | None
    argument: Node
    running: bool
    kept: Node = Literal(True)
    """The condition of FILTER."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Such an expression in the row that ``at`` names."""

    at: Navigation
    argument: Node


Source = Column | Classifier | Number | Total | SequenceNumber | Folded | Placed


def measure(text: str, subsets: Subsets, running: bool) -> Measure:
    """A measure; ``running`` is the default that RUNNING and FINAL override."""
    tree = parse(text)
    return lambda view: evaluate(tree, lambda node: value(source(node, subsets, running), view))


def condition(text: str, variable: str, subsets: Subsets, rows: Sequence[Row]) -> Callable[[int, Binding], bool]:
    """A DEFINE condition of ``variable``: ``holds(row, bindings)``. It is RUNNING, seen from the row being tried."""
    tree = parse(text)

    def holds(row: int, bindings: Binding) -> bool:
        steps = tuple(Step(bound, name) for bound, name in bindings)
        view = View(rows, Match(0, bindings[0][0], steps), len(steps) - 1)
        return evaluate(tree, lambda node: value(source(node, subsets, True), view)) is True

    return holds


def value(asked: Source, view: View) -> Any:
    """What a source is worth in a view."""
    match asked:
        case Column(column=column, at=at):
            return at.value(view, column)
        case Classifier(at=at):
            return at.classifier(view)
        case Number():
            return view.match.number
        case Total(function=function, variables=variables, column=column, running=running):
            return aggregate(view, function, variables, column, running)
        case SequenceNumber():
            return view.current + 1
        case Folded(function=function, variables=variables, argument=argument, running=running, kept=kept):
            steps = view.steps(variables, running)
            steps = [step for step in steps if _in_row(kept, view, step.row, step.variable) is True]
            values = [_in_row(argument, view, step.row, step.variable) for step in steps]
            return reduce_values(function, [value for value in values if value is not None])
        case Placed(at=at, argument=argument):
            row = at.row(view)
            return None if row is None else _in_row(argument, view, row, at.classifier(view))


def _in_row(node: Node, view: View, row: int, variable: str | None) -> Any:
    """An expression over one row, which the match maps to ``variable``."""

    def resolve(part: Node) -> Any:
        match part:
            case Ref(attribute=attribute):
                return view.rows[row].get(attribute)
            case Call(name="CLASSIFIER"):
                return variable
            case Call(name="MATCH_NUMBER"):
                return view.match.number
            case Call(name="MATCH_SEQUENCE_NUMBER"):
                return row - view.match.steps[0].row + 1
        raise ValueError(f"no value of a row: {part}")

    return evaluate(node, resolve)


def _variable(node: Node) -> str | None:
    """The variable whose rows an expression is about."""
    return next((part.variable for part in walk(node) if isinstance(part, Ref) and part.variable), None)


def source(node: Node, subsets: Subsets, running: bool) -> Source:
    """One reference, navigation, CLASSIFIER, MATCH_NUMBER or aggregate. Raises ValueError for anything else."""
    match node:
        case Ref(variable=variable, attribute=attribute):
            return Column(attribute, Navigation(_members(variable, subsets), running=running))
        case Call(name="RUNNING" | "FINAL" as word, arguments=(inner,)):
            return source(inner, subsets, word == "RUNNING")
        case Call(name="MATCH_NUMBER"):
            return Number()
        case Call(name="CLASSIFIER", arguments=arguments):
            variable = arguments[0].attribute if arguments else None  # type: ignore[union-attr]
            return Classifier(Navigation(_members(variable, subsets), running=running))
        case Call(name=name, arguments=(Ref(variable=variable, attribute=attribute),)) if name in AGGREGATES:
            return Total(name.lower(), _members(variable, subsets), None if attribute == "*" else attribute, running)
        case Call(name="MATCH_SEQUENCE_NUMBER"):
            return SequenceNumber()
        case Call(name=name, arguments=(inner,)) if name in AGGREGATES:
            return Folded(name.lower(), _members(_variable(inner), subsets), inner, running)
        case Call(name="FILTER", arguments=(Call(name=name, arguments=(inner,)), kept)) if name in AGGREGATES:
            variables = _members(_variable(inner) or _variable(kept), subsets)
            argument = Literal(1) if isinstance(inner, Ref) and inner.attribute == "*" else inner
            return Folded(name.lower(), variables, argument, running, kept)
        case Call(name="FIRST" | "LAST" | "PREV" | "NEXT" as name, arguments=(inner, *rest)):
            offset = rest[0].value if rest and isinstance(rest[0], Literal) else None
            found = _place(inner, subsets, running) if _is_expression(inner) else source(inner, subsets, running)
            return _navigated(name, found, offset)
    raise ValueError(f"no source: {node}")


def _navigated(name: str, inner: Source, offset: int | None) -> Source:
    if not isinstance(inner, Column | Classifier | Placed):
        raise ValueError(f"{name} of {inner}")
    if name in ("FIRST", "LAST"):
        return replace(inner, at=replace(inner.at, last=name == "LAST", logical=offset or 0))
    steps = 1 if offset is None else offset
    return replace(inner, at=replace(inner.at, physical=-steps if name == "PREV" else steps))


def _is_expression(node: Node) -> bool:
    """Whether a navigation's argument is more than a column, CLASSIFIER() or another navigation."""
    return isinstance(node, Call) and node.name not in (
        "CLASSIFIER",
        "FIRST",
        "LAST",
        "PREV",
        "NEXT",
        "RUNNING",
        "FINAL",
    )


def _place(node: Node, subsets: Subsets, running: bool) -> Placed:
    return Placed(Navigation(_members(_variable(node), subsets), running=running), node)


def _members(variable: str | None, subsets: Subsets) -> tuple[str, ...] | None:
    return None if variable is None else subsets.get(variable, (variable,))
