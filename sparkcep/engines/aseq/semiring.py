"""The arithmetic of counts in numba kernels: a semiring, chosen by ``mode``.

All numbers are words of 64 bits, so that one kernel serves every mode.
SATURATING: non-negative int64, where MAX means "MAX or more". Only non-negative numbers are added and multiplied, so a value below MAX is exact and
MAX is never a false alarm. It costs no more than doubles: overflow is read from the processor's flag.
LEAST: the least key on any path (plus is min, times is max, zero is MAX, one is 0).
FLOAT: sums of doubles, as their IEEE bits (``words``). Any greater mode is a modulus below 2^31.
None stands for SATURATING in kernels compiled for it alone.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.row_match.word_kernels import bits_of, float_of

SATURATING, LEAST, FLOAT = 0, 1, 2
MAX = np.iinfo(np.int64).max


ONE = 0x3FF0000000000000
"""The bits of 1.0."""


def words(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """The same numbers as the kernels read and write them: doubles by their bits."""
    return numbers.view(np.int64)


@inner()
def zero_of(mode):  # type: ignore[no-untyped-def]
    """The additive identity (no match)."""
    return MAX if mode is not None and mode == LEAST else 0


@inner()
def one_of(mode):  # type: ignore[no-untyped-def]
    """The multiplicative identity (the empty match)."""
    if mode is None:
        return 1
    return 0 if mode == LEAST else ONE if mode == FLOAT else 1


@inner()
def plus(mode, a, b):  # type: ignore[no-untyped-def]
    """Alternatives."""
    if mode is None or mode == SATURATING:
        return _sum(a, b)
    if mode == LEAST:
        return min(a, b)
    if mode == FLOAT:
        return bits_of(float_of(a) + float_of(b))
    return (a + b) % mode


@inner()
def times(mode, a, b):  # type: ignore[no-untyped-def]
    """One after the other. Zero times infinity is zero: there is no such path."""
    if mode is None or mode == SATURATING:
        return _product(a, b)
    if mode == LEAST:
        return max(a, b)
    if mode == FLOAT:
        x, y = float_of(a), float_of(b)
        return bits_of(0.0 if x == 0.0 or y == 0.0 else x * y)
    return (a * b) % mode


@intrinsic
def _sum(typing, a, b):  # type: ignore[no-untyped-def]
    """``a + b``; saturates at MAX for non-negative int64."""

    def generate(context, builder, signature, operands):  # type: ignore[no-untyped-def]
        total = builder.add(*operands)
        return builder.select(builder.icmp_signed("<", total, _integer(0)), _integer(int(MAX)), total)

    return nb.int64(nb.int64, nb.int64), generate


@intrinsic
def _product(typing, a, b):  # type: ignore[no-untyped-def]
    """``a * b``; saturates at MAX for non-negative int64."""

    def generate(context, builder, signature, operands):  # type: ignore[no-untyped-def]
        product, over = (builder.extract_value(builder.smul_with_overflow(*operands), i) for i in range(2))
        return builder.select(over, _integer(int(MAX)), product)

    return nb.int64(nb.int64, nb.int64), generate


def _integer(value: int) -> ir.Constant:
    return ir.Constant(ir.IntType(64), value)
