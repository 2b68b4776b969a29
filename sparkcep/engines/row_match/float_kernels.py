"""Numba kernels: arithmetic of floats on the stack of ``condition_kernels``, and functions of doubles, as Java's but perhaps for the last bit."""

from __future__ import annotations

import math

import numba as nb

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.row_match.codes import (
    ACOS,
    ASIN,
    COS,
    EXP,
    FLOAT_ADD,
    FLOAT_ATAN2,
    FLOAT_DIV,
    FLOAT_POW,
    FLOAT_SUB,
    LN,
    LOG2,
    LOG10,
    SIN,
    SQRT,
    TAN,
    TRUE,
    ZERO_DIVISION,
)
from sparkcep.engines.row_match.word_kernels import float_key, keyed_float


@inner()
def of_double(which, x):  # type: ignore[no-untyped-def]
    """The function of that number; NaN where there is no value."""
    if which == SQRT:
        return math.sqrt(x) if x >= 0 else math.nan
    if which == EXP:
        return math.exp(x)
    if LN <= which <= LOG2:
        x = x if x > 0 else math.nan
        return math.log(x) if which == LN else math.log10(x) if which == LOG10 else math.log2(x)
    if which == SIN:
        return math.sin(x)
    if which == COS:
        return math.cos(x)
    if which == TAN:
        return math.tan(x)
    if which == ASIN:
        return math.asin(x)
    if which == ACOS:
        return math.acos(x)
    return math.atan(x)


@inner()
def power(x, y):  # type: ignore[no-untyped-def]
    """One to the power of what is no number, or infinite, is no number in Java."""
    if abs(x) == 1 and (math.isinf(y) or math.isnan(y)):
        return math.nan
    return math.pow(x, y)


@inner()
def compute_float(operation, bits, top, stack):  # type: ignore[no-untyped-def]
    """Arithmetic of floats of so many bits."""
    word, null = stack.word, stack.null
    null[top] |= null[top + 1]
    x, y = keyed_float(word[top]), keyed_float(word[top + 1])
    if operation == FLOAT_DIV:
        if not null[top] and y == 0.0:
            return ZERO_DIVISION
        y = 1.0 if y == 0.0 else y
        x = x / y
    elif operation == FLOAT_ADD:
        x = x + y
    elif operation == FLOAT_SUB:
        x = x - y
    elif operation == FLOAT_POW:
        x = power(x, y)
    elif operation == FLOAT_ATAN2:
        x = math.atan2(x, y)
    else:
        x = x * y
    word[top] = float_key(float(nb.float32(x)) if bits == 32 else x)
    return TRUE
