"""A line on the terminal, behind which the result is printed as if it had not been there."""

from __future__ import annotations

from rich.console import Console
from rich.status import Status

from sparkcep.progress.follow import Show
from sparkcep.progress.status import Progress


def on_terminal() -> Show:
    """Shows progress on standard error, if that is a terminal."""
    console = Console(stderr=True)
    line: list[Status] = []

    def show(progress: Progress | None) -> None:
        if not console.is_terminal:
            return
        if progress is None:
            line.pop().stop()
        elif line:
            line[0].update(str(progress))
        else:
            line.append(console.status(str(progress)))
            line[0].start()

    return show
