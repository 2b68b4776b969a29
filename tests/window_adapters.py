"""Corpus cases of windows → the engines' own contract: an Arrow table and a MatchSpec with a Frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sparkcep.engines.row_pattern import engine as row_engine
from sparkcep.pattern.row import variables
from sparkcep.spec.row import MASK_BITS, Frame, Near, Output, RowPatternSpec, Skip
from tests.corpus.windows import UNBOUNDED, WindowCase
from tests.reference.row_output import Row
from tests.reference.row_sql import condition
from tests.reference.text import row_pattern
from tests.reference.window_corpus import LABELS, window_rows

NEAR = 2
"""PREV and NEXT in conditions reach as far, at most."""


def window_lines(case: WindowCase, outputs: Sequence[Output], *, split: bool = False) -> list[tuple[Any, ...]]:
    """The engine's outputs for each row."""
    tables = [window_table(case, index) for index in range(len(case.partitions))]
    if not split:
        tables = [pa.concat_tables(tables)]
    return [
        tuple(row.values())
        for table in tables
        for part in row_engine.compile(spec_of(case, outputs)).run(table)
        for row in part.to_pylist()
    ]


def spec_of(case: WindowCase, outputs: Sequence[Output]) -> RowPatternSpec:
    """The case as a MatchSpec with the given outputs."""
    pattern = row_pattern(case.pattern)
    to, variable = case.skip
    names = variables(pattern)
    bounded = min(case.following, default=UNBOUNDED) < UNBOUNDED
    return RowPatternSpec(
        variables=names,
        pattern=pattern,
        masks=tuple(f"mask{i}" for i in range((1 + len(_tests(case))) // MASK_BITS + 1)),
        outputs=tuple(outputs),
        schema="{}",
        rows_per_match="window",
        skip=Skip(to, () if variable is None else tuple(case.subset.get(variable, (variable,)))),  # type: ignore[arg-type]
        text=case.pattern,
        frame=Frame("following" if bounded else None, case.seek, _near(case, bounded)),
    )


def window_table(case: WindowCase, index: int) -> pa.Table:
    """One partition as the engine reads it: columns, ``id``, ``following``, masks."""
    rows = window_rows(case, index)
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("id", *case.columns)}
    columns["following"] = [case.following[row["id"] - 1] for row in rows]
    bits = [
        [position == 0, *(_holds(case, test, rows, position) for test in _tests(case))] for position in range(len(rows))
    ]
    for i in range((1 + len(_tests(case))) // MASK_BITS + 1):
        low = i * MASK_BITS
        columns[f"mask{i}"] = [
            sum(1 << at for at, held in enumerate(row[low : low + MASK_BITS]) if held) for row in bits
        ]
    return pa.table({name: pa.array(values, _type(values)) for name, values in columns.items()})


def _type(values: list[Any]) -> pa.DataType:
    return pa.string() if any(isinstance(value, str) for value in values) else pa.int64()


def _near(case: WindowCase, bounded: bool) -> tuple[Near, ...]:
    """Where the tests of a condition stand; those of an unbounded frame's end are never asked."""
    tests = _tests(case)
    ends = range(NEAR + 1) if bounded else [NEAR]
    return tuple(
        Near(name, NEAR, len(ends) - 1, tuple(1 + tests.index((name, b, e)) for b in range(NEAR + 1) for e in ends))
        for name in variables(row_pattern(case.pattern))
        if name in case.define
    )


def _tests(case: WindowCase) -> list[tuple[str, int, int]]:
    """(variable, rows before, rows behind) of each mask bit; first the variables as they are far from any bound."""
    names = variables(row_pattern(case.pattern))
    far = [(name, NEAR, NEAR) for name in names]
    places = [(before, behind) for before in range(NEAR + 1) for behind in range(NEAR + 1)]
    return far + [(name, *place) for name in names if name in case.define for place in places if place != (NEAR, NEAR)]


def _holds(case: WindowCase, test: tuple[str, int, int], rows: list[Row], position: int) -> bool:
    name, before, behind = test
    if name not in case.define:
        return not case.labelled or name in rows[position][LABELS]
    first = max(position - before, 0)
    frame = rows[first : position + behind + 1]
    return condition(case.define[name], name, case.subset, frame)(position - first, ((position - first, name),))
