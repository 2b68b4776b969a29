"""The arithmetic of counts in numba kernels: a semiring, chosen by ``mode``.

SATURATING: non-negative int64, where MAX means "MAX or more". Only non-negative numbers are added and multiplied, so a value below MAX is exact and
MAX is never a false alarm. It costs no more than doubles: overflow is read from the processor's flag.
LEAST: the least key on any path (plus is min, times is max, zero is MAX, one is 0).
FLOAT: sums of doubles. Any greater mode is a modulus below 2^31.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sparkcep.engines.inner_kernel import inner

SATURATING, LEAST, FLOAT = 0, 1, 2
MAX = np.iinfo(np.int64).max


@inner()
def zero_of(mode, like):  # type: ignore[no-untyped-def]
    """The additive identity (no match), in the type of ``like``."""
    return like * 0 + MAX if mode == LEAST else like * 0


@inner()
def one_of(mode, like):  # type: ignore[no-untyped-def]
    """The multiplicative identity (the empty match), in the type of ``like``."""
    return like * 0 if mode == LEAST else like * 0 + 1


@inner()
def plus(mode, a, b):  # type: ignore[no-untyped-def]
    """Alternatives."""
    if mode == LEAST:
        return min(a, b)
    if mode > FLOAT:
        return (a + b) % mode
    return _sum(a, b)


@inner()
def times(mode, a, b):  # type: ignore[no-untyped-def]
    """One after the other. Zero times infinity is zero: there is no such path."""
    if mode == LEAST:
        return max(a, b)
    if mode > FLOAT:
        return (a * b) % mode
    return _product(a, b)


@intrinsic
def _sum(typing, a, b):  # type: ignore[no-untyped-def]
    """``a + b``; saturates at MAX for non-negative int64."""

    def generate(context, builder, signature, operands):  # type: ignore[no-untyped-def]
        if a == types.float64:
            return builder.fadd(*operands)
        total = builder.add(*operands)
        return builder.select(builder.icmp_signed("<", total, _integer(0)), _integer(int(MAX)), total)

    return a(a, a), generate


@intrinsic
def _product(typing, a, b):  # type: ignore[no-untyped-def]
    """``a * b``; saturates at MAX for non-negative int64; for doubles 0 if either factor is 0."""

    def generate(context, builder, signature, operands):  # type: ignore[no-untyped-def]
        if a == types.float64:
            none = ir.Constant(ir.DoubleType(), 0.0)
            zero = [builder.fcmp_ordered("==", one, none) for one in operands]
            return builder.select(builder.or_(*zero), none, builder.fmul(*operands))
        product, over = (builder.extract_value(builder.smul_with_overflow(*operands), i) for i in range(2))
        return builder.select(over, _integer(int(MAX)), product)

    return a(a, a), generate


def _integer(value: int) -> ir.Constant:
    return ir.Constant(ir.IntType(64), value)
