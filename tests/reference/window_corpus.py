"""Corpus cases of windows → runs of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.corpus.windows import WindowCase
from tests.reference.row_output import Row
from tests.reference.row_sql import condition, measure
from tests.reference.rows import Binding, Holds, Skip
from tests.reference.text import row_pattern
from tests.reference.windows import Found, Window, measured, over, window_matches

LABELS = "labels"


def window_found(case: WindowCase) -> tuple[tuple[int, tuple[tuple[str, bool], ...]] | None, ...]:
    """What each row of all partitions has, as in the corpus."""
    return tuple(
        None
        if found.match is None
        else (found.match.start, tuple((step.variable, step.excluded) for step in found.match.steps))
        for found in _all(case)
    )


def window_output(case: WindowCase) -> tuple[tuple[Any, ...], ...]:
    """Measures and functions of each row."""
    measures = [measure(text, case.subset, True) for text in case.measures.values()]
    return tuple(
        (*(measured(found, one) for one in measures), *(over(found, text) for text in case.functions))
        for found in _all(case)
    )


def window_rows(case: WindowCase, index: int) -> list[Row]:
    """The rows of one partition, numbered over all partitions; their labels are a column."""
    base = sum(len(labels) for labels in case.partitions[:index])
    return [
        {"id": base + row + 1, LABELS: labels} | {name: values[base + row] for name, values in case.columns.items()}
        for row, labels in enumerate(case.partitions[index])
    ]


def _all(case: WindowCase) -> list[Found]:
    found: list[Found] = []
    for index in range(len(case.partitions)):
        rows = window_rows(case, index)
        following = case.following[rows[0]["id"] - 1 :] if rows else ()
        found += window_matches(_window(case, following), rows)
    return found


def _window(case: WindowCase, following: Sequence[int]) -> Window:
    to, variable = case.skip
    skip = Skip(to, () if variable is None else case.subset.get(variable, (variable,)))
    return Window(row_pattern(case.pattern), lambda frame: _holds(case, frame), following, skip, case.seek)


def _holds(case: WindowCase, frame: Sequence[Row]) -> Holds:
    defined = {name: condition(text, name, case.subset, frame) for name, text in case.define.items()}

    def holds(variable: str, row: int, bindings: Binding) -> bool:
        if variable in defined:
            return defined[variable](row, bindings)
        return not case.labelled or variable in frame[row][LABELS]

    return holds
