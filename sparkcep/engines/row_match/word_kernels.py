"""Numba kernels: single words of 64 bits, and what they stand for.

Values are int64 words whatever their type: numbers, order-preserving keys of floats (see ``float_key``), codes of strings.
Sums of floats are kept as IEEE bits.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir
import numba as nb
from numba import types
from numba.extending import intrinsic

from sparkcep.engines.inner_kernel import inner

SIGN = 0x7FFFFFFFFFFFFFFF


@intrinsic
def float_of(typing, bits):  # type: ignore[no-untyped-def]
    """The float64 with these bits."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], llvmlite.ir.DoubleType())

    return nb.float64(nb.int64), generate


@intrinsic
def bits_of(typing, value):  # type: ignore[no-untyped-def]
    """The bits of a float64."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], llvmlite.ir.IntType(64))

    return nb.int64(nb.float64), generate


@intrinsic
def call_python(typing, address, a, b, c, d, e, f, g):  # type: ignore[no-untyped-def]
    """What the C function at ``address`` returns: a callback of ``calls``."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = llvmlite.ir.IntType(64)
        function = llvmlite.ir.FunctionType(word, [word] * 7)
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])

    return nb.int64(*[nb.int64] * 8), generate


def _checked(instruction: str) -> Any:
    """Arithmetic modulo 2^64, and whether the result is another one than without: numba's own says nothing of that, and has LLVM
    suppose that it is not."""

    @intrinsic
    def checked(typing, left, right):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            pair = getattr(builder, instruction)(*arguments)
            parts = [builder.extract_value(pair, i) for i in range(2)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.Tuple((nb.int64, nb.boolean))(nb.int64, nb.int64), generate

    return checked


sum_of = _checked("sadd_with_overflow")
difference_of = _checked("ssub_with_overflow")
product_of = _checked("smul_with_overflow")
"""(left, right) → (result, whether it wrapped around)."""
sum_and_carry = _checked("uadd_with_overflow")
"""The same of words whose bits are unsigned."""


@inner(nb.float64(nb.int64))
def keyed_float(key):  # type: ignore[no-untyped-def]
    """The float of an order-preserving key."""
    return float_of(key if key >= 0 else key ^ SIGN)


@inner(nb.int64(nb.float64))
def float_key(value):  # type: ignore[no-untyped-def]
    """An int64 that sorts like the float: one NaN, above all, and one zero (as ``Columns.order_keys``)."""
    if value != value:
        return 0x7FF8000000000000
    bits = bits_of(value + 0.0)
    return bits if bits >= 0 else bits ^ SIGN


@inner()
def is_null(words, column, row):  # type: ignore[no-untyped-def]
    """True if the column is NULL in the row."""
    return words.nullable[column] >= 0 and words.nulls[words.nullable[column], row]
