"""Values of rows as closures over a frame: what the leaves of a slow condition are.

In: the sources of ``spec.row`` and where the registers keep them. Out: Python values as ``sparkcep.engines.functions`` takes them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.functions.aggregates import OF_MOMENTS, Moments
from sparkcep.engines.functions.base import EXACT, Closure, failure
from sparkcep.engines.functions.times import internal
from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.registers import Layout, Place
from sparkcep.engines.row_match.values import Kind, kind_of
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.errors import CepInternalError, CepUnsupportedError
from sparkcep.spec.row import MEAN_DIGITS, MOMENTS, Aggregate, ClassifierAt, ColumnAt, CurrentRow, MatchNumber

Reader = Callable[[int], Any]

_SIGN = 0x7FFFFFFFFFFFFFFF


class Frame:
    """A row under test: its number, how many rows the match has before it, its partition's rows, the variable it is to be mapped to."""

    __slots__ = ("depth", "high", "lambdas", "lists", "low", "number", "path", "registers", "row", "variable")

    def __init__(self, lists: Any) -> None:
        self.lists = lists
        self.lambdas: dict[str, Any] = {}
        self.row = self.depth = self.low = self.high = self.number = self.variable = 0
        self.path: NDArray[np.int16] = np.empty(0, np.int16)
        self.registers: NDArray[np.int64] = np.empty((0, 0), np.int64)


class Readers:
    """Values of columns by row, as Python values; each column is prepared once."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._readers: dict[str, Reader] = {}

    def kind(self, name: str) -> Kind:
        """The column's kind."""
        return kind_of(self.columns.type(name))

    def reader(self, name: str) -> Reader:
        """The function row → value of a column."""
        if name not in self._readers:
            self._readers[name] = _reader(self.columns, name)
        return self._readers[name]


def _reader(columns: Columns, name: str) -> Reader:
    column, data_type = columns.column(name), columns.type(name)
    if pa.types.is_temporal(data_type) and not pa.types.is_interval(data_type):
        width = pa.int32() if data_type.bit_width == 32 else pa.int64()
        column = column.view(width) if isinstance(column, pa.Array) else column.cast(width)
    elif not (pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_boolean(data_type)):
        nested = pa.types.is_nested(data_type)
        return lambda row: internal(column[row].as_py()) if nested else column[row].as_py()
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    values = column.fill_null(False if pa.types.is_boolean(data_type) else 0).to_numpy(zero_copy_only=False)
    if nulls is None:
        return lambda row: values[row].item()
    return lambda row: None if nulls[row] else values[row].item()


def leaf(source: Any, variable: str, layout: Layout, readers: Readers) -> Closure:
    """The closure of a source in the condition of ``variable``."""
    match source:
        case CurrentRow(column=name):
            reader = readers.reader(name)
            return lambda frame: reader(frame.row)
        case ColumnAt(column=name, at=at):
            return _column(readers.reader(name), layout.places[variable, at], at.physical)
        case ClassifierAt(at=at):
            named = layout.variables if at.variables is None else at.variables
            return _classifier(layout.places[variable, at], at.physical, layout.variables, frozenset(named))
        case MatchNumber():
            return lambda frame: int(frame.number)
        case Aggregate():
            return _aggregate(source, layout, readers)
    raise CepInternalError(f"unknown source {type(source).__name__} in the condition of {variable}")


def _row_of(place: Place) -> Callable[[Frame], int]:
    """Where a navigation stands before its physical offset, or -1: as ``condition_kernels.located``."""
    if place.word is None:
        return lambda frame: frame.row
    word, index, or_current = place.word + place.index, place.index, place.or_current

    def row_of(frame: Frame) -> int:
        held = frame.registers[frame.depth]
        found = int(held[word])
        if not or_current or found >= 0 or (index > 0 and held[word - 1] < 0):
            return found
        return frame.row

    return row_of


def _column(reader: Reader, place: Place, physical: int) -> Closure:
    if place.word is None and not physical:
        return lambda frame: reader(frame.row)
    row_of = _row_of(place)

    def closure(frame: Frame) -> Any:
        row = row_of(frame)
        if row < 0:
            return None
        row += physical
        return reader(row) if frame.low <= row < frame.high else None

    return closure


def _classifier(place: Place, physical: int, variables: tuple[str, ...], members: frozenset[str]) -> Closure:
    row_of = _row_of(place)

    def closure(frame: Frame) -> str | None:
        row = row_of(frame)
        first = frame.row - frame.depth
        if row < 0 or not first <= row + physical <= frame.row:
            return None
        row += physical
        label = variables[frame.variable if row == frame.row else int(frame.path[row - first]) >> 1]
        return label if label in members else None

    return closure


def list_number(source: Any, layout: Layout) -> Callable[[Frame], int]:
    """The number of the list that an ARRAY_AGG has gathered."""
    word = layout.totals[layout.total(source)].word
    return lambda frame: int(frame.registers[frame.depth + 1, word])


def _aggregate(source: Aggregate, layout: Layout, readers: Readers) -> Closure:
    if source.function == "array_agg":
        number = list_number(source, layout)
        return lambda frame: frame.lists.content(number(frame))
    word = layout.totals[layout.total(source)].word
    if source.function == "count":
        return lambda frame: int(frame.registers[frame.depth + 1, word])
    if source.function in MOMENTS:
        return _moment(OF_MOMENTS[source.function], word)
    if source.function == "avg":
        return _mean(readers.kind(source.column or "").scale, word)
    value = total(source.function, readers.kind(source.column or ""))
    return lambda frame: value(frame.registers[frame.depth + 1, word : word + 3])


def _moment(finish: Callable[[Moments], float | None], word: int) -> Closure:
    def closure(frame: Frame) -> Any:
        mean, squares, count = frame.registers[frame.depth + 1, word : word + 3].tolist()
        return finish((count, as_float(mean), as_float(squares)))

    return closure


def _mean(scale: int, word: int) -> Closure:
    unit = Decimal(1).scaleb(-scale - MEAN_DIGITS)

    def closure(frame: Frame) -> Any:
        low, high, count = frame.registers[frame.depth + 1, word : word + 3].tolist()
        total = Decimal((high << 64) + (low & (1 << 64) - 1)).scaleb(-scale, EXACT)
        return EXACT.divide(total, Decimal(count)).quantize(unit, ROUND_HALF_UP, EXACT) if count else None

    return closure


def total(function: str, kind: Kind) -> Callable[[NDArray[np.int64]], Any]:
    """The words of a total → its value. Errors: as SUM."""
    decode = _decoder(function, kind)

    def value(words: NDArray[np.int64]) -> Any:
        low, high, there = words.tolist()
        if there == codes.BEYOND:
            raise failure("SUM has more than 38 digits", "OVERFLOW")
        return decode(low, high) if there else None

    return value


def _decoder(function: str, kind: Kind) -> Callable[[int, int], Any]:
    """Two words of a total → its value."""
    if function == "sum":
        if kind.name == "float":
            return lambda low, high: as_float(low)
        if kind.name == "decimal":
            return lambda low, high: Decimal((high << 64) + (low & (1 << 64) - 1)).scaleb(-kind.scale, EXACT)
        return _integer
    if kind.name == "float":
        return lambda low, high: as_float(low if low >= 0 else low ^ _SIGN)
    if kind.name == "decimal":
        return lambda low, high: Decimal(low).scaleb(-kind.scale, EXACT)
    if kind.name in ("string", "binary", "opaque"):
        raise CepUnsupportedError(f"{function.upper()} of {kind.name} values on the slow path", code="AGGREGATE")
    return (lambda low, high: bool(low)) if kind.name == "boolean" else (lambda low, high: low)


def _integer(low: int, high: int) -> int:
    if high != low >> 63:
        raise failure("SUM overflows BIGINT", "OVERFLOW")
    return low


def as_float(bits: int) -> float:
    """The float with these bits."""
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value
