"""Runs the engine on columns given as lists, and shows each match as ``first-last`` rows or as its variables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sparkcep.engines.row_match import engine as row_match
from sparkcep.pattern.row import RowPattern
from sparkcep.spec.row import ClassifierAt, ColumnAt, Define, MatchNumber, Navigation, Output, RowPatternSpec
from tests.engines.row_pattern.helpers import make_spec, make_table

SPANS = (
    Output("first", ColumnAt("id", Navigation(last=False))),
    Output("last", ColumnAt("id", Navigation())),
)
LABELS = (
    Output("number", MatchNumber()),
    Output("label", ClassifierAt(Navigation(running=True))),
)


def spec_of(pattern: RowPattern, *defines: Define, **options: Any) -> RowPatternSpec:
    """ONE ROW PER MATCH with the first and last row's ids, unless told otherwise."""
    return make_spec(pattern, options.pop("outputs", SPANS), defines=defines, **options)


def table_of(spec: RowPatternSpec, columns: dict[str, Any], parts: list[int] | None = None) -> pa.Table:
    """Rows that satisfy every mask bit; ``parts``: the partitions' sizes."""
    arrays = {name: data if isinstance(data, pa.Array) else pa.array(data) for name, data in columns.items()}
    rows = len(next(iter(arrays.values())))
    labels = ["".join(spec.variables)] * rows
    sizes = parts or [rows]
    return make_table(spec, [labels[:size] for size in sizes], **arrays)


def spans(
    pattern: RowPattern, *defines: Define, parts: list[int] | None = None, columns: dict[str, Any], **options: Any
) -> list[tuple[Any, ...]]:
    """(id of the first row, id of the last row) of each match."""
    spec = spec_of(pattern, *defines, **options)
    table = table_of(spec, columns, parts)
    return [tuple(row.values()) for part in row_match.compile(spec).run(table) for row in part.to_pylist()]


def labels(pattern: RowPattern, *defines: Define, columns: dict[str, Any], **options: Any) -> list[str]:
    """Each match as its rows' variables, one letter each."""
    lines = spans(pattern, *defines, columns=columns, outputs=LABELS, rows_per_match="all_show_empty", **options)
    found: dict[int, str] = {}
    for number, label in lines:
        found[number] = found.get(number, "") + (label or "")
    return list(found.values())
