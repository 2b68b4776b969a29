"""Numba kernels: what mapping a row does to the registers.

A total has three words: the number (of a SUM of integers the low word, of one of floats its bits), the high word, and whether there is one
(``codes.PRESENT``); of a mean of integers how many there are. Of variances and deviations: the bits of the mean, of the sum of squared distances from
it, and how many values there are.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel_types import I64X2
from sparkcep.engines.row_match.codes import (
    BEYOND,
    COUNT_TOTAL,
    FLOAT_TOTAL,
    INT_TOTAL,
    LEAST_TOTAL,
    LIST_TOTAL,
    MEAN_TOTAL,
    MOMENT_TOTAL,
    PRESENT,
    WIDE_TOTAL,
)
from sparkcep.engines.row_match.kernel_types import CHANGES, WORDS
from sparkcep.engines.row_match.word_kernels import (
    bits_of,
    call_python,
    difference_of,
    float_of,
    keyed_float,
    sum_and_carry,
    sum_of,
)

LEAST_WORD = -(1 << 63)
MOST_HIGH = np.array([10 ** (38 - less) >> 64 for less in range(19)], np.int64)
MOST_LOW = np.array([10 ** (38 - less) & (1 << 64) - 1 for less in range(19)], np.uint64).view(np.int64)
"""The words of 10^38, and of the powers below it."""


@inner()
def add_integer(registers, at, word, value):  # type: ignore[no-untyped-def]
    """Adds to a sum of 128 bits."""
    total, carry = sum_and_carry(registers[at, word], value)
    registers[at, word] = total
    registers[at, word + 1] += (value >> 63) + carry


@inner()
def add_wide(registers, at, word, low, high, less):  # type: ignore[no-untyped-def]
    """Adds a number of 128 bits to a sum of them, which may have 38 digits; the last ``less`` of them are 0, and left out here. What wraps around has
    more, too: the sum of two numbers is below twice 10^38."""
    total, carry = sum_and_carry(registers[at, word], low)
    upper = sum_of(sum_of(registers[at, word + 1], high)[0], nb.int64(carry))[0]
    registers[at, word] = total
    registers[at, word + 1] = upper
    if registers[at, word + 2] != BEYOND:
        registers[at, word + 2] = BEYOND if has_more_digits(total, upper, less) else PRESENT


@inner()
def has_more_digits(low, high, less):  # type: ignore[no-untyped-def]
    """Whether a number of two words has more than 38 - ``less`` digits."""
    if high == LEAST_WORD:  # what has no opposite
        return True
    if high < 0:
        high = ~high + (low == 0)
        low = difference_of(nb.int64(0), low)[0]
    most = MOST_HIGH[less]
    return high > most or (high == most and low ^ LEAST_WORD >= MOST_LOW[less] ^ LEAST_WORD)


@inner()
def add_float(registers, at, word, value):  # type: ignore[no-untyped-def]
    """Adds to a sum of floats."""
    registers[at, word] = bits_of(float_of(registers[at, word]) + value)


@inner()
def add_moment(registers, at, word, value):  # type: ignore[no-untyped-def]
    """One more value, step by step as Spark's CentralMomentAgg (after Pébay 2008, formulas 2.1 and 2.2): results are equal to the last bit."""
    mean = float_of(registers[at, word])
    registers[at, word + 2] += 1
    delta = value - mean
    step = delta / registers[at, word + 2]
    registers[at, word] = bits_of(mean + step)
    registers[at, word + 1] = bits_of(float_of(registers[at, word + 1]) + delta * (delta - step))


@inner()
def keep(registers, at, word, value, least):  # type: ignore[no-untyped-def]
    """The least value so far, or the greatest."""
    held = registers[at, word]
    if registers[at, word + 2] == 0 or (value < held if least else value > held):
        registers[at, word] = value


@inner(nb.void(nb.int64, nb.int64, nb.int64, I64X2, CHANGES, WORDS))
def count_in(variable, row, depth, registers, changes, words):  # type: ignore[no-untyped-def]
    """``registers[depth + 1]``: as ``registers[depth]``, with ``row`` in the totals of ``variable``."""
    start, totals = changes.total_start, changes.totals
    after = depth + 1
    for w in range(registers.shape[1]):
        registers[after, w] = registers[depth, w]
    for i in range(start[variable], start[variable + 1]):
        kind, word, column, use = totals[i, 0], totals[i, 1], totals[i, 2], totals[i, 3]
        if use >= 0 and not words.counted[use, row]:
            continue
        if kind == COUNT_TOTAL:
            registers[after, word] += 1
            continue
        if kind == LIST_TOTAL:
            held = registers[after, word]
            registers[after, word] = call_python(totals[i, 5], totals[i, 4], held, row, variable, depth, 0, 0)
            continue
        value = words.values[column, row]
        if kind == MOMENT_TOTAL:
            add_moment(registers, after, word, keyed_float(value))
            continue
        if kind == MEAN_TOTAL:
            add_integer(registers, after, word, value)
            registers[after, word + 2] += 1
            continue
        if kind == INT_TOTAL:
            add_integer(registers, after, word, value)
        elif kind == WIDE_TOTAL:
            high = words.values[totals[i, 4], row] if totals[i, 4] >= 0 else value >> 63
            add_wide(registers, after, word, value, high, totals[i, 5])
            continue
        elif kind == FLOAT_TOTAL:
            add_float(registers, after, word, keyed_float(value))
        else:
            keep(registers, after, word, value, kind == LEAST_TOTAL)
        registers[after, word + 2] = 1


@inner(nb.void(nb.int64, nb.int64, nb.int64, I64X2, CHANGES))
def fill_slots(variable, row, depth, registers, changes):  # type: ignore[no-untyped-def]
    """Puts ``row`` into the slots of ``variable`` in ``registers[depth + 1]``."""
    start, slots = changes.slot_start, changes.slots
    after = depth + 1
    for i in range(start[variable], start[variable + 1]):
        last, word, size = slots[i, 0], slots[i, 1], slots[i, 2]
        if last:
            for w in range(word + size - 1, word, -1):
                registers[after, w] = registers[after, w - 1]
            registers[after, word] = row
        else:
            for w in range(word, word + size):
                if registers[after, w] < 0:
                    registers[after, w] = row
                    break
