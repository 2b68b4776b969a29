"""Measures and output rows of MATCH_RECOGNIZE (ISO/IEC 19075-5, sections 4.11-4.13 and 5).

In: the matches of one partition (``rows``), the partition's rows. Out: one value list per output row. A measure is a
callable over a ``View``: the match as seen from one of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.rows import Match, Step

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """A match seen from its ``current`` row (an index into the match's steps; -1 in an empty match)."""

    rows: Sequence[Row]
    match: Match
    current: int

    def steps(self, variables: tuple[str, ...] | None, running: bool) -> list[Step]:
        """The match's rows mapped to ``variables`` (None: all), up to the current row when ``running``."""
        seen = self.match.steps[: self.current + 1] if running else self.match.steps
        return [step for step in seen if variables is None or step.variable in variables]


@dataclass(frozen=True, slots=True)
class Navigation:
    """``PREV/NEXT(FIRST/LAST(variables, logical), physical)``: which row a value is taken from."""

    variables: tuple[str, ...] | None = None
    last: bool = True
    running: bool = True
    logical: int = 0
    physical: int = 0

    def row(self, view: View) -> int | None:
        """The row's position in the partition, None where there is no such row."""
        steps = view.steps(self.variables, self.running)
        if self.logical >= len(steps):
            return None
        step = steps[-1 - self.logical] if self.last else steps[self.logical]
        row = step.row + self.physical
        return row if 0 <= row < len(view.rows) else None

    def value(self, view: View, column: str) -> Any:
        """The column in that row, NULL without a row."""
        row = self.row(view)
        return None if row is None else view.rows[row].get(column)

    def classifier(self, view: View) -> str | None:
        """The variable the row at this place is mapped to; NULL if it is not a row of ``variables`` in the match."""
        row = self.row(view)
        found = [step.variable for step in view.steps(self.variables, self.running) if step.row == row]
        return found[0] if found else None


def aggregate(view: View, function: str, variables: tuple[str, ...] | None, column: str | None, running: bool) -> Any:
    """COUNT / SUM / AVG / MIN / MAX / ARRAY_AGG over the rows mapped to ``variables``; ``column`` None counts rows."""
    steps = view.steps(variables, running)
    if column is None:
        return len(steps)
    values = [view.rows[step.row].get(column) for step in steps]
    return reduce_values(function, [value for value in values if value is not None])


def reduce_values(function: str, values: list[Any]) -> Any:
    """An SQL aggregate over values without NULLs; NULL over none (COUNT 0, ARRAY_AGG empty)."""
    match function:
        case "count":
            return len(values)
        case "array_agg":
            return values
        case _ if not values:
            return None
        case "sum":
            return sum(values)
        case "avg":
            return sum(values) / len(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
    raise ValueError(f"no aggregate {function!r}")


Measure = Callable[[View], Any]


def one_row(matches: Sequence[Match], rows: Sequence[Row], measures: Sequence[Measure]) -> list[tuple[Any, ...]]:
    """ONE ROW PER MATCH: the measures of each match at its last row, empty matches too."""
    views = (View(rows, match, len(match.steps) - 1) for match in matches)
    return [tuple(measure(view) for measure in measures) for view in views]


def all_rows(
    matches: Sequence[Match], rows: Sequence[Row], measures: Sequence[Measure], mode: str = "all_show_empty"
) -> list[tuple[Any, ...]]:
    """ALL ROWS PER MATCH: (row position, measure, …) in output order.

    ``mode``: ``all_show_empty``, ``all_omit_empty`` or ``all_with_unmatched``. Unmatched rows have NULL measures and
    stand where the search passed them.
    """
    output: list[tuple[int, tuple[Any, ...]]] = []
    for match in matches:
        if match.steps or mode != "all_omit_empty":
            output += [(match.start, line) for line in _match_rows(match, rows, measures)]
    if mode == "all_with_unmatched":
        taken = {match.start for match in matches} | {step.row for match in matches for step in match.steps}
        nothing = (None,) * len(measures)
        output += [(row, (row, *nothing)) for row in range(len(rows)) if row not in taken]
        output.sort(key=lambda line: line[0])  # stable: the rows of one match stay together
    return [line for _, line in output]


def _match_rows(match: Match, rows: Sequence[Row], measures: Sequence[Measure]) -> list[tuple[Any, ...]]:
    if not match.steps:
        view = View(rows, match, -1)
        return [(match.start, *(measure(view) for measure in measures))]
    views = [View(rows, match, current) for current, step in enumerate(match.steps) if not step.excluded]
    return [(match.steps[view.current].row, *(measure(view) for measure in measures)) for view in views]
