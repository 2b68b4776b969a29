"""A running stream as a chart that grows: what comes in, what is kept, what is found, how far time is behind.

In: a streaming query with clauses in it. Out: a figure of its recent micro-batches, redrawn under a notebook's cell until the query ends or the cell
is stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any

from sparkcep.errors import CepUnsupportedError

OBSERVATION = "sparkcep"
"""The name of a clause's observed metrics begins with this."""
PANELS = ("events per second", "rows kept", "matches", "watermark's lag (s)")
DPI = 110
EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One micro-batch; ``lag``: seconds from the watermark to the greatest event time, None before there is one."""

    number: int
    events_per_second: float
    rows_kept: int
    matches: int
    lag: float | None

    @property
    def values(self) -> tuple[float | None, ...]:
        """One value for each of PANELS."""
        return self.events_per_second, self.rows_kept, self.matches, self.lag


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
        events_per_second=progress["processedRowsPerSecond"] or 0.0,
        rows_kept=sum(one["rows_kept"] or 0 for one in counts),
        matches=sum(one["matches"] or 0 for one in counts),
        lag=_lag(progress["eventTime"]),
    )


def _lag(times: Mapping[str, str]) -> float | None:
    """The watermark stands at 1970 until there is one."""
    if "max" not in times or _seconds(times.get("watermark", EPOCH)) <= 0:
        return None
    return _seconds(times["max"]) - _seconds(times["watermark"])


def _observed(metrics: Mapping[str, Any]) -> Iterable[Any]:
    return (row for name, row in metrics.items() if name.startswith(OBSERVATION))


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
