"""The text of a clause as HTML, in which the parts that a state or an arrow of its drawing stands for have the CSS class of that.

In: an analysed clause and the transitions drawn. What a state stands for: its variable in the pattern and the conditions on it; of MATCH AUTOMATON
the arcs that leave it. Out: HTML, and the style sheet by which pointing at one highlights the other: no script is needed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from rewrites import RewrittenClause
from rewrites.dialect.clause import MatchAutomatonClause, MatchPatternClause, MatchRecognizeClause
from rewrites.dialect.tokens import tokenize
from sparkcep.errors import Span
from sparkcep.explanation.automaton import MAX_EDGES, Edge
from sparkcep.explanation.drawing import classes

Part = tuple[Span, tuple[str, ...]]
"""A place in the text, and the variables of which it speaks."""


def variable_of(state: str) -> str:
    """The variable whose event or row a state takes: ``worse#2`` and ``bought: view, worse`` take ``worse``."""
    return re.split(r"[#\[]", state.split(": ")[-1].split(", ")[-1])[0]


def clause_html(text: str, part: RewrittenClause, edges: Sequence[Edge]) -> str:
    """The lines of the clause in ``text``."""
    site = part.clause.site
    start, end = text.rfind("\n", 0, site.keyword.start) + 1, site.span.end
    shown, at = [], start
    for span, names in sorted(_classed(text, part, edges), key=lambda place: place[0].start):
        if span.start < at or not names:
            continue
        marked = f'<span class="{" ".join(names)}" tabindex="0">{html.escape(text[span.start : span.end])}</span>'
        shown += [html.escape(text[at : span.start]), marked]
        at = span.end
    return f"<pre>{''.join(shown)}{html.escape(text[at:end])}</pre>"


def style(edges: Sequence[Edge]) -> str:
    """The rules by which pointing at a part of the drawing, or at its text, highlights both; none if there is no drawing."""
    if len(edges) > MAX_EDGES:
        return ""
    marks = [*classes(edges).values(), *(f"e{i}" for i in range(len(edges)))]
    pointed = ", ".join(f".cep:has(.{mark}:is(:hover, :focus)) span.{mark}" for mark in marks)
    drawn = ", ".join(f".cep:has(.{mark}:is(:hover, :focus)) g.{mark} path" for mark in marks)
    return (
        f"<style>{pointed} {{ background: #fefcbf; color: #1a202c; box-shadow: 0 0 0 2px #fefcbf }} {drawn} {{ stroke-width: 3 }} "
        ".cep :focus { outline: none } .cep pre { margin: .5em 0 }</style>"
    )


def _classed(text: str, part: RewrittenClause, edges: Sequence[Edge]) -> Iterator[Part]:
    """The places, with the classes that they have in the drawing."""
    of_state = classes(edges)
    if isinstance(
        part.clause, MatchAutomatonClause
    ):  # the first arrow leads to the start state, the others are the arcs
        for number, (arc, edge) in enumerate(zip(part.clause.arcs, edges[1:], strict=False), 1):
            yield arc.span, (f"e{number}", of_state[edge.source])
        return
    for span, variables in _places(text, part.clause):
        found = {css: None for state, css in of_state.items() if variable_of(state).lower() in variables}
        yield span, tuple(found)


def _places(text: str, clause: MatchRecognizeClause | MatchPatternClause) -> Iterator[Part]:
    """The parts of a clause about variables, whose names are in lower case."""
    if isinstance(clause, MatchRecognizeClause):
        yield from ((one.condition.span, (one.variable.value.lower(),)) for one in clause.defines)
        yield from _words(text, clause.pattern_span)
        return
    for conjunct in clause.conjuncts:
        yield conjunct.span, tuple(name for _, names in _words(text, conjunct.span) for name in names)
    for _, _, span in clause.patterns:
        yield from _words(text, span)


def _words(text: str, within: Span) -> Iterator[Part]:
    yield from ((token.span, (token.text.lower(),)) for token in tokenize(text).inside(within) if token.is_name)
