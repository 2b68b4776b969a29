"""DEFINE and MEASURES texts over rows → callables of the reference matcher (ISO/IEC 19075-5, sections 4.10-4.12).

``condition("B.x > LAST(A.x)", …)`` and ``measure("FINAL SUM(A.x)", …)``; ``source`` says what a measure without
operators asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.reference.row_output import Measure, Navigation, Row, View, aggregate
from tests.reference.rows import Binding, Match, Step
from tests.reference.sql import Call, Literal, Node, Ref, evaluate, parse

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


Source = Column | Classifier | Number | Total


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
        case Call(name="FIRST" | "LAST" | "PREV" | "NEXT" as name, arguments=(inner, *rest)):
            offset = rest[0].value if rest and isinstance(rest[0], Literal) else None
            return _navigated(name, source(inner, subsets, running), offset)
    raise ValueError(f"no source: {node}")


def _navigated(name: str, inner: Source, offset: int | None) -> Source:
    if not isinstance(inner, Column | Classifier):
        raise ValueError(f"{name} of {inner}")
    if name in ("FIRST", "LAST"):
        return replace(inner, at=replace(inner.at, last=name == "LAST", logical=offset or 0))
    steps = 1 if offset is None else offset
    return replace(inner, at=replace(inner.at, physical=-steps if name == "PREV" else steps))


def _members(variable: str | None, subsets: Subsets) -> tuple[str, ...] | None:
    return None if variable is None else subsets.get(variable, (variable,))
