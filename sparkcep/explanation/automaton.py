"""The automaton of a pattern as edges, as text and as Mermaid.

In: a MatchSpec. Out: ``Edge`` lists and lines. Row patterns are drawn from the graph that the engine runs (without ε-transitions), event patterns
from their ordering constraints, which are all that a lazy automaton fixes in advance.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.engines.nfa_b.compilation import FINAL, automata
from sparkcep.engines.row_pattern.graph import (
    ACCEPT,
    ACCEPT_AT_END,
    GUARD_END,
    GUARD_START,
    Graph,
    build_graph,
    state_names,
)
from sparkcep.pattern.event import And, Element, EventItem, Not, Or, Seq
from sparkcep.spec import AggregateSpec, AutomatonSpec, EventPatternSpec, MatchSpec

MAX_EDGES = 60
"""Beyond this many edges their number says more than a drawing."""

START, END = "start", "match"


@dataclass(frozen=True, slots=True)
class Edge:
    """One transition; of several out of one state the first is preferred."""

    source: str
    target: str
    label: str = ""


def edges(spec: MatchSpec) -> list[Edge]:
    """The automaton's transitions, in order of preference for each state."""
    if isinstance(spec, AutomatonSpec):
        return _arcs(spec)
    if isinstance(spec, EventPatternSpec | AggregateSpec):
        return _event_edges(spec)
    return _row_edges(build_graph(spec.pattern, spec.variables), spec.variables)


def text_lines(found: list[Edge]) -> list[str]:
    """``start → A``, one line per state."""
    if len(found) > MAX_EDGES:
        return [f"{len({edge.source for edge in found})} states, {len(found)} steps"]
    states = dict.fromkeys(edge.source for edge in found)
    return [f"{state} → {', '.join(_target(edge) for edge in found if edge.source == state)}" for state in states]


def mermaid(found: list[Edge]) -> list[str]:
    """A Mermaid flowchart of the transitions."""
    if len(found) > MAX_EDGES:
        return []
    names = list(dict.fromkeys(name for edge in found for name in (edge.source, edge.target)))
    ids = {name: f"s{i}" for i, name in enumerate(names)}
    lines = ["flowchart LR", *(f'  {ids[name]}(["{name}"])' for name in names)]
    for edge in found:
        arrow = f"-->|{edge.label}|" if edge.label else "-->"
        lines.append(f"  {ids[edge.source]} {arrow} {ids[edge.target]}")
    return lines


def _target(edge: Edge) -> str:
    return f"{edge.target} ({edge.label})" if edge.label else edge.target


def _arcs(spec: AutomatonSpec) -> list[Edge]:
    """The graph as written; a final state is marked by a step to the match."""
    found = [Edge(START, spec.states[0])]
    found += [Edge(arc.source, arc.target, arc.label) for arc in spec.arcs]
    return [*found, *(Edge(state, END) for state in spec.finals)]


def _row_edges(graph: Graph, variables: tuple[str, ...]) -> list[Edge]:
    states = state_names(graph, variables)
    names = {ACCEPT: END, ACCEPT_AT_END: f"{END} at the partition's end", **states}
    found = [Edge(START, names[target], label) for target, label in _closure(graph, graph.entry)]
    for node in states:
        after = graph.targets[node][0]
        found += [Edge(names[node], names[target], label) for target, label in _closure(graph, after)]
    return found


def _closure(graph: Graph, node: int) -> list[tuple[int, str]]:
    """The ε-closure: the row-taking or accepting nodes reached, most preferred first, with the guards on the way."""
    found: dict[tuple[int, str], None] = {}
    stack = [(node, "")]
    seen = set()
    while stack:
        here = stack.pop()
        if here in seen:
            continue
        seen.add(here)
        at, guard = here
        if graph.codes[at] >= 0 or at in (ACCEPT, ACCEPT_AT_END):
            found[here] = None
            continue
        guard = {GUARD_START: "^", GUARD_END: "$"}.get(graph.codes[at], guard)
        stack += [(target, guard) for target in reversed(graph.targets[at])]
    return list(found)


def formulas(spec: MatchSpec) -> list[str]:
    """Every edge of an NFA^b with its formula; of several automata, one after another."""
    if not isinstance(spec, EventPatternSpec) or spec.strategy == "any":
        return []
    found = [str(edge) for automaton in automata(spec) for edge in automaton.edges]
    return found if len(found) <= MAX_EDGES else [f"{len(found)} edges"]


def _event_edges(spec: EventPatternSpec | AggregateSpec) -> list[Edge]:
    if isinstance(spec, EventPatternSpec) and spec.strategy != "any":
        return _nfa_edges(spec)
    first, last, found = _order(spec.pattern)
    return [*(Edge(START, name) for name in first), *found, *(Edge(name, END) for name in last)]


def _nfa_edges(spec: EventPatternSpec) -> list[Edge]:
    """The transitions of an NFA^b; several automata share states of equal name."""
    found = [edge for automaton in automata(spec) for edge in automaton.edges]
    steps = dict.fromkeys(Edge(edge.source, END if edge.target == FINAL else edge.target, edge.kind) for edge in found)
    return list(steps)


def _order(item: EventItem) -> tuple[list[str], list[str], list[Edge]]:
    """(first variables, last variables, transitions between them) of a pattern; a negated item is a label on the transition it forbids."""
    if isinstance(item, Element):
        return [item.variable], [item.variable], []
    if isinstance(item, Not):
        return [], [], []
    parts = [(part, _order(part)) for part in item.items]
    inner = [edge for _, (_, _, steps) in parts for edge in steps]
    if isinstance(item, And | Or):
        positive = [order for _, order in parts]
        return [n for first, _, _ in positive for n in first], [n for _, last, _ in positive for n in last], inner
    return _sequence(item, parts, inner)


def _sequence(
    item: Seq, parts: list[tuple[EventItem, tuple[list[str], list[str], list[Edge]]]], inner: list[Edge]
) -> tuple[list[str], list[str], list[Edge]]:
    first: list[str] = []
    last: list[str] = []
    label = ""
    for part, (begins, ends, _) in parts:
        if isinstance(part, Not):
            label = f"no {part.item}"
            continue
        inner += [Edge(a, b, label) for a in last for b in begins]
        first, last, label = first or begins, ends, ""
    return first, last, inner
