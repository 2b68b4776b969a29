"""Row pattern recognition in windows (ISO R020) on one partition, row by row, from the standard's rules (ISO/IEC 19075-5, section 5).

A row's *full frame* is ``ROWS BETWEEN CURRENT ROW AND …``: the match, its conditions and its measures see no row outside of it. A row that
AFTER MATCH SKIP of an earlier match passes over gets no match. The rows of the match are the row's *reduced frame*: what aggregates,
FIRST_VALUE, LAST_VALUE and NTH_VALUE see. Functions that ignore frames (ROW_NUMBER, LAG, …) ignore this one too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkcep.pattern import row as ir
from tests.reference.row_output import Row, View, reduce_values
from tests.reference.rows import Holds, Match, Skip, SkipError, first_match
from tests.reference.sql import Call, Literal, Ref, parse


@dataclass(frozen=True, slots=True)
class Window:
    """The clause. ``holds``: a frame's rows → the conditions over them. ``following``: for each row how many rows its frame has behind it."""

    pattern: ir.RowPattern
    holds: Callable[[Sequence[Row]], Holds]
    following: Sequence[int]
    skip: Skip = field(default_factory=Skip)
    seek: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a row has: its full frame, and the match in it (rows counted from the frame's first), None without one."""

    frame: Sequence[Row]
    match: Match | None


def window_matches(window: Window, rows: Sequence[Row]) -> list[Found]:
    """What each row of a partition has. Raises SkipError as ISO demands."""
    found: list[Found] = []
    resume = number = 0
    for current in range(len(rows)):
        frame = rows[current : current + window.following[current] + 1]
        match = None if current < resume else _match(window, frame, number + 1)
        if match is not None:
            number += 1
            resume = current + _resumes(match, window.skip)
        found.append(Found(frame, match))
    return found


def _match(window: Window, frame: Sequence[Row], number: int) -> Match | None:
    holds = window.holds(frame)
    for start in range(len(frame) if window.seek else 1):
        steps = first_match(window.pattern, holds, len(frame), start)
        if steps is not None:
            return Match(number, start, steps)
    return None


def _resumes(match: Match, skip: Skip) -> int:
    """Which row of the frame is the next that a match is looked for at."""
    if not match.steps or skip.to == "next_row":
        return 1
    if skip.to == "past_last_row":
        return match.steps[-1].row + 1
    rows = [step.row for step in match.steps if step.variable in skip.variables]
    if not rows or (target := rows[0] if skip.to == "first" else rows[-1]) == match.start:
        raise SkipError(f"AFTER MATCH SKIP TO {skip.variables}: match {match.number}")
    return target


def measured(found: Found, measure: Callable[[View], Any]) -> Any:
    """``measure OVER w``: its value at the match's last row; NULL without a match."""
    if found.match is None:
        return None
    return measure(View(found.frame, found.match, len(found.match.steps) - 1))


def over(found: Found, text: str) -> Any:
    """``text OVER w``: a function over the reduced frame."""
    call = parse(text)
    assert isinstance(call, Call)
    steps = found.match.steps if found.match else ()
    rows = [found.frame[step.row] for step in steps]
    argument = call.arguments[0]
    assert isinstance(argument, Ref)
    if argument.attribute == "*":
        return len(rows)
    values = [row[argument.attribute] for row in rows]
    match call.name:
        case "FIRST_VALUE":
            return values[0] if values else None
        case "LAST_VALUE":
            return values[-1] if values else None
        case "NTH_VALUE":
            place = call.arguments[1]
            assert isinstance(place, Literal)
            return values[place.value - 1] if place.value <= len(values) else None
    return reduce_values(call.name.lower(), [value for value in values if value is not None])
