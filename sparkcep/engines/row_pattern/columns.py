"""Columns of the engine's input, in the form that the kernels need.

In: an Arrow table of any column types. Out: values taken by row number (any type, always by Arrow's ``take``), and, for aggregates, numpy arrays:
which rows count, order-preserving keys, addends, group codes. Nothing here knows about matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.errors import CepInternalError, CepUnsupportedError

MAX_NARROW_DECIMAL = 18
"""Decimals of up to 18 digits fit one 64-bit word."""


@dataclass(frozen=True, slots=True)
class Addends:
    """Values to sum: float64 ``floats``, or 128-bit integers as words ``low`` and ``high`` (empty: sign of ``low``)."""

    floats: NDArray[np.float64] | None
    low: NDArray[np.int64]
    high: NDArray[np.int64]


Method = TypeVar("Method", bound=Callable[..., Any])


def _once(method: Method) -> Method:
    """A method of Columns whose results are kept; to make a cache for each table would take longer than to fill it."""

    @wraps(method)
    def known(self: Columns, *arguments: Any) -> Any:
        key = (method, *arguments)
        if key not in self._known:
            self._known[key] = method(self, *arguments)
        return self._known[key]

    return cast(Method, known)


class Columns:
    """A table slice of whole partitions; values derived from a column are cached."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._known: dict[tuple[Any, ...], Any] = {}

    def take(self, name: str, rows: NDArray[np.int32] | NDArray[np.int64]) -> pa.Array | pa.ChunkedArray:
        """The column's values at ``rows``; NULL where the row is -1."""
        missing = rows < 0
        indices = pa.array(rows, mask=missing) if missing.any() else pa.array(rows)
        return self.column(name).take(indices)

    def type(self, name: str) -> pa.DataType:
        """The column's Arrow type."""
        return self.table.schema.field(name).type

    @_once
    def column(self, name: str) -> pa.Array | pa.ChunkedArray:
        column = self.table.column(name)
        if column.num_chunks == 1:
            return column.chunk(0)
        return column.combine_chunks()

    def _values(self, name: str) -> pa.Array:
        column = self.column(name)
        return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column

    @_once
    def counted(self, name: str | None, condition: str | None) -> NDArray[np.bool_] | None:
        """Rows that an aggregate of column ``name`` with FILTER ``condition`` counts (None: all of them)."""
        counted = None
        if name is not None and self.column(name).null_count:
            counted = self.column(name).is_valid()
        if condition is not None:
            holds = self.column(condition).fill_null(False)
            counted = holds if counted is None else pc.and_(counted, holds)
        return None if counted is None else np.asarray(counted.to_numpy(zero_copy_only=False), dtype=np.bool_)

    @_once
    def order_keys(self, name: str, largest: bool) -> NDArray[np.int64]:
        """int64 keys that sort like the values (``largest``: in reverse), NaN above all numbers; timestamps are microseconds."""
        keys = self.ascending(name)
        return ~keys if largest else keys

    def ascending(self, name: str) -> NDArray[np.int64]:
        """The keys of ``order_keys``, which are not kept."""
        values, kind = self._values(name), self.type(name)
        if pa.types.is_floating(kind):
            return _float_keys(_numpy(values).astype(np.float64, copy=False))
        if pa.types.is_decimal(kind) and kind.precision <= MAX_NARROW_DECIMAL:
            return _decimal_words(values)[0]
        if _is_integer_like(kind):
            return _integers(values)
        try:
            ranks = pc.rank(values, "ascending", tiebreaker="dense")
            return ranks.to_numpy().astype(np.int64)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise _unsupported("MIN and MAX", name, kind) from error

    @_once
    def group_keys(self, name: str) -> NDArray[np.int64]:
        """Codes that are equal where the values are (for DISTINCT); NaN equals NaN and -0.0 equals 0.0."""
        values, kind = self._values(name), self.type(name)
        if pa.types.is_floating(kind):
            return _float_keys(_numpy(values.cast(pa.float64())))
        if _is_integer_like(kind):
            return _integers(values)
        try:
            return _integers(values.dictionary_encode().indices)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise _unsupported("DISTINCT", name, kind) from error

    @_once
    def addends(self, name: str) -> Addends:
        values, kind = self._values(name), self.type(name)
        none = np.empty(0, np.int64)
        if pa.types.is_floating(kind) or pa.types.is_null(kind):
            return Addends(_numpy(values.cast(pa.float64())), none, none)
        if pa.types.is_decimal(kind):
            return Addends(None, *_decimal_words(values))
        if pa.types.is_integer(kind) or pa.types.is_duration(kind):
            return Addends(None, _integers(values), none)
        raise _unsupported("SUM", name, kind)


def _unsupported(what: str, name: str, kind: pa.DataType) -> CepUnsupportedError:
    return CepUnsupportedError(f"{what} over the column {name} of type {kind}", code="AGGREGATE_TYPE")


def _is_integer_like(kind: pa.DataType) -> bool:
    if pa.types.is_temporal(kind):
        return not pa.types.is_interval(kind)
    return pa.types.is_integer(kind) or pa.types.is_boolean(kind)


def _integers(values: pa.Array) -> NDArray[np.int64]:
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        if pa.types.is_timestamp(kind) and kind.unit != "us":
            values = values.cast(pa.timestamp("us", kind.tz))
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return _numpy(values).astype(np.int64, copy=False)


def _numpy(values: pa.Array) -> NDArray[Any]:
    filled = values.fill_null(0) if values.null_count else values  # it copies, whether there are any or not
    return filled.to_numpy(zero_copy_only=False)


def _float_keys(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """IEEE bits as order-preserving signed integers: the magnitude bits of negative numbers are inverted."""
    values, unordered = values + 0.0, np.isnan(values)  # one zero, and one NaN
    if unordered.any():
        values[unordered] = np.nan
    bits = values.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)


def _decimal_words(values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    values = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    words = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)[values.offset : values.offset + len(values)]
    return np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])


def masks_of(table: pa.Table, names: tuple[str, ...]) -> NDArray[np.int64]:
    """The mask columns, [columns, rows] of int64."""
    arrays = []
    for name in names:
        column = table.column(name)
        if column.null_count:
            raise CepInternalError(f"the mask column {name} has NULLs")
        values = column.chunk(0).to_numpy() if column.num_chunks == 1 else column.to_numpy()
        arrays.append(values.astype(np.int64, copy=False))
    return arrays[0].reshape(1, -1) if len(arrays) == 1 else np.stack(arrays)
