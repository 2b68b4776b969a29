"""What ``sparkcep.explain`` returns: EXPLAIN PATTERN as an object with its text and, in a notebook, the automaton drawn above it."""

from __future__ import annotations

import html
from dataclasses import dataclass

from rewrites import Rewritten, RewrittenClause
from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.row_pattern import BoundRowPattern
from sparkcep.explanation.automaton import Edge, edges
from sparkcep.explanation.drawing import DrawingUnavailableError, svg
from sparkcep.explanation.report import clause_title, explain_lines


@dataclass(frozen=True, slots=True)
class Automaton:
    """The automaton of one clause. ``conditions``: by variable, the condition on its rows or events."""

    title: str
    edges: tuple[Edge, ...]
    conditions: dict[str, str]

    def svg(self) -> str:
        """The drawing. Raises DrawingUnavailableError without pygraphviz."""
        return svg(self.edges, self.conditions)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The text of EXPLAIN PATTERN for a statement (``str``), with the automata of its clauses (``automata``)."""

    text: str
    automata: tuple[Automaton, ...]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        drawn = "".join(_figure(automaton) for automaton in self.automata)
        return f"{drawn}<details><summary>EXPLAIN PATTERN</summary><pre>{html.escape(self.text)}</pre></details>"


def explanation(rewritten: Rewritten) -> Explanation:
    """The explanation of an analysed statement."""
    automata = tuple(_automaton(rewritten.text, part) for part in rewritten.clauses)
    return Explanation("\n".join(explain_lines(rewritten)), automata)


def _automaton(text: str, part: RewrittenClause) -> Automaton:
    return Automaton(clause_title(text, part), tuple(edges(part.spec)), dict(_conditions(part)))


def _conditions(part: RewrittenClause) -> list[tuple[str, str]]:
    if isinstance(part.bound, BoundRowPattern):
        defines = {define.variable: define.text for define in part.bound.defines}
        rows = {name: " AND ".join(text for text, _ in found.parts) for name, found in part.bound.conditions.items()}
        return [(name, defines.get(name) or rows.get(name, "")) for name in part.bound.variables]
    if isinstance(part.bound, BoundAutomaton):
        return []  # the conditions stand on the arcs
    return [
        (name, " AND ".join(text.replace("`", "") for text, _ in steps))
        for name, steps in part.bound.test_steps.items()
    ]


def _figure(automaton: Automaton) -> str:
    try:
        drawing = automaton.svg() or f"an automaton of {len(automaton.edges)} steps"
    except DrawingUnavailableError as error:
        drawing = html.escape(str(error))
    return f"<figure style='margin:0 0 1em'><figcaption>{html.escape(automaton.title)}</figcaption>{drawing}</figure>"
