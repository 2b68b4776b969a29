"""An error of a cell as its text alone: no traceback, and the SQL in lines that are not wrapped, so that the caret stays where it belongs."""

from __future__ import annotations

import re

from sparkcep.errors import CepError

WIDTH = 88
"""The most characters in a line of SQL: what a cell's output shows without wrapping on a laptop."""

_BOLD_RED, _UNDERLINE, _RED, _PLAIN = "\x1b[1;31m", "\x1b[4m", "\x1b[31m", "\x1b[0m"
_CARETS = re.compile(r"^(?P<before>[ \t]*)(?P<carets>\^+)$")


def lines(error: BaseException) -> list[str]:
    """The error's text, with the codes that a terminal and a notebook show in colour."""
    text = error.render(WIDTH) if isinstance(error, CepError) else str(error)
    first, *others = text.splitlines() or [type(error).__name__]
    found = [f"{_BOLD_RED}{first}{_PLAIN}"]
    for line in others:
        carets = _CARETS.match(line)
        if carets is not None:
            found[-1] = _underlined(found[-1], *carets.span("carets"))
        found.append(f"{_RED}{line}{_PLAIN}" if carets is not None else line)
    return found


def _underlined(line: str, start: int, end: int) -> str:
    return f"{line[:start]}{_UNDERLINE}{line[start:end]}{_PLAIN}{line[end:]}"


def without_traceback(error: BaseException) -> BaseException:
    """The same error; IPython shows ``lines`` of it."""
    error._render_traceback_ = lambda: lines(error)  # type: ignore[attr-defined]
    return error.with_traceback(None)
