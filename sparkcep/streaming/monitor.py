"""A running stream as a chart that grows: what comes in, what is kept, what is found, how far time is behind.

In: a streaming query with clauses in it. Out: a figure of its recent micro-batches, redrawn under a notebook's cell until the query ends or the cell
is stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any

from sparkcep.errors import CepUnsupportedError

OBSERVATION = "sparkcep"
"""The name of a clause's observed metrics begins with this."""
PANELS = ("events per second", "rows kept", "matches", "watermark's lag (s)")
DPI = 110
LOOK = 0.2
"""Seconds between two looks at a running query."""
EPOCH = "1970-01-01T00:00:00Z"


def metrics_of(clause: str) -> str:
    """How the names of a clause's observed metrics begin; a use of it in a query adds a part of its own."""
    return f"{OBSERVATION}.{clause[:8]}"


def without_use(metrics: str) -> str:
    """``metrics_of`` the clause whose observed metrics have this name."""
    return ".".join(metrics.split(".")[:2])


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One micro-batch. ``rows_kept``, ``state_bytes``, ``matches``, ``late``: as the clauses' turns count them (``has_clause``: there are some).
    ``lag``: seconds from the watermark to the greatest event time, None before there is one."""

    number: int
    events: int
    events_per_second: float
    rows_kept: int
    state_bytes: int
    matches: int
    late: int
    lag: float | None
    has_clause: bool

    @property
    def values(self) -> tuple[float | None, ...]:
        """One value for each of PANELS."""
        return self.events_per_second, self.rows_kept, self.matches, self.lag

    def __str__(self) -> str:
        """One line."""
        parts = [f"micro-batch {self.number:3}: {self.events:7,} events, {self.events_per_second:7,.0f} a second"]
        if self.has_clause:
            parts.append(f"{self.rows_kept:7,} rows kept ({self.state_bytes / 1024:,.0f} KiB)")
            parts.append(f"{self.matches:5,} matches")
        if self.lag is not None:
            parts.append(f"watermark {self.lag:.1f} s behind")
        if self.late:
            parts.append(f"{self.late:,} late")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, repr=False)
class StreamMonitor:
    """``query``: a StreamingQuery. Shown by a notebook as it is at that moment; ``watch`` redraws it."""

    query: Any

    def __repr__(self) -> str:
        found = self.batches()
        return f"{len(found)} micro-batches, {sum(one.matches for one in found)} matches"

    def _repr_png_(self) -> bytes:
        out = BytesIO()
        self.figure().savefig(out, format="png", dpi=DPI)
        return out.getvalue()

    def batches(self) -> list[MicroBatch]:
        """The micro-batches that Spark still remembers (100, by default)."""
        return [_micro_batch(progress) for progress in self.query.recentProgress]

    def figure(self) -> Any:
        """The chart, as a matplotlib Figure."""
        from matplotlib.figure import Figure

        found = self.batches()
        figure = Figure(figsize=(9, 5), layout="constrained")
        for i, (axes, title) in enumerate(zip(figure.subplots(2, 2, sharex=True).flat, PANELS, strict=True)):
            known = [(one.number, value) for one in found if (value := one.values[i]) is not None]
            axes.plot([number for number, _ in known], [value for _, value in known], marker=".", color=f"C{i}")
            axes.set_title(title, fontsize=10)
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.3)
        figure.supxlabel("micro-batch", fontsize=9)
        return figure

    def watch(self, every: float = 2.0) -> StreamMonitor:
        """Redraw under the notebook's cell ``every`` so many seconds, until the query ends or the cell is interrupted."""
        from IPython.display import display

        handle = display(self, display_id=True)
        try:
            while self.query.isActive:
                time.sleep(every)
                if handle is not None:
                    handle.update(self)
        except KeyboardInterrupt:
            pass
        return self


def follow(query: Any, stopped: Callable[[float], bool], report: Callable[[MicroBatch], None]) -> int:
    """Report each micro-batch of a running query once, until ``stopped`` (it may wait so many seconds) or the query has ended; how many there were.

    Raises what ends the query.
    """
    seen, count = -1, 0
    ended = False
    while not ended:
        ended = stopped(LOOK) or not query.isActive
        for one in StreamMonitor(query).batches():
            if one.number > seen:
                report(one)
                seen, count = one.number, count + 1
    if (failure := query.exception()) is not None:
        raise failure
    return count


def stream_monitor(query: Any, every: float = 2.0) -> StreamMonitor:
    """Draw a running query: events, rows kept, matches, the watermark's lag. Needs ``pip install 'sparkcep[notebook]'``."""
    try:
        return StreamMonitor(query).watch(every)
    except ImportError as missing:
        raise CepUnsupportedError(
            f"a chart without {missing.name}", code="NOTEBOOK", hint="pip install 'sparkcep[notebook]'"
        ) from None


def _micro_batch(progress: Any) -> MicroBatch:
    counts = list(_observed(progress["observedMetrics"]))
    return MicroBatch(
        number=progress["batchId"],
        events=progress.numInputRows,
        events_per_second=progress["processedRowsPerSecond"] or 0.0,
        rows_kept=_total(counts, "rows_kept"),
        state_bytes=_total(counts, "state_bytes"),
        matches=_total(counts, "matches"),
        late=_total(counts, "late"),
        lag=_lag(progress["eventTime"]),
        has_clause=bool(counts),
    )


def _total(counts: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(one[name] or 0 for one in counts)


def _lag(times: Mapping[str, str]) -> float | None:
    """The watermark stands at 1970 until there is one."""
    if "max" not in times or _seconds(times.get("watermark", EPOCH)) <= 0:
        return None
    return _seconds(times["max"]) - _seconds(times["watermark"])


def _observed(metrics: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (_counts(row.asDict()) for name, row in metrics.items() if name.startswith(OBSERVATION))


def _counts(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of metrics by their names; Spark Connect gives the row's values and its schema instead."""
    if set(row) != {"values", "schema"}:
        return row
    return dict(zip((field["name"] for field in row["schema"]["fields"]), row["values"], strict=True))


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
