"""A bar under the cell, which is gone when the result is there."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from IPython.display import display

from sparkcep.progress import Progress
from sparkcep.progress.follow import Show


@dataclass(frozen=True, slots=True, repr=False)
class Bar:
    """Progress as a notebook shows it; None: nothing."""

    progress: Progress | None

    def __repr__(self) -> str:
        return "" if self.progress is None else str(self.progress)

    def _repr_html_(self) -> str:
        if self.progress is None:
            return ""
        done, tasks = self.progress.done, max(self.progress.tasks, 1)
        return f"<progress value='{done}' max='{tasks}'></progress> <small>{html.escape(str(self.progress))}</small>"


def under_cell() -> Show:
    """Shows progress in the output of the cell that runs."""
    handle: list[Any] = []

    def show(progress: Progress | None) -> None:
        if handle:
            handle[0].update(Bar(progress))
        elif progress is not None:
            handle.append(display(Bar(progress), display_id=True))

    return show
