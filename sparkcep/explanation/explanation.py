"""What ``sparkcep.explain`` returns: EXPLAIN PATTERN as an object with its text and, in a notebook, the automaton drawn above it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewrites import Rewritten, RewrittenClause
from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.row_pattern import BoundRowPattern
from sparkcep.explanation.automaton import END, START, Edge, edges
from sparkcep.explanation.clause_text import clause_html, style, variable_of
from sparkcep.explanation.drawing import DrawingUnavailableError, Lines, classes, svg, wrapped
from sparkcep.explanation.report import clause_title, explain_lines
from sparkcep.spec import AggregateSpec, EventPatternSpec
from sparkcep.spec.aggregate import NamedPattern
from sparkcep.spec.expression import variables


@dataclass(frozen=True, slots=True)
class Automaton:
    """The automaton of one clause. ``lines``: what is written on its states and arrows; ``clause``: the clause's text as HTML."""

    title: str
    edges: tuple[Edge, ...]
    lines: Lines
    clause: str

    def svg(self) -> str:
        """The drawing. Raises DrawingUnavailableError without pygraphviz."""
        return svg(self.edges, self.lines)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The text of EXPLAIN PATTERN for a statement (``str``), with the automata of its clauses (``automata``)."""

    text: str
    automata: tuple[Automaton, ...]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        drawn = "".join(figure(one) for one in self.automata)
        return f"{drawn}<details><summary>EXPLAIN PATTERN</summary><pre>{html.escape(self.text)}</pre></details>"


def explanation(rewritten: Rewritten) -> Explanation:
    """The explanation of an analysed statement."""
    automata = tuple(_automaton(rewritten.text, part) for part in rewritten.clauses)
    return Explanation("\n".join(explain_lines(rewritten)), automata)


def conditions(part: RewrittenClause) -> dict[str, str]:
    """By variable, the condition on its rows or events alone; of MATCH AUTOMATON none: its conditions are those of arcs."""
    if isinstance(part.bound, BoundRowPattern):
        defines = {define.variable: define.text for define in part.bound.defines}
        rows = {name: " AND ".join(text for text, _ in found.parts) for name, found in part.bound.conditions.items()}
        return {name: defines.get(name) or rows.get(name, "") for name in part.bound.variables}
    if isinstance(part.bound, BoundAutomaton):
        return {}
    steps = part.bound.test_steps
    return {name: " AND ".join(text.replace("`", "") for text, _ in found) for name, found in steps.items()}


def satisfied(part: RewrittenClause) -> dict[str, str]:
    """By variable, what its rows or events satisfy: the conditions on them alone, and those between events that name it."""
    found = {name: [text] if text else [] for name, text in conditions(part).items()}
    for predicate in part.spec.predicates if isinstance(part.spec, EventPatternSpec) else ():
        for name in variables(predicate.condition):
            found[name].append(predicate.text)
    return {name: " AND ".join(texts) for name, texts in found.items()}


def automaton(text: str, part: RewrittenClause, found: Sequence[Edge], lines: Lines) -> Automaton:
    """The automaton of a clause of ``text`` with these transitions."""
    return Automaton(clause_title(text, part), tuple(found), lines, clause_html(text, part, found))


def figure(drawn: Automaton, result: str = "") -> str:
    """The HTML of a drawing: its title with the ``result`` (HTML), the automaton, and the text of its clause."""
    try:
        drawing = drawn.svg() or f"an automaton of {len(drawn.edges)} steps"
    except DrawingUnavailableError as error:
        drawing = html.escape(str(error))
    return (
        f'<figure class="cep" style="margin:0 0 1em">{style(drawn.edges)}<figcaption>{html.escape(drawn.title)}{result}</figcaption>'
        f'<div style="overflow-x:auto">{drawing}</div>{drawn.clause}</figure>'
    )


def _automaton(text: str, part: RewrittenClause) -> Automaton:
    found, asked = _edges(part), conditions(part)
    return automaton(text, part, found, {name: wrapped(asked.get(variable_of(name), "")) for name in classes(found)})


def _edges(part: RewrittenClause) -> list[Edge]:
    """The transitions of a clause; of MATCH PATTERNS those of each pattern, with its name before its states."""
    if isinstance(part.pushdown, str) or not part.pushdown.spec.patterns:
        return edges(part.spec)
    return [edge for one in part.pushdown.spec.patterns for edge in _named(one, part.pushdown.spec)]


def _named(one: NamedPattern, spec: AggregateSpec) -> list[Edge]:
    found = edges(replace(spec, pattern=one.pattern))
    names = {state: f"{one.name}: {state}" for state in classes(found)} | {START: START, END: f"{END} of {one.name}"}
    return [Edge(names[edge.source], names[edge.target], edge.label) for edge in found]
