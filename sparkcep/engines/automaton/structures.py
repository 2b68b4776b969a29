"""What the kernels of automata are given, named. Arrays only: no kernel is imported here, and no numba.

``Graph`` is the program, ``Events`` the input. ``Runs`` is the state that a batch begins without and a stream with what it saved: a log, in
which each run is an interval [born, died) of rows in which it stays in one state with one set of register values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_match.structures import Code, Stack, Words

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Graph(NamedTuple):
    """``since`` [periods]: when each begins, and ``block`` [periods]: what it has, which may be what another one had. ``arcs`` [n, 11] by block, kind
    and source: those of kind k that leave state q in block b from ``first[3 * b + k, q]`` to ``first[3 * b + k, q + 1]`` - 1; ``moves`` [m, 6];
    ``tests`` [t, 7]; ``traits`` [blocks * states, 3]. See ``codes``."""

    since: Longs
    block: Longs
    first: Longs
    arcs: Longs
    moves: Longs
    tests: Longs
    traits: Flags


class Events(NamedTuple):
    """``masks`` [columns, rows]; ``time`` and ``deadline`` [rows], or empty: runs never end by time."""

    masks: Longs
    time: Longs
    deadline: Longs


class Runs(NamedTuple):
    """Run 0 is the one that every event may begin: in the start state, with the registers' defaults. ``start``: the row where it began;
    ``ends``: the time at which its window has passed; ``registers`` [room, words]; ``lists`` [3, room]: the runs alive, in the order of their
    starts (of the first two rows the one that P_SIDE says), and those before the first event."""

    start: Longs
    ends: Longs
    state: Longs
    born: Longs
    died: Longs
    registers: Longs
    lists: Longs


class Found(NamedTuple):
    """Matches: first and last row, final state, registers [room, words]."""

    start: Longs
    end: Longs
    state: Longs
    registers: Longs


class Left(NamedTuple):
    """Of runs that an earlier turn left, what ``Runs`` has of each."""

    start: Longs
    ends: Longs
    state: Longs
    registers: Longs


class Resumed(NamedTuple):
    """``runs`` of the log that an earlier turn left, partition by partition: those from ``first[i]`` to ``first[i + 1]`` go on at the row
    ``rows[i]``, the first of their partition."""

    rows: Longs
    first: Longs
    runs: Longs


class Memory(NamedTuple):
    """A hash table of the runs of one start: ``slots`` hold runs, ``stamps`` the epoch in which they count. Their number is a power of two."""

    slots: Longs
    stamps: Longs


class Tally(NamedTuple):
    """``alive`` [states]: runs in each; ``action`` [states]: what the event at hand does to them. ``asked``, ``taken`` [arcs of the spec], or empty:
    how often each was asked and taken."""

    alive: Longs
    action: Longs
    asked: Longs
    taken: Longs


class Outside(NamedTuple):
    """Python, for what has no operations: ``address`` of the function that computes a register's value, and where it leaves it."""

    address: Longs
    answer: Longs


class Given(NamedTuple):
    """All of them, with the conditions' ``code``, their ``words`` and ``stack`` (``path`` is empty), and ``position``: see ``codes``."""

    graph: Graph
    events: Events
    runs: Runs
    resumed: Resumed
    found: Found
    memory: Memory
    tally: Tally
    outside: Outside
    code: Code
    words: Words
    stack: Stack
    path: NDArray[np.int16]
    position: Longs
