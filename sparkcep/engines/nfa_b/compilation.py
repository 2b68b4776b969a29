"""The compilation of SASE+, section 3.2: a clause → NFA^b automata with a formula on every edge.

In: an ``EventPatternSpec``. Out: an ``Automaton`` for each line of the pattern. One function a step: structure,
predicates, selection strategy, window, early window, constrained proceed edges; each takes an automaton and returns it
with more in its formulas. What only one event is needed for comes as a bit from Spark and stands in the formulas as
``b is B``. No data is looked at here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from sparkcep.engines.nfa_b.conjuncts import Conjunct, placed
from sparkcep.engines.nfa_b.structure import Component, Line, lines
from sparkcep.pattern.event import Element, elements
from sparkcep.spec.event import EventPatternSpec, WithinEvents

Kind = Literal["begin", "take", "proceed", "ignore"]
FINAL = "F"


@dataclass(frozen=True, slots=True)
class Edge:
    """``conjuncts``: what the engine evaluates; ``clauses``: the whole formula, a conjunction, as text."""

    kind: Kind
    at: int
    source: str
    target: str
    conjuncts: tuple[Conjunct, ...] = ()
    clauses: tuple[str, ...] = ()

    @property
    def formula(self) -> str:
        """The formula as text."""
        return " AND ".join(self.clauses) or "TRUE"

    def __str__(self) -> str:
        return f"{self.source} -{self.kind}-> {self.target}: {self.formula}"


@dataclass(frozen=True, slots=True)
class Automaton:
    """Edges by component, in the order begin, take, proceed, ignore."""

    line: Line
    edges: tuple[Edge, ...]

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the line."""
        return self.line.components

    def conjuncts(self, kind: Kind, at: int) -> tuple[Conjunct, ...]:
        """What is to be evaluated on the edge ``kind`` of component ``at`` (none: there is no such edge)."""
        return next((edge.conjuncts for edge in self.edges if edge.kind == kind and edge.at == at), ())


def automata(spec: EventPatternSpec) -> tuple[Automaton, ...]:
    """Steps 1 to 6. Raises what ``structure.lines`` and ``conjuncts.placed`` raise."""
    found = []
    for line in lines(spec.pattern):
        automaton = structure(line)
        for step in STEPS:
            automaton = step(automaton, spec)
        found.append(automaton)
    return tuple(found)


def structure(line: Line) -> Automaton:
    """Step 1: states in a row; each with its begin edge, or take and proceed, and an ignore edge (the start has none)."""
    firsts = [component.states[0] for component in line.components] + [FINAL]
    edges = []
    for at, component in enumerate(line.components):
        here, after = component.states, firsts[at + 1]
        edges.append(Edge("begin", at, here[0], here[-1] if component.kleene else after))
        if component.kleene:
            edges += [Edge("take", at, here[1], here[1]), Edge("proceed", at, here[1], after)]
        waits = here if at else here[1:]
        edges += [Edge("ignore", at, state, state) for state in waits]
    return Automaton(line, tuple(edges))


def with_predicates(automaton: Automaton, spec: EventPatternSpec) -> Automaton:
    """Step 2: each conjunct on an edge of its last identifier's state; a closure's conjuncts on a[i] hold for a[1] too."""
    known = [component.variable for component in automaton.components]
    conjuncts = placed(spec.asked(known), automaton.components)
    types = {element.variable: _type_test(element) for element in elements(spec.pattern)}

    def predicates(edge: Edge) -> Edge:
        own = [c for c in conjuncts if c.at == edge.at]
        first = edge.kind == "begin"
        placed_here = tuple(c for c in own if c.kind == edge.kind or (first and c.kind == "take" and c.first))
        test = types[automaton.components[edge.at].variable]
        clauses = (test,) if edge.kind in ("begin", "take") else ()
        return replace(edge, conjuncts=placed_here, clauses=clauses + tuple(c.text for c in placed_here))

    return _changed(automaton, predicates)


def with_strategy(automaton: Automaton, spec: EventPatternSpec) -> Automaton:
    """Step 3: skip till next match ignores what is not taken; contiguity ignores nothing.

    Partition contiguity ignores events outside the partition: they do not come here. Strict contiguity is the same
    rule on rows that are neighbours in the whole input: Spark marks those that are not.
    """
    negated = {edge.source: f"NOT ({edge.formula})" for edge in automaton.edges if edge.kind in ("begin", "take")}

    def strategy(edge: Edge) -> Edge:
        if edge.kind != "ignore":
            return edge
        return replace(edge, clauses=(negated[edge.source] if spec.strategy == "next" else "FALSE",))

    return _changed(automaton, strategy)


def with_window(automaton: Automaton, spec: EventPatternSpec) -> Automaton:
    """Step 4: WITHIN on the edges into the final state (of a closure at the end: on what it takes)."""
    return _changed(automaton, lambda edge: _windowed(edge, automaton, spec) if edge.target == FINAL else edge)


def with_early_window(automaton: Automaton, spec: EventPatternSpec) -> Automaton:
    """Step 5: WITHIN on every take, ignore and begin edge behind the start, so that a run ends when its window does."""
    start = automaton.components[0].states[0]
    early = ("begin", "take", "ignore")
    return _changed(
        automaton,
        lambda edge: _windowed(edge, automaton, spec) if edge.kind in early and edge.source != start else edge,
    )


def with_constrained_proceed(automaton: Automaton, _: EventPatternSpec) -> Automaton:
    """Step 6: a run leaves a closure only for an event that the next state begins with.

    (The paper also lets it go where neither take nor ignore holds; the next state could but end it there.)
    """
    begins = {edge.source: edge.formula for edge in automaton.edges if edge.kind == "begin"}

    def constrained(edge: Edge) -> Edge:
        if edge.kind != "proceed" or edge.target == FINAL:
            return edge
        return replace(edge, clauses=(*edge.clauses, f"begin of {edge.target} ({begins[edge.target]})"))

    return _changed(automaton, constrained)


STEPS: tuple[Callable[[Automaton, EventPatternSpec], Automaton], ...] = (
    with_predicates,
    with_strategy,
    with_window,
    with_early_window,
    with_constrained_proceed,
)
"""Steps 2 to 6, in their order."""


def _changed(automaton: Automaton, change: Callable[[Edge], Edge]) -> Automaton:
    return replace(automaton, edges=tuple(change(edge) for edge in automaton.edges))


def _windowed(edge: Edge, automaton: Automaton, spec: EventPatternSpec) -> Edge:
    if spec.within is None or edge.source == automaton.components[0].states[0]:
        return edge
    start = automaton.components[0].states[0]
    if isinstance(spec.within, WithinEvents):
        clause = f"fewer than {spec.within.count} events since {start}"
    else:
        clause = f"time < {start}.time + WITHIN"
    return edge if clause in edge.clauses else replace(edge, clauses=(*edge.clauses, clause))


def _type_test(element: Element) -> str:
    index = "[i]" if element.kleene else ""
    return f"{element.variable}{index} is {' or '.join(element.types) or 'any event'}"
