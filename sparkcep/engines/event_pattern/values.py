"""Payload columns as an engine compares them.

In: Arrow columns of any type, and the candidates' rows. Out: Polars series of a few plain kinds (temporal types as
integers, decimals as unscaled 128-bit integers), and per set of columns that are compared for equality a shared
integer code. Output columns do not pass through here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.event_pattern.events import IntArray
from sparkcep.errors import CepUnsupportedError

KindName = Literal[
    "boolean", "integer", "float", "decimal", "string", "binary", "date", "timestamp", "duration", "opaque"
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A value's type: ``bits`` of an integer or float, ``precision`` and ``scale`` of a decimal (else 0).

    An opaque value (map, struct, array, …) is carried only as TRUE or NULL: whether it is NULL is all one can ask.
    """

    name: KindName
    bits: int = 64
    precision: int = 0
    scale: int = 0


@dataclass(slots=True)
class Payload:
    """The columns of one table at the candidates' rows; each is converted once, when first asked for."""

    table: pa.Table
    positions: IntArray
    _series: dict[str, pl.Series] = field(default_factory=dict)
    _codes: dict[tuple[str, ...], tuple[dict[str, IntArray], int]] = field(default_factory=dict)

    def kind(self, column: str) -> Kind:
        """The kind of ``column``."""
        return _kind(self.table.schema.field(column).type)

    def series(self, column: str) -> pl.Series:
        """The candidates' values of ``column``."""
        if column not in self._series:
            values = _contiguous(self.table.column(column).take(pa.array(self.positions)))
            self._series[column] = _series(values, self.kind(column))
        return self._series[column]

    def codes(self, columns: Sequence[str]) -> tuple[dict[str, IntArray], int]:
        """Per column a code per candidate, equal iff the values are equal, -1 for NULL; and how many codes there are.

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


def _kind(data_type: pa.DataType) -> Kind:
    if pa.types.is_boolean(data_type):
        return Kind("boolean", 8)
    if pa.types.is_signed_integer(data_type):
        return Kind("integer", data_type.bit_width)
    if pa.types.is_float32(data_type) or pa.types.is_float64(data_type):
        return Kind("float", data_type.bit_width)
    if pa.types.is_decimal128(data_type):
        return Kind("decimal", 128, data_type.precision, data_type.scale)
    if pa.types.is_string(data_type) or pa.types.is_large_string(data_type):
        return Kind("string")
    if pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type):
        return Kind("binary")
    if pa.types.is_date32(data_type):
        return Kind("date", 32)
    if pa.types.is_timestamp(data_type):
        return Kind("timestamp")
    return Kind("duration") if pa.types.is_duration(data_type) else Kind("opaque")


def _series(values: pa.Array, kind: Kind) -> pl.Series:
    if kind.name == "opaque":
        return pl.from_arrow(pc.if_else(values.is_valid(), True, None).cast(pa.bool_()))
    if kind.name == "decimal":
        # Only the scale changes: the same 128-bit integers, read as whole numbers.
        whole = pa.Array.from_buffers(pa.decimal128(38, 0), len(values), values.buffers(), offset=values.offset)
        return pl.from_arrow(whole).cast(pl.Int128)
    if kind.name == "date":
        return pl.from_arrow(values.cast(pa.int32()))
    if kind.name in ("timestamp", "duration"):
        zone = {"tz": values.type.tz} if kind.name == "timestamp" else {}
        unit = getattr(pa, kind.name)("us", **zone)
        return pl.from_arrow(values.cast(unit).cast(pa.int64()))
    return pl.from_arrow(values)


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
    """Integers in a narrow range are their own codes, less the smallest."""
    ends = [end for values in columns.values() for end in (values.min(), values.max()) if end is not None]
    size = max(ends) - min(ends) + 1 if ends else 0
    if size > 4 * sum(len(values) for values in columns.values()):
        return None
    low = min(ends, default=0)
    codes = {name: (values.cast(pl.Int64) - low).fill_null(-1).to_numpy() for name, values in columns.items()}
    return codes, size
