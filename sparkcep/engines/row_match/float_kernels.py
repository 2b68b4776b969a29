"""Numba kernels: functions of doubles, as Java's but perhaps for the last bit."""

from __future__ import annotations

import math

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.row_match.codes import ACOS, ASIN, COS, EXP, LN, LOG2, LOG10, SIN, SQRT, TAN


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
