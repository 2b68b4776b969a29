"""An automaton as SVG, laid out by Graphviz (bundled with pygraphviz; no program has to be installed)."""

from __future__ import annotations

import html
import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from sparkcep.explanation.automaton import END, MAX_EDGES, START, Edge

LINE = 30
"""The most characters of a condition on one line of a state."""

MOST_LINES = 3


class DrawingUnavailableError(ImportError):
    """pygraphviz is not installed."""


def svg(edges: Sequence[Edge], conditions: Mapping[str, str] | None = None) -> str:
    """The SVG element; empty if the automaton has more than MAX_EDGES transitions.

    ``conditions``: by variable, the condition of its state on a row or event. Raises DrawingUnavailableError without pygraphviz.
    """
    if len(edges) > MAX_EDGES:
        return ""
    graph = _graph()
    names = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
    for name in names:
        graph.add_node(name, **_node(name, (conditions or {}).get(name.split("#")[0], "")))
    for edge in edges:
        style = "dashed" if edge.label.startswith("no ") else "solid"
        graph.add_edge(edge.source, edge.target, label=f" {edge.label} " if edge.label else "", style=style)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Graphviz reports font fallbacks
        drawn = graph.draw(format="svg", prog="dot").decode()
    return re.sub(r"<!--.*?-->", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)


def _graph() -> Any:
    try:
        from pygraphviz import AGraph
    except ImportError as error:
        raise DrawingUnavailableError("drawings need pygraphviz: pip install 'sparkcep[notebook]'") from error
    graph = AGraph(strict=False, directed=True, rankdir="LR", nodesep="0.3", ranksep="0.45", bgcolor="transparent")
    graph.node_attr.update(fontname="Helvetica", fontsize="11", shape="box", style="rounded,filled")
    graph.node_attr.update(fillcolor="#eaf2fb", color="#2b6cb0", fontcolor="#1a202c", margin="0.14,0.08")
    graph.edge_attr.update(fontname="Helvetica", fontsize="10", color="#4a5568", fontcolor="#9b2c2c", arrowsize="0.7")
    return graph


def _node(name: str, condition: str) -> dict[str, str]:
    if name == START:
        return {"label": "start", "shape": "circle", "fillcolor": "#f7fafc", "color": "#4a5568", "margin": "0.02"}
    if name.startswith(END):
        label = "\\n".join(textwrap.wrap(name, 16))
        return {"label": label, "shape": "box", "peripheries": "2", "fillcolor": "#e6f6ec", "color": "#2f855a"}
    lines = textwrap.wrap(" ".join(condition.split()), LINE)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"{lines[MOST_LINES - 1]} …"]
    small = "".join(f'<BR/><FONT POINT-SIZE="9" COLOR="#4a5568">{html.escape(line)}</FONT>' for line in lines)
    return {"label": f"<<B>{html.escape(name)}</B>{small}>"}
