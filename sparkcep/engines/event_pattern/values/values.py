"""Payload columns in the form in which an engine compares them.

In: Arrow columns of any type, and the candidates' rows. Out: Polars series of a few plain kinds (temporal types as integers, decimals as unscaled
128-bit integers), and shared integer codes for each set of columns compared for equality. Output columns do not pass through here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.arrow_types import arrow_type
from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Operator, decimal_digits

MAX_PRECISION = 38
"""Digits of a decimal."""

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]

KindName = Literal[
    "boolean", "integer", "float", "decimal", "string", "binary", "date", "timestamp", "duration", "opaque"
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A value's type: ``bits`` of an integer or float, ``precision`` and ``scale`` of a decimal (else 0).

    An opaque value (map, struct, array, …) is represented as TRUE or NULL: it can only be tested for NULL.
    """

    name: KindName
    bits: int = 64
    precision: int = 0
    scale: int = 0


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Kind], ...] = (
    (pa.types.is_boolean, Kind("boolean", 8)),
    (pa.types.is_float32, Kind("float", 32)),
    (pa.types.is_float64, Kind("float")),
    (pa.types.is_string, Kind("string")),
    (pa.types.is_large_string, Kind("string")),
    (pa.types.is_binary, Kind("binary")),
    (pa.types.is_large_binary, Kind("binary")),
    (pa.types.is_date32, Kind("date", 32)),
    (pa.types.is_timestamp, Kind("timestamp")),
    (pa.types.is_duration, Kind("duration")),
)


@dataclass(slots=True)
class Payload:
    """The columns of one table at the candidates' rows; each is converted once, when first asked for."""

    table: pa.Table
    positions: IntArray
    _extents: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    _numbers: dict[str, tuple[Numbers, BoolArray]] = field(default_factory=dict)
    _series: dict[str, pl.Series] = field(default_factory=dict)
    _frames: dict[tuple[str, ...], pl.DataFrame] = field(default_factory=dict)
    _codes: dict[tuple[str, ...], tuple[dict[str, IntArray], int]] = field(default_factory=dict)

    def kind(self, column: str) -> Kind:
        """The kind of ``column``."""
        return _kind(self.table.schema.field(column).type)

    def series(self, column: str) -> pl.Series:
        """The candidates' values of ``column``."""
        if column not in self._series:
            self._series[column] = _taken(self.table.column(column), self.positions, self.kind(column))
        return self._series[column]

    def frame(self, columns: tuple[str, ...]) -> pl.DataFrame:
        """The candidates' values of several columns."""
        if columns not in self._frames:
            self._frames[columns] = pl.DataFrame([self.series(column).alias(column) for column in columns])
        return self._frames[columns]

    def extent(self, column: str) -> tuple[float, float] | None:
        """The least and the greatest value (decimals: unscaled; 0 if there are no values); None for kinds other than numbers and ordered times, and
        if there is a NaN or an infinity."""
        if column not in self._extents:
            self._extents[column] = _extent(self.series(column), self.kind(column))
        return self._extents[column]

    def numbers(self, column: str) -> tuple[Numbers, BoolArray]:
        """The values as a NumPy array (0 for NULL), and which are NULL; for a column whose ``extent`` fits 64 bits."""
        if column not in self._numbers:
            series = self.series(column)
            plain = series.cast(pl.Float64 if self.kind(column).name == "float" else pl.Int64).fill_null(0)
            self._numbers[column] = plain.to_numpy(), series.is_null().to_numpy()
        return self._numbers[column]

    def codes(self, columns: Sequence[str]) -> tuple[dict[str, IntArray], int]:
        """Per column a code per candidate, equal iff the values are equal, -1 for NULL; and the number of codes.

        NaN equals NaN and -0.0 equals 0.0, as in Spark.
        """
        key = tuple(sorted(set(columns)))
        if key not in self._codes:
            self._codes[key] = _encode({column: self.series(column) for column in key}, self._common_kind(key))
        return self._codes[key]

    def _common_kind(self, columns: tuple[str, ...]) -> Kind:
        kinds = [self.kind(column) for column in columns]
        if len({(kind.name, kind.scale) for kind in kinds}) > 1 or kinds[0].name == "opaque":
            types = ", ".join(f"{column} {self.table.schema.field(column).type}" for column in columns)
            raise CepUnsupportedError(f"These types cannot be compared for equality: {types}.", code="EQUALITY")
        return kinds[0]


def result_kind(operator: Operator, one: Kind, two: Kind) -> Kind | None:
    """The kind of a sum, difference or product of two kinds; None if undefined. A decimal may exceed ``MAX_PRECISION`` digits."""
    names = (one.name, two.name)
    if names in (("float", "float"), ("integer", "integer")):
        return Kind(one.name, max(one.bits, two.bits))
    if names == ("decimal", "decimal"):
        return Kind("decimal", 128, *decimal_digits(operator, (one.precision, one.scale), (two.precision, two.scale)))
    if operator == "sub" and one.name == two.name and one.name in ("timestamp", "date", "duration"):
        return Kind("duration")
    if operator in ("add", "sub") and names in (("timestamp", "duration"), ("duration", "duration")):
        return Kind(one.name)
    return None


def kind_of_type(type_text: str) -> Kind:
    """The kind of the values of a type in SQL."""
    return _kind(arrow_type(type_text) or pa.null())


def _extent(series: pl.Series, kind: Kind) -> tuple[float, float] | None:
    if kind.name not in ("integer", "float", "decimal", "timestamp", "duration"):
        return None
    if kind.name == "float" and not series.is_finite().all():
        return None
    return cast(float, series.min() or 0), cast(float, series.max() or 0)


def _kind(data_type: pa.DataType) -> Kind:
    if pa.types.is_decimal128(data_type):
        return Kind("decimal", 128, data_type.precision, data_type.scale)
    if pa.types.is_signed_integer(data_type):
        return Kind("integer", data_type.bit_width)
    return next((kind for test, kind in _KINDS if test(data_type)), Kind("opaque"))


def _taken(column: pa.ChunkedArray, positions: IntArray, kind: Kind) -> pl.Series:
    """The values at ``positions``. Numbers without NULLs are taken by NumPy, in a third of Arrow's time."""
    if kind.name in ("integer", "float") and column.null_count == 0:
        return pl.Series(column.to_numpy()[positions])
    return _series(_contiguous(column.take(pa.array(positions))), kind)


def _series(values: pa.Array, kind: Kind) -> pl.Series:
    if kind.name == "opaque":
        return _polars(pc.if_else(values.is_valid(), True, None).cast(pa.bool_()))
    if kind.name == "decimal":
        # Only the scale changes: the same 128-bit integers, reinterpreted with scale 0.
        whole = pa.Array.from_buffers(pa.decimal128(38, 0), len(values), values.buffers(), offset=values.offset)
        return _polars(whole).cast(pl.Int128)
    if kind.name == "date":
        return _polars(values.cast(pa.int32()))
    if kind.name == "timestamp":
        return _polars(values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64()))
    if kind.name == "duration":
        return _polars(values.cast(pa.duration("us")).cast(pa.int64()))
    return _polars(values)


def _polars(values: pa.Array) -> pl.Series:
    return cast(pl.Series, pl.from_arrow(values))


def _contiguous(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _encode(columns: dict[str, pl.Series], kind: Kind) -> tuple[dict[str, IntArray], int]:
    if kind.name in ("integer", "date", "timestamp", "duration"):
        near = _offsets(columns)
        if near is not None:
            return near
    merged = pl.concat([values.cast(pl.Float64) if kind.name == "float" else values for values in columns.values()])
    dense = merged.rank("dense").cast(pl.Int64)
    codes = (dense - 1).fill_null(-1).to_numpy()
    parts = np.split(codes, len(columns))
    return dict(zip(columns, parts, strict=True)), int(codes.max(initial=-1)) + 1


def _offsets(columns: dict[str, pl.Series]) -> tuple[dict[str, IntArray], int] | None:
    """Codes of integers in a narrow range: their offsets from the smallest."""
    wide = {name: values.cast(pl.Int64) for name, values in columns.items()}
    ends = [cast(int, end) for values in wide.values() for end in (values.min(), values.max()) if end is not None]
    low = min(ends, default=0)
    size = max(ends, default=-1) - low + 1
    if size > 4 * sum(len(values) for values in columns.values()):
        return None
    return {name: (values - low).fill_null(-1).to_numpy() for name, values in wide.items()}, size
