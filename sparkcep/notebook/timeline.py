"""Matches on a timeline, drawn with matplotlib: one lane per match, one point per event, one colour per variable.

In a notebook it is SVG; over each point lies an element that shows, when the mouse is over it, what the event is. Style sheets do this, so it also
works in an exported page; the PNG is for what shows no HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.errors import CepUnsupportedError
from sparkcep.session import timeline

MOST_LANES = 30
"""The most matches drawn: the first ones, in order of partition and time."""

MOST_EVENTS = 5000
"""The most events fetched for them."""

LANE = 0.32
"""The height of a lane in inches."""

DPI = 110


UPWARDS = 0.4
"""Below this part of the height, what is told opens upwards."""

_STYLE = """<style>
.cep-time { position: relative; background: #fff; border-bottom: 2em solid #fff }
.cep-time svg { display: block; height: auto }
.cep-time i { position: absolute; width: 14px; height: 14px; margin: -7px; border-radius: 50%; font-style: normal }
.cep-time i:hover { z-index: 9; box-shadow: 0 0 0 2px #1a202c }
.cep-time span { display: none; position: absolute; width: max-content; max-width: 340px; padding: 5px 9px; border-radius: 4px;
  background: #1a202c; color: #e2e8f0; font: 12px/1.45 sans-serif }
.cep-time i:hover span { display: block }
</style>"""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a match: its lane and time, its variable, and columns of its row as (name, value)."""

    lane: str
    at: Any
    variable: str
    told: Sequence[tuple[str, str]]


Match = tuple[str, list[Event]]
"""A lane, and its events."""


@dataclass(frozen=True, slots=True, repr=False)
class Timeline:
    """A drawing of matches; ``figure`` is a matplotlib Figure that can be modified or saved. ``events``: (lane's number, event), to be pointed at;
    ``conditions``: by variable, what its events satisfy."""

    figure: Any
    events: Sequence[tuple[int, Event]]
    conditions: Mapping[str, str]

    def __repr__(self) -> str:
        return f"time line of {len(self.figure.axes[0].get_yticks())} matches"

    def _repr_png_(self) -> bytes:
        out = BytesIO()
        self.figure.savefig(out, format="png", dpi=DPI)
        return out.getvalue()

    def _repr_html_(self) -> str:
        width = int(self.figure.get_figwidth() * DPI)
        return f'{_STYLE}<div class="cep-time" style="max-width:{width}px">{self._svg()}{"".join(self._points())}</div>'

    def _svg(self) -> str:
        from matplotlib import rc_context

        out = StringIO()
        with rc_context({"svg.fonttype": "none"}):
            self.figure.savefig(out, format="svg", metadata={"Date": None})
        drawn = out.getvalue()
        return re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', 'width="100%"', drawn[drawn.index("<svg") :], count=1)

    def _points(self) -> Iterator[str]:
        """The elements over the points, placed by parts of the figure's width and height."""
        self.figure.draw_without_rendering()
        axes = self.figure.axes[0]
        place = axes.transData + self.figure.transFigure.inverted()
        for lane, event in self.events:
            x, y = place.transform((axes.convert_xunits(event.at), lane))
            sides = f"{'right' if x > 0.5 else 'left'}:18px;{'bottom' if y < UPWARDS else 'top'}:0"
            text = _text(event, self.conditions.get(event.variable, ""))
            yield f'<i style="left:{x:.2%};top:{1 - y:.2%}"><span style="{sides}">{text}</span></i>'


def draw(text: str, spark: SparkSession, lanes: int = MOST_LANES) -> Timeline:
    """Draw the matches of the last clause of ``text``. Raises CepUnsupportedError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CepUnsupportedError(
            "timelines without matplotlib", code="TIMELINE", hint="pip install 'sparkcep[notebook]'"
        ) from error
    query = timeline(text, spark)
    matches = _matches(spark.sql(query.sql).limit(MOST_EVENTS).collect())
    shown = matches[:lanes]
    figure = Figure(figsize=(9.5, 1.25 + LANE * max(len(shown), 1)), layout="constrained")
    axes = figure.add_subplot()
    _lanes(axes, shown)
    _labels(axes, shown, query.lanes, len(matches))
    return Timeline(figure, [(y, event) for y, (_, events) in enumerate(shown) for event in events], query.conditions)


def _text(event: Event, condition: str) -> str:
    """What is told of an event, as HTML."""
    columns = " · ".join(f"{html.escape(name)} <b>{html.escape(str(value))}</b>" for name, value in event.told)
    head = " · ".join(
        (
            f"<b>{html.escape(event.variable)}</b>",
            *(html.escape(str(part)) for part in (event.at, event.lane) if part != ""),
        )
    )
    parts = (head, html.escape(" ".join(condition.split())), columns)
    return "<br>".join(part for part in parts if part)


def _matches(rows: Sequence[Any]) -> list[Match]:
    found: dict[tuple[str, Any], list[Event]] = {}
    for lane, match, at, variable, told in rows:
        event = Event(lane, at, variable, [(name, "NULL" if value is None else value) for name, value in told])
        found.setdefault((lane, match), []).append(event)
    ordered = sorted(found.items(), key=lambda item: (item[0][0], item[1][0].at))
    return [(lane, events) for (lane, _), events in ordered]


def _lanes(axes: Any, matches: list[Match]) -> None:
    variables = list(dict.fromkeys(event.variable for _, events in matches for event in events))
    colours = {name: f"C{i % 10}" for i, name in enumerate(variables)}
    for y, (_, events) in enumerate(matches):
        axes.plot([events[0].at, events[-1].at], [y, y], color="#cbd5e0", linewidth=3, solid_capstyle="round", zorder=1)
    for name in variables:
        points = [(event.at, y) for y, (_, events) in enumerate(matches) for event in events if event.variable == name]
        times, heights = zip(*points, strict=True)
        axes.scatter(times, heights, s=42, color=colours[name], edgecolor="white", linewidth=0.8, label=name, zorder=2)


def _labels(axes: Any, matches: list[Match], names: str, count: int) -> None:
    lanes = [lane for lane, _ in matches]
    axes.set_yticks(range(len(lanes)), [lane if i == 0 or lanes[i - 1] != lane else "" for i, lane in enumerate(lanes)])
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_ylabel(names)
    axes.margins(x=0.03)
    axes.grid(axis="x", color="#e2e8f0")
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if not matches:
        axes.text(0.5, 0.5, "no match", transform=axes.transAxes, ha="center", va="center")
        return
    if hasattr(matches[0][1][0].at, "year"):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, frameon=False, handletextpad=0.1, borderaxespad=0)
    if count > len(matches):
        note = f"the first {len(matches)} of {count} matches fetched"
        axes.set_title(note, loc="right", fontsize=9, color="#718096")
