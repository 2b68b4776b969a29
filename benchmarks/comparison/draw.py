"""The plots and the tables of ``docs/comparison.md`` from the results of a run.

In: the JSON that ``python benchmarks/comparison`` wrote. Out: ``comparison-rows.svg``, ``comparison-patterns.svg`` and ``comparison-memory.svg``
in the folder, and the tables between the markers of its ``comparison.md``, if there is one. White ground, so that they can be read on a dark page
too; colours of Okabe and Ito, a marker for each engine. A cross on the limit's line: stopped there. Nothing is measured here.

    python benchmarks/comparison/draw.py [--results FILE] [--folder DIR] [--format svg|png]
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
STYLES = {
    "sparkcep": ("#D55E00", "o", "-"),
    "Spark SQL": ("#0072B2", "s", "-"),
    "Flink SQL": ("#CC79A7", "^", "-"),
    "DuckDB": ("#009E73", "D", "-"),
    "pandas": ("#56B4E9", "v", "--"),
    "pandas-match-recognize": ("#E69F00", "P", "--"),
    "Siddhi": ("#000000", "X", ":"),
    "BoboCEP": ("#777777", "*", ":"),
}
"""Colour, marker, line."""

TITLES = {
    "vee": "row pattern: a V by key",
    "funnel": "funnel: next match, within 100 s",
    "sequence": "sequence: any match, within 100 s",
}
Point = dict[str, Any]
APART = 1.35
"""Crosses of one point stand above each other, each so many times as high as the one before."""


def main() -> None:
    """Draw everything that the results have."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "docs")
    parser.add_argument("--format", default="svg", choices=("svg", "png"))
    options = parser.parse_args()
    run = json.loads(options.results.read_text(encoding="utf-8"))
    points, limit = run["points"], run["about"]["limit"]
    if {point["varies"] for point in points} < {"rows", "window", "length", "selectivity"}:
        raise SystemExit(f"{options.results} has not all series: run python benchmarks/comparison without --only")
    pictures = {"rows": by_rows(points, limit), "patterns": by_pattern(points, limit), "memory": by_memory(points)}
    for name, figure in pictures.items():
        figure.savefig(
            options.folder / f"comparison-{name}.{options.format}", dpi=110, metadata=_undated(options.format)
        )
    page = options.folder / "comparison.md"
    if page.exists():
        page.write_text(filled(page.read_text(encoding="utf-8"), run), encoding="utf-8")


def by_rows(points: Sequence[Point], limit: float) -> Any:
    """A panel for each question, seconds over rows."""
    panels = [(TITLES[name], "rows", lambda p: p["rows"], _of(points, "rows", question=name)) for name in TITLES]
    return lines(panels, limit, (11, 4.2), 3)


def by_pattern(points: Sequence[Point], limit: float) -> Any:
    """The sequence: seconds over its window, its length with and without a condition, and what it finds."""
    rising = [point for point in _of(points, "length") if point["rise"] is not None]
    counted = [point for point in _of(points, "length") if point["rise"] is None]
    found = _found(_of(points, "selectivity"))
    panels = [
        (
            "by window: three types, prices rising",
            "window (s) = events of a key in it",
            lambda p: p["window"],
            _of(points, "window"),
        ),
        ("by length: within 100 s, prices rising", "types in the sequence", lambda p: p["length"], rising),
        ("by length, any price, within 300 s: a count of all", "types in the sequence", lambda p: p["length"], counted),
        ("by selectivity: three types within 100 s", "matches per 1,000 rows", found, _of(points, "selectivity")),
    ]
    return lines(panels, limit, (11, 7.4), 2)


def lines(
    panels: Sequence[tuple[str, str, Callable[[Point], float], list[Point]]], limit: float, size: Any, columns: int
) -> Any:
    """Panels with a line for each engine, both axes logarithmic but for lengths; one legend."""
    figure = _figure(size)
    grid = figure.subplots(-(-len(panels) // columns), columns, sharey=True)
    for axes, (title, label, across, points) in zip(grid.flat, panels, strict=True):
        crosses: dict[float, list[str]] = {}
        for name in _names(points):
            _line(axes, name, [point for point in points if point["peer"] == name], across, limit, crosses)
        axes.set(title=title, xlabel=label, yscale="log")
        if label.startswith("types"):
            axes.set_xticks(sorted({point["length"] for point in points}))
        else:
            axes.set_xscale("log")
        axes.axhline(limit, color="#999999", linewidth=0.8, linestyle=(0, (2, 3)))
        axes.tick_params(labelleft=True)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_major_formatter(_short)
    for axes in grid.flat[::columns]:
        axes.set_ylabel("seconds, warm (fastest)")
    _legend(figure, grid.flat)
    return figure


def _line(
    axes: Any,
    name: str,
    points: Sequence[Point],
    across: Callable[[Point], float],
    limit: float,
    crosses: dict[float, list[str]],
) -> None:
    """An engine's points, and a cross where it did not answer; ``crosses``: who already has one there."""
    colour, marker, style = STYLES[name]
    done = sorted((across(point), min(point["seconds"])) for point in points if point["status"] == "answered")
    strong = {"linewidth": 2.6, "zorder": 3} if name == "sparkcep" else {"linewidth": 1.5}
    axes.plot(
        *zip(*done, strict=True) if done else ([], []),
        color=colour,
        marker=marker,
        linestyle=style,
        label=name,
        **strong,
    )
    for point in points:
        if point["status"] != "answered":
            last = [done[-1]] if done else []
            here = crosses.setdefault(across(point), [])
            here.append(name)
            xs, ys = zip(*last, (across(point), limit * APART ** (len(here) - 1)), strict=True)
            axes.plot(xs, ys, color=colour, linestyle=style, linewidth=1, alpha=0.6)
            axes.plot(xs[-1], ys[-1], color=colour, marker="x", markersize=9, markeredgewidth=2, linestyle="")


def by_memory(points: Sequence[Point]) -> Any:
    """Bars: the peak of each engine and question, at the most rows that it answered."""
    figure = _figure((11, 3.8))
    for axes, name in zip(figure.subplots(1, 3, sharex=True), TITLES, strict=True):
        asked = _of(points, "rows", question=name)
        names = _names(asked)[::-1]
        most = [
            max((p for p in asked if p["peer"] == one and p["status"] == "answered"), key=lambda p: p["rows"])
            for one in names
        ]
        bars = axes.barh(names, [point["megabytes"] for point in most], color=[STYLES[one][0] for one in names])
        labels = [f"{p['megabytes']:,.0f} MB" + _unless_all(p, asked) for p in most]
        axes.bar_label(bars, labels, padding=3, fontsize=8)
        axes.set(title=TITLES[name], xlabel="peak memory (MB)")
        axes.set_xlim(
            0, 1.7 * max(point["megabytes"] for point in points if "megabytes" in point and point["varies"] == "rows")
        )
    return figure


def _unless_all(point: Point, asked: Sequence[Point]) -> str:
    return "" if point["rows"] == max(p["rows"] for p in asked) else f" at {_short(point['rows'], 0)} rows"


def filled(page: str, run: dict[str, Any]) -> str:
    """The page with its tables anew."""
    return re.sub(
        r"(<!-- numbers -->\n).*?(<!-- /numbers -->)",
        lambda found: found[1] + numbers(run) + found[2],
        page,
        flags=re.S,
    )


def numbers(run: dict[str, Any]) -> str:
    """Where and when, and a table for each question and what varies: seconds, and how often sparkcep's they are."""
    about, points = run["about"], run["points"]
    out = [f"{about['machine']}. Runs:\n"]
    out += [f"* {', '.join(r['series'])}: began {r['began']}; ended {r.get('ended', 'early')}" for r in about["runs"]]
    out.append("\nSeconds; in brackets, how many times sparkcep's; †: asked once only, because it took long.\n")
    shown = {"rows": "rows", "window": "window (s)", "length": "length", "selectivity": "least rise"}
    for varies, label in shown.items():
        for question, any_price in dict.fromkeys((p["question"], p["rise"] is None) for p in _of(points, varies)):
            mine = [
                p
                for p in _of(points, varies, question=question)
                if varies == "selectivity" or (p["rise"] is None) == any_price
            ]
            if varies == "selectivity" and any_price:
                continue
            price = f", any price, within {mine[0]['window']} s" if any_price else ""
            rows = "" if varies == "rows" else f", {mine[0]['rows']:,} rows"
            out.append(f"\n**{question}{price}, by {label}{rows}**\n")
            out.append(_table(mine, {"selectivity": "rise"}.get(varies, varies), label))
    return "\n".join(out) + "\n\n"


def _table(points: Sequence[Point], key: str, label: str) -> str:
    names, steps = _names(points), list(dict.fromkeys(point[key] for point in points))
    heads = [label, "found", *names]
    table = [heads, ["---"] + ["--:"] * (len(heads) - 1)]
    for step in steps:
        here = {point["peer"]: point for point in points if point[key] == step}
        ours = min(here["sparkcep"]["seconds"]) if here.get("sparkcep", {}).get("status") == "answered" else None
        found = next((f"{p['answer'][0]:,}" for p in here.values() if "answer" in p), "")
        first = "any price" if step is None else f"{step:,}"
        table.append([first, found, *(_cell(here.get(name), ours, name) for name in names)])
    return "\n".join(f"| {' | '.join(row)} |" for row in table)


def _cell(point: Point | None, ours: float | None, name: str) -> str:
    if point is None:
        return "not asked"
    if point["status"] != "answered":
        return point["status"]
    took = f"{min(point['seconds']):.3g}" + ("†" if len(point["seconds"]) == 1 else "")
    return took if name == "sparkcep" or ours is None else f"{took} ({min(point['seconds']) / ours:.2g})"


def _of(points: Iterable[Point], varies: str, **equal: Any) -> list[Point]:
    return [p for p in points if p["varies"] == varies and all(p[key] == value for key, value in equal.items())]


def _found(points: Sequence[Point]) -> Callable[[Point], float]:
    """What a point's question finds, whoever counted it."""
    counts = {p["rise"]: p["answer"][0] for p in points if "answer" in p}
    return lambda point: max(counts.get(point["rise"], 0), 1) * 1000 / point["rows"]


def _names(points: Sequence[Point]) -> list[str]:
    there = {point["peer"] for point in points}
    return [name for name in STYLES if name in there]


def _figure(size: tuple[float, float]) -> Any:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "comparison", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    matplotlib.rcParams.update(
        {"axes.axisbelow": True, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    return Figure(figsize=size, layout="constrained", facecolor="white")


def _short(number: float, _: int) -> str:
    return f"{number / 1e6:g}M" if number >= 1e6 else f"{number / 1e3:g}k" if number >= 1e4 else f"{number:g}"


def _legend(figure: Any, panels: Iterable[Any]) -> None:
    """Once for all panels, below them."""
    handles = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    ordered = [name for name in STYLES if name in handles]
    figure.legend([handles[name] for name in ordered], ordered, loc="outside lower center", ncols=8, frameon=False)


def _undated(form: str) -> dict[str, None] | None:
    """The same bytes for the same numbers."""
    return {"Date": None} if form == "svg" else None


if __name__ == "__main__":
    main()
