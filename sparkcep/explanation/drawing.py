"""An automaton as SVG, laid out by Graphviz (bundled with pygraphviz; no program has to be installed)."""

from __future__ import annotations

import html
import re
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sparkcep.explanation.automaton import END, MAX_EDGES, START, Edge

WIDTH = 30
"""The most characters of a condition on one line of a state."""

MOST_LINES = 3
SMALLEST = 0.7
"""Where there is little room, a drawing is made smaller by no more than this factor; then it scrolls."""

GREY, RED = "#4a5568", "#c53030"

Fate = Literal["", "stopped", "unreached"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line on a state or an arrow. ``fate``: nothing came there (unreached), or came and got no further (stopped).

    It colours the state or arrow, even without a text.
    """

    text: str
    fate: Fate = ""
    bold: bool = False


Lines = Mapping[str | int, Sequence[Line]]
"""What is written on states, by name, and on arrows, by their numbers."""


class DrawingUnavailableError(ImportError):
    """pygraphviz is not installed."""


def svg(edges: Sequence[Edge], lines: Lines) -> str:
    """The SVG element; empty if the automaton has more than MAX_EDGES transitions.

    Its states have the classes that ``classes`` names, the arrows ``e0``, ``e1`` and so on. Raises DrawingUnavailableError without pygraphviz.
    """
    if len(edges) > MAX_EDGES:
        return ""
    graph = _graph()
    for name, css in classes(edges).items():
        graph.add_node(name, **_node(name, lines.get(name, ())), **{"class": css})
    for number, edge in enumerate(edges):
        graph.add_edge(
            edge.source, edge.target, number, **_arrow(edge, lines.get(number, ())), **{"class": f"e{number}"}
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Graphviz reports font fallbacks
        drawn = graph.draw(format="svg", prog="dot").decode()
    drawn = re.sub(r"<!--.*?-->", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    drawn = re.sub(r'class="(node|edge) (\w+)"', r'class="\1 \2" tabindex="0"', drawn)
    return re.sub(r'<svg width="(\d+)pt" height="\d+pt"', _sized, drawn)


def _sized(size: re.Match[str]) -> str:
    """The drawing as wide as there is room, and readable."""
    return f'<svg width="{size[1]}pt" style="background:#fff;max-width:100%;min-width:{int(int(size[1]) * SMALLEST)}pt;height:auto"'


def classes(edges: Sequence[Edge]) -> dict[str, str]:
    """The CSS class of each state."""
    names = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
    return {name: f"s{i}" for i, name in enumerate(names)}


def wrapped(condition: str) -> list[Line]:
    """A condition in at most ``MOST_LINES`` lines."""
    found = textwrap.wrap(" ".join(condition.split()), WIDTH)
    if len(found) > MOST_LINES:
        found = [*found[: MOST_LINES - 1], f"{found[MOST_LINES - 1]} …"]
    return [Line(text) for text in found]


def _graph() -> Any:
    try:
        from pygraphviz import AGraph
    except ImportError as error:
        hint = "pip install 'sparkcep[notebook]'; where that is done, its system libraries (Debian: apt install libglib2.0-0 libxext6 libxrender1)"
        raise DrawingUnavailableError(f"drawings need pygraphviz ({error}): {hint}") from error
    graph = AGraph(strict=False, directed=True, rankdir="LR", nodesep="0.3", ranksep="0.45", bgcolor="transparent")
    graph.node_attr.update(fontname="Helvetica", fontsize="11", shape="box", style="rounded,filled")
    graph.node_attr.update(fillcolor="#eaf2fb", color="#2b6cb0", fontcolor="#1a202c", margin="0.14,0.08")
    graph.edge_attr.update(fontname="Helvetica", fontsize="10", color="#718096", arrowsize="0.7")
    return graph


def _node(name: str, lines: Sequence[Line]) -> dict[str, str]:
    if name == START:
        return {"label": "start", "shape": "circle", "fillcolor": "#f7fafc", "color": GREY, "margin": "0.02"}
    title = "<BR/>".join(f"<B>{html.escape(part)}</B>" for part in textwrap.wrap(name, WIDTH))
    shown = {"label": f"<{title}{''.join(f'<BR/>{_small(line)}' for line in lines if line.text)}>"}
    if name.startswith(END):
        shown |= {"shape": "box", "peripheries": "2", "fillcolor": "#e6f6ec", "color": "#2f855a"}
    return shown | _NODES[_fate(lines)]


def _arrow(edge: Edge, lines: Sequence[Line]) -> dict[str, str]:
    style = {"style": "dashed"} if edge.label.startswith("no ") else {}
    texts = [_small(line) for line in (*wrapped(edge.label), *lines) if line.text]
    label = {"label": f"<{_CELL}{'<BR/>'.join(texts)}</TD></TR></TABLE>>"} if texts else {}
    return style | label | _ARROWS[_fate(lines)]


_CELL = '<TABLE BORDER="0" CELLSPACING="0" CELLPADDING="4"><TR><TD>'
"""Keeps an arrow's label off the arrow."""

_NODES: Mapping[Fate, dict[str, str]] = {
    "": {},
    "stopped": {"fillcolor": "#fff5f5", "color": RED, "penwidth": "2"},
    "unreached": {"fillcolor": "#f7fafc", "color": "#a0aec0", "style": "rounded,filled,dashed"},
}
_ARROWS: Mapping[Fate, dict[str, str]] = {
    "": {},
    "stopped": {"color": RED, "penwidth": "2"},
    "unreached": {"color": "#a0aec0", "style": "dashed"},
}


def _fate(lines: Iterable[Line]) -> Fate:
    fates = {line.fate for line in lines}
    return "stopped" if "stopped" in fates else "unreached" if "unreached" in fates else ""


def _small(line: Line) -> str:
    text = f"<B>{html.escape(line.text)}</B>" if line.bold else html.escape(line.text)
    return f'<FONT POINT-SIZE="9" COLOR="{RED if line.fate == "stopped" else GREY}">{text}</FONT>'
