"""The aggregate of one partition in Python integers: the oracle for tests and benchmarks.

In: the encoded rows of one partition. Out: the sum of the weights of its matches, as large as it may be. A plain restatement of the kernels'
recurrence: one prefix counter without a window, one counter per START group with a window (A-Seq section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence as Items

from sparkcep.engines.aseq.events import Coded
from sparkcep.engines.aseq.sequences import STRICT, TIED

RESET, LOOP = 30, -1


def total(coded: Coded, groups: range, weights: Items[int] | None, weighted: int) -> int:
    """The sum over the matches of a partition (its ``groups``) of the weight of their event at position ``weighted``."""
    if coded.windows is None:
        state = [1] + [0] * len(coded.gaps)
        for group in groups:
            _step(coded, group, state, weights, weighted)
        return state[-1]
    return sum(_from_start(coded, start, groups, weights, weighted) for start in groups)


def _from_start(coded: Coded, start: int, groups: range, weights: Items[int] | None, weighted: int) -> int:
    """The sum over the matches that start in group ``start`` and end where ``start`` is still within the window."""
    assert coded.windows is not None
    if not any(int(word) & 1 for word in coded.code[coded.first[start] : coded.first[start + 1]]):
        return 0
    state, found = [1] + [0] * len(coded.gaps), 0
    for group in range(start, groups.stop):
        if coded.windows.low[group] > start:
            break
        gained = _step(coded, group, state, weights, weighted)
        state[0] = 0
        if coded.windows.high[group] > start:
            found += gained
    return found


def _step(coded: Coded, group: int, state: list[int], weights: Items[int] | None, weighted: int) -> int:
    """Advance by one group of concurrent rows; returns the (weighted) number of matches that end in it."""
    length = len(coded.gaps)
    gain, resets = [0] * (length + 1), 0
    for row in range(int(coded.first[group]), int(coded.first[group + 1])):
        word = int(coded.code[row])
        resets |= word
        for j in range(length, 0, -1):
            if word >> (j - 1) & 1:
                start = 0 if coded.gaps[j - 1] == TIED else state[j - 1]
                start += 0 if coded.gaps[j - 1] <= STRICT else gain[j - 1]
                gain[j] += state[j] if coded.gaps[j - 1] == LOOP else 0
                gain[j] += start * int(weights[row]) if weights is not None and j == weighted else start
    for j in range(1, length + 1):
        kept = 0 if j < length and resets >> (RESET + j) & 1 else state[j]
        state[j] = kept + gain[j]
    return gain[length]
