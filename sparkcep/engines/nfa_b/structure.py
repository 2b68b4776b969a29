"""Step 1 of the compilation (SASE+, section 3.2): the pattern clause fixes the states.

In: the pattern tree. Out: ``Line`` after ``Line``: components one after another, each a singleton state s or a pair of
states p[1], p[i], and the final state F. OR, ``?`` and ``*`` become lines of their own (section 3.1: automata are made
for subqueries, then composed); an AND of single events stands for its orders, a line each; negations stay beside the
line, they are tested on its matches. No predicate and no data is looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparkcep.engines.event_pattern.planner.branches import Branch, branches
from sparkcep.errors import CepLimitError, CepUnsupportedError
from sparkcep.pattern.event import EventPattern

MAX_LINES = 1024
"""Most automata of one clause: an AND of n events has n! orders."""

MAX_COMPONENTS = 60
"""Most components of a line: an event's possible components are bits of one word."""


@dataclass(frozen=True, slots=True)
class Component:
    """One positive variable. ``low``/``high``: how many events it takes (``high`` None: no bound)."""

    variable: str
    kleene: bool = False
    low: int = 1
    high: int | None = 1

    @property
    def states(self) -> tuple[str, ...]:
        """``b``, or ``a[1]`` and ``a[i]``."""
        return (f"{self.variable}[1]", f"{self.variable}[i]") if self.kleene else (self.variable,)


@dataclass(frozen=True, slots=True)
class Line:
    """Components in the order in which their events come. ``branch``: where the line is from; ``number``: which branch."""

    components: tuple[Component, ...]
    branch: Branch
    number: int


def lines(pattern: EventPattern) -> tuple[Line, ...]:
    """The lines of ``pattern``: no match is found by two of them.

    Raises CepUnsupportedError for a Kleene variable inside an AND (its events could lie between others', so there is no
    order of components), CepLimitError past ``MAX_LINES`` or ``MAX_COMPONENTS``, and what ``branches`` raises.
    """
    found: list[Line] = []
    for number, branch in enumerate(branches(pattern)):
        for order in _orders(branch):
            found.append(Line(tuple(_component(branch, name) for name in order), branch, number))
            if len(found) > MAX_LINES:
                raise CepLimitError(
                    f"{pattern} stands for more than {MAX_LINES} orders of events.",
                    code="BRANCHES",
                    hint="use fewer events in one AND, or SKIP TILL ANY MATCH",
                )
    return tuple(found)


def _orders(branch: Branch) -> Iterator[tuple[str, ...]]:
    """The orders of a branch's variables that its SEQs allow."""
    if len(branch.variables) > MAX_COMPONENTS:
        raise CepLimitError(f"A pattern of more than {MAX_COMPONENTS} variables.", code="VARIABLES")
    for element in branch.closures:
        others = [name for name in branch.variables if name != element.variable]
        if any(not _ordered(branch, element.variable, other) for other in others):
            raise CepUnsupportedError(
                f"the Kleene variable {element.variable} inside an AND, under this selection strategy",
                code="KLEENE_IN_AND",
                hint="SKIP TILL ANY MATCH allows it; or write the orders out: OR(SEQ(A+ a, B b), SEQ(B b2, A+ a2))",
            )
    yield from _extended((), frozenset(branch.variables), branch)


def _ordered(branch: Branch, one: str, other: str) -> bool:
    return (one, other) in branch.precedes or (other, one) in branch.precedes


def _extended(done: tuple[str, ...], left: frozenset[str], branch: Branch) -> Iterator[tuple[str, ...]]:
    if not left:
        yield done
    for name in branch.variables:
        if name in left and not any((other, name) in branch.precedes for other in left):
            yield from _extended((*done, name), left - {name}, branch)


def _component(branch: Branch, name: str) -> Component:
    element = branch.closure(name)
    return Component(name) if element is None else Component(name, True, element.low, element.high)
