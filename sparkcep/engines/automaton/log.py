"""The log of runs: room for it, and the loop around the kernel.

In: a graph, events, conditions. Out: batches of matches. A batch begins with an empty log; what is over is forgotten when room is short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.automaton import codes
from sparkcep.engines.automaton.structures import (
    Events,
    Found,
    Given,
    Graph,
    Left,
    Memory,
    Outside,
    Resumed,
    Runs,
    Tally,
)
from sparkcep.engines.row_match.structures import Code, Stack, Words

FIRST_ROOM = 1 << 15
"""Runs for which there is room at first, at most; a power of two."""

BATCH_MATCHES = 1 << 16
"""Matches in a table, as long as one event does not make more."""

MOST_RUNS = 4_000_000
"""Runs alive at one time. More are, as a rule, runs that multiply with every event: memory would run out next."""

Refusal = Callable[[int, "Log"], Exception]


@dataclass(slots=True)
class Log:
    """Runs and where the kernel stands among them. ``position``: see ``codes``."""

    runs: Runs
    memory: Memory
    position: NDArray[np.int64]
    resumed: Resumed

    @classmethod
    def empty(cls, defaults: NDArray[np.int64], most: int, rows: range) -> Log:
        """A log without runs before ``rows``; ``defaults``: the words of the registers before the first event."""
        position = np.zeros(codes.P_SIZE, np.int64)
        position[codes.P_USED], position[codes.P_SOONEST], position[codes.P_MOST] = 1, codes.NEVER, most
        position[codes.P_ROW] = rows.start
        nothing, room = np.zeros(0, np.int64), min(FIRST_ROOM, 4 << len(rows).bit_length())
        resumed = Resumed(nothing, np.zeros(1, np.int64), nothing)
        log = cls(_runs(room, len(defaults)), _memory(room), position, resumed)
        log.runs.registers[0] = defaults
        return log

    def resume(self, runs: Left, goes_on: NDArray[np.int64]) -> None:
        """Begin with ``runs`` of an earlier turn; what is alive at the end of its partition is ``alive`` in the end. ``goes_on`` [runs]: the first
        row of the run's partition; NEVER: it has none in this turn."""
        count = len(runs.start)
        while len(self.runs.start) < 2 * count + 2:
            self.lengthen()
        at = slice(1, count + 1)
        for name in Left._fields:
            getattr(self.runs, name)[at] = getattr(runs, name)
        self.runs.died[at] = codes.NEVER
        self.position[codes.P_USED], self.position[codes.P_SAVES] = count + 1, 1
        order = np.lexsort((runs.start, goes_on))
        order = order[: np.searchsorted(goes_on[order], codes.NEVER)]
        rows, first = np.unique(goes_on[order], return_index=True)
        self.resumed = Resumed(rows, np.append(first, len(order)).astype(np.int64), order.astype(np.int64) + 1)

    @property
    def alive(self) -> NDArray[np.int64]:
        """The runs that nothing has ended."""
        return np.flatnonzero(self.runs.died[1 : self.position[codes.P_USED]] == codes.NEVER) + 1

    def lengthen(self) -> None:
        """Room for twice as many runs."""
        room = len(self.runs.start)
        longer = _runs(room * 2, self.runs.registers.shape[1])
        for old, new in zip(self.runs, longer, strict=True):
            if old.shape[0] == 3:
                new[:, :room] = old
            else:
                new[:room] = old
        self.runs, self.memory = longer, _memory(room * 2)


@dataclass(frozen=True, slots=True)
class Program:
    """All that the kernel is given beside events and log."""

    graph: Graph
    code: Code
    words: Words
    stack: Stack
    outside: Outside
    tally: Tally


def advance(
    program: Program, events: Events, log: Log, until: int, refusal: Refusal, look: Callable[[Runs], None]
) -> Iterator[Found]:
    """The matches that end before row ``until`` (one more than there are: the input ends there), batch by batch.

    ``refusal``: the error for a status of the kernel. ``look`` is told where the runs are, whenever they move.
    """
    from sparkcep.engines.automaton import run_kernels

    saved = np.zeros(2 * len(program.tally.asked), np.int64)
    found = _found(min(BATCH_MATCHES, 2 * len(log.runs.start)), log.runs.registers.shape[1])
    stopped = -1
    while True:
        look(log.runs)
        given = _given(program, events, log, found)
        status = int(run_kernels.advance(given, until, saved))
        count, row = int(log.position[codes.P_FOUND]), int(log.position[codes.P_ROW])
        if count and status != codes.ROOM:
            yield Found(*(part[:count] for part in found))
            log.position[codes.P_FOUND] = 0
        if status == codes.DONE:
            return
        if status == codes.ROOM:
            run_kernels.forget(given)
            if row == stopped or int(log.position[codes.P_USED]) * 2 > len(log.runs.start):
                log.lengthen()
            stopped = row
        elif status == codes.FOUND:
            found = _found(len(found.start) * (1 if count else 2), log.runs.registers.shape[1])
        else:
            raise refusal(status, log)


def _given(program: Program, events: Events, log: Log, found: Found) -> Given:
    return Given(
        program.graph, events, log.runs, log.resumed, found, log.memory, program.tally, program.outside,
        program.code, program.words, program.stack, np.empty(0, np.int16), log.position,
    )  # fmt: skip


def tally(states: int, arcs: int) -> Tally:
    """Counters; ``arcs`` 0: arcs are not counted."""
    return Tally(
        np.zeros(states, np.int64), np.zeros(states, np.int64), np.zeros(arcs, np.int64), np.zeros(arcs, np.int64)
    )


def _runs(room: int, width: int) -> Runs:
    start, ends, state, born, died = (np.zeros(room, np.int64) for _ in range(5))
    return Runs(start, ends, state, born, died, np.zeros((room, width), np.int64), np.zeros((3, room), np.int64))


def _memory(room: int) -> Memory:
    return Memory(np.zeros(2 * room, np.int64), np.zeros(2 * room, np.int64))


def _found(room: int, width: int) -> Found:
    start, end, state = (np.empty(room, np.int64) for _ in range(3))
    return Found(start, end, state, np.empty((room, width), np.int64))
