"""Sums of two words against Python's integers: what has more than 38 digits stays known, also where later numbers bring it back."""

from __future__ import annotations

from random import Random

import numba as nb
import numpy as np
import pytest

from sparkcep.engines.row_match.codes import BEYOND, PRESENT
from sparkcep.engines.row_match.register_kernels import add_wide

WORD = 1 << 64
MOST = 10**38


@nb.njit
def summed(low, high, registers, less):  # type: ignore[no-untyped-def]
    for i in range(len(low)):
        add_wide(registers, 0, 0, low[i], high[i], less)


def words(numbers: list[int]) -> tuple[np.ndarray, np.ndarray]:
    signed = [(number % WORD + WORD // 2) % WORD - WORD // 2 for number in numbers]
    return np.array(signed, np.int64), np.array([number >> 64 for number in numbers], np.int64)


def drawn() -> list[list[int]]:
    draws = Random(3)
    sizes = (10, 10**18, 10**20, 10**37, MOST - 1)
    return [[draws.randint(-size, size) for size in draws.choices(sizes, k=draws.randint(1, 6))] for _ in range(2000)]


@pytest.mark.parametrize(
    "lists",
    [
        [[MOST - 1], [MOST - 1, 1], [1 - MOST], [1 - MOST, -1], [MOST - 1, 1 - MOST]],
        [[-(1 << 126)] * 2, [1 << 126] * 2, [MOST - 1] * 2, [MOST - 1, 1, -1], [-1, 1, 0], [(1 << 63), -(1 << 63)]],
        drawn(),
    ],
)
def test_sums(lists: list[list[int]]) -> None:
    for numbers in lists:
        registers = np.zeros((1, 3), np.int64)
        summed(*words(numbers), registers, 0)
        sums = [sum(numbers[: i + 1]) for i in range(len(numbers))]
        low, high, state = registers[0].tolist()
        assert state == (BEYOND if any(abs(one) >= MOST for one in sums) else PRESENT), numbers
        assert state == BEYOND or (high << 64) + low % WORD == sums[-1], numbers
