"""Matches on a timeline, drawn with matplotlib: one lane per match, one point per event, one colour per variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
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


@dataclass(frozen=True, slots=True, repr=False)
class Timeline:
    """A drawing of matches; ``figure`` is a matplotlib Figure that can be modified or saved."""

    figure: Any

    def __repr__(self) -> str:
        return f"time line of {len(self.figure.axes[0].get_yticks())} matches"

    def _repr_png_(self) -> bytes:
        out = BytesIO()
        self.figure.savefig(out, format="png", dpi=DPI)
        return out.getvalue()


def draw(text: str, spark: SparkSession, lanes: int = MOST_LANES) -> Timeline:
    """Draw the matches of the last clause of ``text``. Raises CepUnsupportedError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CepUnsupportedError(
            "timelines without matplotlib", code="TIMELINE", hint="pip install 'sparkcep[notebook]'"
        ) from error
    query, names = timeline(text, spark)
    matches = _matches(spark.sql(query).limit(MOST_EVENTS).collect())
    shown = matches[:lanes]
    figure = Figure(figsize=(9.5, 1.25 + LANE * max(len(shown), 1)), layout="constrained")
    axes = figure.add_subplot()
    _lanes(axes, shown)
    _labels(axes, shown, names, len(matches))
    return Timeline(figure)


Match = tuple[str, list[tuple[Any, str]]]
"""A lane, and (time, variable) of each event."""


def _matches(rows: Sequence[Any]) -> list[Match]:
    found: dict[tuple[str, Any], list[tuple[Any, str]]] = {}
    for lane, match, at, variable in rows:
        found.setdefault((lane, match), []).append((at, variable))
    ordered = sorted(found.items(), key=lambda item: (item[0][0], item[1][0][0]))
    return [(lane, events) for (lane, _), events in ordered]


def _lanes(axes: Any, matches: list[Match]) -> None:
    variables = list(dict.fromkeys(name for _, events in matches for _, name in events))
    colours = {name: f"C{i % 10}" for i, name in enumerate(variables)}
    for y, (_, events) in enumerate(matches):
        axes.plot([events[0][0], events[-1][0]], [y, y], color="#cbd5e0", linewidth=3, solid_capstyle="round", zorder=1)
    for name in variables:
        points = [(at, y) for y, (_, events) in enumerate(matches) for at, variable in events if variable == name]
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
    if hasattr(matches[0][1][0][0], "year"):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, frameon=False, handletextpad=0.1, borderaxespad=0)
    if count > len(matches):
        note = f"the first {len(matches)} of {count} matches fetched"
        axes.set_title(note, loc="right", fontsize=9, color="#718096")
