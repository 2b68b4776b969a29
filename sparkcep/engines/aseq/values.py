"""The attribute that an aggregate ranges over, converted to semiring weights, and results converted back to Arrow arrays.

In: an Arrow column. Out: one weight per row: for COUNT 1 where there is a value, for SUM the value (negative and positive values separately, because
the counting kernels only add), for MIN and MAX an order key. No pattern is known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.aseq.semiring import MAX
from sparkcep.errors import CepUnsupportedError

SUM_DIGITS = 10
"""Digits that SUM adds to a decimal's precision, as in Spark."""
MAX_PRECISION = 38
_BITS = 53
_POWERS = (-1126, 972)
"""The exponents of the powers of two in doubles, read as integers times powers of two."""
_NAN, _INFINITY = 0x2545F4914F6CDD1D, 0x1B8735939E3779B9
NARROW = 18
"""Digits of a decimal whose unscaled value fits int64."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Column:
    """One input column: ``valid`` per row, and its Arrow values."""

    values: pa.Array
    valid: NDArray[np.bool_]

    @classmethod
    def of(cls, values: pa.Array) -> Column:
        """``values``, of which NULLs are not valid."""
        return cls(values, values.is_valid().to_numpy(zero_copy_only=False))

    @property
    def counted(self) -> Ints:
        """1 where there is a value."""
        return self.valid.astype(np.int64)

    @property
    def floating(self) -> bool:
        """Whether sums are sums of doubles."""
        return bool(pa.types.is_floating(self.values.type) or pa.types.is_null(self.values.type))

    def doubles(self) -> NDArray[np.float64]:
        """The values as doubles, 0 for NULL."""
        return np.where(self.valid, _numpy(self.values.cast(pa.float64(), safe=False)), 0.0)

    def remainders(self, prime: int) -> Ints:
        """The doubles (integers times powers of two) modulo ``prime``; 0 for NULL, a distinct number each for NaN and the two infinities."""
        numbers = self.doubles()
        finite = np.isfinite(numbers)
        fraction, exponent = np.frexp(np.where(finite, numbers, 0.0))
        powers = np.array([pow(2, power, prime) for power in range(*_POWERS)], np.int64)
        whole = (fraction * 2.0**_BITS).astype(np.int64) % prime
        special = np.where(np.isnan(numbers), _NAN, np.where(numbers > 0, _INFINITY, -_INFINITY)) % prime
        return np.where(finite, whole * powers[exponent - _BITS - _POWERS[0]] % prime, special)

    def integers(self) -> Ints:
        """The values as integers (decimals: unscaled), 0 for NULL. Raises CepUnsupportedError for other types."""
        kind = self.values.type
        if pa.types.is_decimal(kind) and kind.precision <= NARROW:
            return np.where(self.valid, _low_words(self.values), 0)
        if not pa.types.is_integer(kind):
            raise CepUnsupportedError(f"SUM over the matches of values of type {kind}", code="AGGREGATE_TYPE")
        return np.where(self.valid, _numpy(self.values.cast(pa.int64())), 0)

    def order(self) -> tuple[Ints, pa.Array]:
        """Per row the rank of its value among the distinct values (MAX for NULL), and those values in order.

        NaN is the greatest double and -0.0 equals 0.0, as in Spark.
        """
        values = self.values
        if pa.types.is_floating(values.type):
            numbers = _numpy(values.cast(pa.float64(), safe=False))
            distinct, codes = np.unique(np.where(self.valid, numbers + 0.0, np.nan), return_inverse=True)
            return np.where(self.valid, codes, MAX), pa.array(distinct).cast(values.type)
        encoded = values.dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary)
        ranks = np.empty(len(order) + 1, np.int64)
        ranks[order.to_numpy()] = np.arange(len(order))
        codes = encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
        return np.where(self.valid, ranks[codes], MAX), encoded.dictionary.take(order)


def reversed_keys(keys: Ints, count: int) -> Ints:
    """Ranks among ``count`` values as those from the greatest on, and back; MAX stays."""
    return np.where(keys == MAX, MAX, count - 1 - keys)


def column(table: pa.Table, name: str) -> Column:
    """A column of ``table``."""
    chunks = table.column(name)
    values = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    return Column.of(values)


def sum_type(kind: pa.DataType) -> pa.DataType | None:
    """The type of Spark's SUM over decimals and floats; None for integers, whose sum type the aggregate specifies."""
    if pa.types.is_floating(kind) or pa.types.is_null(kind):
        return pa.float64()
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(kind.precision + SUM_DIGITS, MAX_PRECISION), kind.scale)
    return None


def decimals(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    """Exact integers (unscaled) as decimals; ArrowInvalid where one has too many digits."""
    numbers = [None if value is None else _scaled(value, kind.scale) for value in values]
    return pa.array(numbers, kind)


def _scaled(value: int, scale: int) -> Decimal:
    digits = tuple(int(digit) for digit in str(abs(value)))
    return Decimal((int(value < 0), digits, -scale))


def _low_words(values: pa.Array) -> Ints:
    whole = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    words = np.frombuffer(whole.buffers()[1], np.int64).reshape(-1, 2)
    return np.ascontiguousarray(words[whole.offset : whole.offset + len(whole), 0])


def _numpy(values: pa.Array) -> NDArray[Any]:
    return values.fill_null(0).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
