"""Numba kernels: divisions of integers and of decimals, on the stack of ``condition_kernels``."""

from __future__ import annotations

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.row_match.codes import INT_DIV, NO_ROOM, OVERFLOW, PMOD, QUOTIENT, TRUE, ZERO_DIVISION
from sparkcep.engines.row_match.word_kernels import product_of

HIGHEST = (1 << 63) - 1


@inner()
def divide(operation, digits, top, stack):  # type: ignore[no-untyped-def]
    """Divisions of integers, and of decimals: there ``digits`` more places of the quotient, rounded half up."""
    word, null = stack.word, stack.null
    left, right = word[top], word[top + 1]
    null[top] |= null[top + 1]
    if null[top]:
        return TRUE
    if right == 0:
        return ZERO_DIVISION
    if left == NO_ROOM or right == NO_ROOM:
        return OVERFLOW
    by = abs(right)
    whole, rest = abs(left) // by, abs(left) % by
    if operation == QUOTIENT:
        whole, rest, fits = more_places(whole, rest, by, digits)
        if not fits:
            return OVERFLOW
        whole += rest >= by - rest
    if operation <= INT_DIV:
        word[top] = whole if (left < 0) == (right < 0) else -whole
    elif operation == PMOD and left < 0 and right > 0 and rest > 0:
        word[top] = by - rest
    else:
        word[top] = rest if left >= 0 else -rest
    return TRUE


@inner()
def more_places(whole, rest, by, digits):  # type: ignore[no-untyped-def]
    """A quotient and its rest with so many more decimal places; whether they fit a word."""
    step, unit = 0, 1
    while step < digits and unit <= HIGHEST // by // 10:
        step, unit = step + 1, unit * 10
    if step == 0 and digits > 0:
        return whole, rest, False
    while digits > 0:
        while step > digits:
            step, unit = step - 1, unit // 10
        rest *= unit
        whole, wrapped = product_of(whole, unit)
        if wrapped or whole > HIGHEST - unit:
            return whole, rest, False
        whole += rest // by
        rest %= by
        digits -= step
    return whole, rest, True
