"""Numba kernels: the memory of failures.

A search that stands at a node of the program, before a row, with certain values in the registers that conditions on
the way ahead may still read, has one outcome whatever came before, whatever row the match started at. So a failure is
remembered under that key (exactly: keys are compared, not only hashed) and not run into again. Forgetting is always
safe. A table grows until it may not; then a second one begins and the one before is only read, until that one is full
too. So what was met lately stays known, which is what a depth-first search asks for. What lies behind the start row is
never met again and does not make a table grow.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel_types import I64, I64X2
from sparkcep.engines.row_match.codes import (
    C_ADDED,
    C_CAPACITY,
    C_EPOCH,
    C_FURTHEST,
    C_HITS,
    C_IDLE,
    C_LEAST,
    C_OLD_EPOCH,
    C_PAUSE,
    C_SECOND,
    C_TRIALS,
    C_UNTESTED,
    C_USED,
    FILLED,
    LABEL,
    RAW,
)
from sparkcep.engines.row_match.kernel_types import KEYS, MEMORY, TAKEN, WORDS
from sparkcep.engines.row_match.word_kernels import is_null

FAIR_TRIAL = 4096
"""Failures remembered in vain, over two start rows at least, before a pause."""

LONGEST_PAUSE = 64
"""Start rows searched without remembering, before it is tried again."""


@inner(nb.int64(*[nb.int64] * 5, TAKEN, KEYS, WORDS, I64))
def write_key(node, row, depth, low, high, taken, keys, words, key):  # type: ignore[no-untyped-def]
    """Writes what tells a search from others at ``node`` before ``row``, after ``depth`` rows; returns its length."""
    path, registers = taken
    same, live = keys.same, keys.live
    start, items = keys.start, keys.items
    size, absent = 2, 0
    for i in range(start[live[node]], start[live[node] + 1]):
        kind, held = items[i, 0], registers[depth, items[i, 1]]
        if kind == RAW:
            key[size] = held
        elif kind == FILLED:
            key[size] = held >= 0
        elif kind == LABEL:
            key[size] = -1
            at = held + items[i, 3] - (row - depth)
            if held >= 0 and 0 <= at < depth:
                label = nb.int64(path[at]) >> 1
                if words.sets[items[i, 2], label]:
                    key[size] = label
        else:
            at = held + items[i, 3]
            if held < 0 or at < low or at >= high or is_null(words, items[i, 2], at):
                absent |= 1 << (size - 2)
                key[size] = 0
            else:
                key[size] = words.values[items[i, 2], at]
        size += 1
    key[0] = row << 31 | size << 16 | nb.int64(same[node])  # 31, 15 and 16 bits
    key[1] = absent
    return size


@inner(nb.int64(I64X2, I64, I64, nb.int64, nb.int64, nb.int64, nb.int64))
def place_of(entries, epochs, key, size, base, capacity, epoch):  # type: ignore[no-untyped-def]
    """Where the key is in the table at ``base``, or, if its entry there is not of ``epoch``, where it belongs."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for i in range(size):
        mixed = (mixed ^ np.uint64(key[i])) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    at = np.int64(mixed & np.uint64(capacity - 1))
    while epochs[base + at] == epoch:
        same = True
        for i in range(size):
            if entries[base + at, i] != key[i]:
                same = False
                break
        if same:
            break
        at = (at + 1) & (capacity - 1)
    return base + at


@inner(nb.int64(nb.int64, nb.int64, nb.int64))
def base_of(capacity, second, least):  # type: ignore[no-untyped-def]
    """Where a table begins: two of each size, smaller ones first."""
    return 2 * (capacity - least) + second * capacity


@inner(nb.void(I64))
def forget(state):  # type: ignore[no-untyped-def]
    """Empties the memory."""
    state[C_CAPACITY] = state[C_LEAST]
    state[C_EPOCH] += 1
    state[C_USED] = 0
    state[C_OLD_EPOCH] = 0
    state[C_FURTHEST] = -1


@inner(nb.void(I64X2, I64, nb.int64, I64))
def make_room(entries, epochs, begin, state):  # type: ignore[no-untyped-def]
    """Goes on in the other table of this size if that is the limit, or if half of the entries are of rows before
    ``begin``, where no search will come again; else moves the others to a table twice as large."""
    capacity, second, epoch = state[C_CAPACITY], state[C_SECOND], state[C_EPOCH]
    base = base_of(capacity, second, state[C_LEAST])
    ahead = 0
    for at in range(base, base + capacity):
        ahead += epochs[at] == epoch and entries[at, 0] >> 31 >= begin
    if base_of(4 * capacity, 0, state[C_LEAST]) > len(epochs) or 2 * ahead < state[C_USED]:
        state[C_SECOND] = 1 - second
        state[C_OLD_EPOCH] = epoch
        state[C_EPOCH] = epoch + 1
        state[C_USED] = 0
        return
    state[C_CAPACITY], state[C_SECOND], state[C_EPOCH] = 2 * capacity, 0, epoch + 1
    state[C_USED], state[C_OLD_EPOCH] = ahead, 0
    larger = base_of(2 * capacity, 0, state[C_LEAST])
    for old in range(base, base + capacity):
        if epochs[old] == epoch and entries[old, 0] >> 31 >= begin:
            size = entries[old, 0] >> 16 & 0x7FFF
            at = place_of(entries, epochs, entries[old], size, larger, 2 * capacity, epoch + 1)
            for i in range(size):
                entries[at, i] = entries[old, i]
            epochs[at] = epoch + 1


@inner(nb.void(MEMORY, nb.int64, nb.int64, nb.int64, I64))
def remember(memory, size, row, begin, state):  # type: ignore[no-untyped-def]
    """Remembers the key at hand, of a failure before ``row``, in a search that began at row ``begin``."""
    entries, epochs, key = memory.entries, memory.epochs, memory.key
    if 4 * state[C_USED] >= 3 * state[C_CAPACITY]:
        make_room(entries, epochs, begin, state)
    base = base_of(state[C_CAPACITY], state[C_SECOND], state[C_LEAST])
    at = place_of(entries, epochs, key, size, base, state[C_CAPACITY], state[C_EPOCH])
    for i in range(size):
        entries[at, i] = key[i]
    if epochs[at] != state[C_EPOCH]:
        epochs[at] = state[C_EPOCH]
        state[C_USED] += 1
    state[C_ADDED] += 1
    state[C_FURTHEST] = max(state[C_FURTHEST], row)


@inner(nb.boolean(MEMORY, nb.int64, nb.int64, nb.int64, I64))
def known(memory, size, row, begin, state):  # type: ignore[no-untyped-def]
    """True if the key at hand is remembered; then it will be for longer."""
    entries, epochs, key = memory.entries, memory.epochs, memory.key
    capacity, second, least = state[C_CAPACITY], state[C_SECOND], state[C_LEAST]
    at = place_of(entries, epochs, key, size, base_of(capacity, second, least), capacity, state[C_EPOCH])
    if epochs[at] == state[C_EPOCH]:
        state[C_HITS] += 1
        return True
    if state[C_OLD_EPOCH] == 0:
        return False
    at = place_of(entries, epochs, key, size, base_of(capacity, 1 - second, least), capacity, state[C_OLD_EPOCH])
    if epochs[at] != state[C_OLD_EPOCH]:
        return False
    state[C_HITS] += 1
    remember(memory, size, row, begin, state)
    return True


@inner(nb.void(nb.int64, nb.int64, I64))
def weigh(hits, added, state):  # type: ignore[no-untyped-def]
    """After a start row (``hits``, ``added``: counts before it): pauses if what the last ones remembered was of no use.

    So it is where a condition reads FIRST: searches from different rows have little in common, and each is short
    enough without a memory. A pause ends after a while, to see whether that still holds.
    """
    if state[C_IDLE] > 0:
        state[C_IDLE] -= 1
    elif state[C_HITS] > hits:
        state[C_UNTESTED], state[C_TRIALS], state[C_PAUSE] = 0, 0, 0
    elif state[C_ADDED] > added:
        state[C_UNTESTED] += state[C_ADDED] - added
        state[C_TRIALS] += 1
        if state[C_TRIALS] > 1 and state[C_UNTESTED] >= FAIR_TRIAL:
            state[C_PAUSE] = min(max(2 * state[C_PAUSE], 1), LONGEST_PAUSE)
            state[C_IDLE] = state[C_PAUSE]
            state[C_UNTESTED], state[C_TRIALS] = 0, 0
            forget(state)
