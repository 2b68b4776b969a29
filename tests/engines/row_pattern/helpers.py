"""Builds specs and tables from rows written as strings: ``["A", "AB", ""]`` says which variables each row satisfies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from sparkcep.engines.row_pattern.engine import compile
from sparkcep.pattern.row import Alternate, Concat, Excluded, Quantified, RowPattern, Variable
from sparkcep.spec.row import MASK_BITS, CurrentRow, MatchNumber, Output, RowPatternSpec

A, B, C, D = (Variable(name) for name in "ABCD")


def seq(*items: RowPattern) -> Concat:
    return Concat(items)


def alt(*items: RowPattern) -> Alternate:
    return Alternate(items)


def rep(item: RowPattern, low: int, high: int | None = None, greedy: bool = True) -> Quantified:
    return Quantified(item, low, high, greedy)


def star(item: RowPattern) -> Quantified:
    return Quantified(item, 0, None)


def plus(item: RowPattern) -> Quantified:
    return Quantified(item, 1, None)


def maybe(item: RowPattern, greedy: bool = True) -> Quantified:
    return Quantified(item, 0, 1, greedy)


def hidden(item: RowPattern) -> Excluded:
    return Excluded(item)


DEFAULT_OUTPUTS = (Output("id", CurrentRow("id")), Output("number", MatchNumber()))


def make_spec(pattern: RowPattern, outputs: Iterable[Output] = DEFAULT_OUTPUTS, **options: Any) -> RowPatternSpec:
    variables = options.pop("variables", ("A", "B", "C", "D"))
    masks = tuple(f"mask{i}" for i in range(len(variables) // MASK_BITS + 1))
    return RowPatternSpec(variables, pattern, masks, tuple(outputs), "", **options)


def make_table(spec: RowPatternSpec, partitions: list[list[str]], **columns: Any) -> pa.Table:
    """``id`` numbers the rows, ``key`` the partitions; further columns as given."""
    data: dict[str, Any] = {name: [] for name in spec.masks}
    for rows in partitions:
        for at, row in enumerate(rows):
            bits = (at == 0) | sum(2 << i for i, name in enumerate(spec.variables) if name in row)
            for i, name in enumerate(spec.masks):
                data[name].append(bits >> MASK_BITS * i & (1 << MASK_BITS) - 1)
    arrays = {name: pa.array(values, pa.int64()) for name, values in data.items()}
    arrays["id"] = pa.array(range(sum(map(len, partitions))), pa.int64())
    arrays["key"] = pa.array([key for key, rows in enumerate(partitions) for _ in rows], pa.int64())
    return pa.table({**arrays, **columns})


def run(table, spec):
    """The engine's output tables."""
    return compile(spec).run(table)


def rows_of(spec: RowPatternSpec, table: pa.Table) -> list[dict[str, Any]]:
    return [row for part in run(table, spec) for row in part.to_pylist()]
