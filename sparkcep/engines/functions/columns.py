"""SparkFunction trees over the columns of a table, all rows at once.

In: trees whose ``AttributeReference``s name columns. Out: Arrow columns. What Polars computes as Spark does is computed by Polars (``vectors``); the
rest row by row, by the closures of ``registry``. So is a tree with a fault in some row: the closures reach what Spark reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.functions.registry import compile_function
from sparkcep.engines.functions.times import internal
from sparkcep.engines.functions.vectors import is_column, vector
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import kind


def computed(trees: Mapping[str, Any], rows: pa.Table, types: Mapping[str, pa.DataType]) -> dict[str, pa.ChunkedArray]:
    """The columns of ``trees`` by name, of these ``types``. Raises what the functions raise."""
    bare = {name: rows.column(tree.settings[0]) for name, tree in trees.items() if is_column(tree)}
    others = {name: tree for name, tree in trees.items() if name not in bare}
    table = _Table(rows)
    vectors = {name: one for name, tree in others.items() if (one := vector(tree)) is not None}
    found = table.select({name: one.value for name, one in vectors.items()})
    failed = table.select({name: one.fault.any() for name, one in vectors.items() if one.fault is not None})
    columns: dict[str, pa.ChunkedArray] = {}
    for name, tree in others.items():
        if name in found and not (name in failed and pc.any(failed[name]).as_py()):
            columns[name] = _of_type(found[name], types[name])
        else:
            columns[name] = _row_by_row(tree, table, types[name])
    return {name: _chunked(bare[name] if name in bare else columns[name]) for name in trees}


def check_columns(trees: Iterable[Any]) -> None:
    """Raises CepUnsupportedError, without a span, for a tree that cannot be computed."""
    for tree in trees:
        try:
            compile_function(tree, lambda leaf: lambda frame: None)
        except CepUnsupportedError as error:
            what, _, _ = error.message.partition(", computed from")
            hint = "compute in a subquery of the stream what the pattern looks at"
            raise CepUnsupportedError(f"{what} for workers alone", code="PATTERN_STREAM", hint=hint) from None


@dataclass(slots=True)
class _Table:
    """The rows for Polars and for Python, each column prepared once."""

    rows: pa.Table
    _lists: dict[str, list[Any]] = field(default_factory=dict)

    def select(self, expressions: Mapping[str, pl.Expr]) -> dict[str, pa.ChunkedArray]:
        """Each expression as a column."""
        if not expressions:
            return {}
        names = {name for one in expressions.values() for name in one.meta.root_names()}
        frame = pl.DataFrame({name: pl.Series(_plain(self.rows.column(name))) for name in sorted(names)})
        height = pl.repeat(0, self.rows.num_rows, eager=True).to_frame("__cep_height")
        wide = height.hstack(frame) if names else height
        aliases = {name: f"__cep_value{i}" for i, name in enumerate(expressions)}
        columns = [one.alias(aliases[name]) for name, one in expressions.items()]
        found = (
            wide.lazy().with_columns(columns).select(aliases.values()).collect().to_arrow()
        )  # constants are repeated
        return {name: found.column(alias) for name, alias in aliases.items()}

    def values(self, name: str) -> list[Any]:
        """A column's values as the closures take them."""
        if name not in self._lists:
            column = _plain(self.rows.column(name))
            found = column.to_pylist()
            self._lists[name] = found if _is_plain(column.type) else [internal(value) for value in found]
        return self._lists[name]

    def add(self, name: str, column: pa.ChunkedArray) -> None:
        """One more column, for closures alone."""
        self._lists[name] = column.to_pylist()


class _Frame:
    """A row."""

    __slots__ = ("lambdas", "row")

    def __init__(self) -> None:
        self.row = 0
        self.lambdas: dict[str, Any] = {}


def _row_by_row(tree: Any, table: _Table, target: pa.DataType) -> pa.ChunkedArray:
    """What Polars does not compute; of its parts that it does, Polars computes those that cannot fail."""
    parts: dict[Any, str] = {}
    rest = _cut(tree, parts)
    vectors = {name: vector(part) for part, name in parts.items()}
    found = table.select({name: one.value for name, one in vectors.items() if one is not None})
    for name, column in found.items():
        table.add(name, column)

    def leaf(node: Any) -> Callable[[_Frame], Any]:
        values = table.values(node.settings[0])
        return lambda frame: values[frame.row]

    function, frame, values = compile_function(rest, leaf), _Frame(), []
    for row in range(table.rows.num_rows):
        frame.row = row
        values.append(function(frame))
    return _of_type(pa.chunked_array([_array(values, tree.type, target)]), target)


def _array(values: list[Any], type_text: str, target: pa.DataType) -> pa.Array:
    """Python's values, as the functions have them, as a column."""
    if kind(type_text) in ("date", "timestamp", "timestamp_ntz", "interval"):
        return pa.array(values, pa.int32() if pa.types.is_date32(target) else pa.int64())
    return pa.array(values, target)


def _cut(tree: Any, parts: dict[Any, str]) -> Any:
    """``tree`` with the greatest parts that cannot fail replaced by columns, which are named in ``parts``."""
    if not isinstance(tree, SparkFunction) or is_column(tree):
        return tree
    found = vector(tree)
    if found is not None and found.fault is None:
        name = parts.setdefault(tree, f"__cep_part{len(parts)}")
        return SparkFunction("AttributeReference", tree.type, settings=(name,))
    arguments = tuple(_cut(argument, parts) for argument in tree.arguments)
    return SparkFunction(tree.name, tree.type, arguments, tree.settings, tree.text)


def _of_type(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == target else column.cast(target)


def _chunked(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _is_plain(data_type: pa.DataType) -> bool:
    return (
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_boolean(data_type)
        or pa.types.is_string(data_type)
    )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates as days, times and durations as microseconds."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    return column
