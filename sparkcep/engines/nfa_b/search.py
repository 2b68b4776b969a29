"""One automaton over one stream: the arrays of its runs and of the shared match buffer, kept large enough.

In: a ``Program``, a ``Stream``, the values that formulas read. Out: ends of matches, a bounded number at a time, each
with the buffer in which its matches are found. Between two of them the buffer is freed of what has left the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.nfa_b import codes
from sparkcep.engines.nfa_b.advance_kernels import advance
from sparkcep.engines.nfa_b.backtrack_kernels import backtrack
from sparkcep.engines.nfa_b.compilation import Automaton
from sparkcep.engines.nfa_b.events import NEVER_PAST
from sparkcep.engines.nfa_b.match_kernels import compacted
from sparkcep.engines.nfa_b.open_runs import OpenRuns
from sparkcep.engines.nfa_b.resume_kernels import latest_starts, restore
from sparkcep.engines.nfa_b.slow import Calls
from sparkcep.engines.nfa_b.structures import (
    Events,
    Formulas,
    LastNodes,
    Machine,
    Merging,
    Mode,
    Nodes,
    Paths,
    Resumed,
    Runs,
    Saved,
)
from sparkcep.engines.nfa_b.vector import Program
from sparkcep.engines.row_match.codes import OVERFLOW
from sparkcep.engines.row_match.structures import Code, Stack, Words
from sparkcep.errors import CepDataError, CepInternalError, CepLimitError

Algorithm = Literal["merging", "basic", "backtrack"]

FIRST_RUNS, FIRST_NODES, MOST_ENDS = 1 << 6, 1 << 14, 1 << 15
"""Rows to begin with. Ends are handed over when there are so many."""

MAX_NODES = 1 << 27
"""Most nodes of the match buffer (2.3 GB) before a query counts as run away."""

MAX_RUNS = 1 << 22
"""Most runs alive at once: each is looked at for every event."""


@dataclass(frozen=True, slots=True)
class Ends:
    """``count`` ends of matches: ``arrays`` (event, node), over the buffer ``nodes``, of which ``used`` are in use."""

    count: int
    arrays: LastNodes
    nodes: Nodes
    used: int


@dataclass(frozen=True, slots=True)
class Resumption:
    """``runs`` that an earlier turn left open; ``goes_on`` [runs]: the first event of its partition that each has not met (one past all events: there
    is none)."""

    runs: OpenRuns
    goes_on: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Counters:
    """What the search did: runs started, runs looked at for an event (steps), runs merged, runs postponed."""

    started: int
    steps: int
    merged: int
    postponed: int


class Search:
    """The state of one automaton's runs over one stream; ``ends`` goes through it once."""

    def __init__(
        self,
        automaton: Automaton,
        program: Program,
        events: Events,
        words: Words,
        *,
        ignores: bool,
        algorithm: Algorithm,
        chooses: bool,
        max_nodes: int = MAX_NODES,
        calls: Calls | None = None,
        before: Resumption | None = None,
    ) -> None:
        """``before``: of a stream without a window; then ``open_runs`` has what goes on in its next turn."""
        self.automaton, self.program, self.events = automaton, program, events
        self.algorithm, self.chooses, self.max_nodes, self.calls = algorithm, chooses, max_nodes, calls
        self.machine = _machine(automaton, program, calls)
        self.formulas = _formulas(program, words, calls)
        merges = algorithm == "merging" and not chooses
        self.mode = Mode(int(ignores), int(merges), int(chooses))
        self.state = np.zeros(codes.S_SIZE, np.int64)
        self.state[codes.S_BEST] = -1
        self.runs = _runs(FIRST_RUNS, program.words)
        self.table = _table(FIRST_RUNS)
        self.nodes = _nodes(FIRST_NODES)
        self.last_nodes = LastNodes(np.zeros(MOST_ENDS, np.int32), np.zeros(MOST_ENDS, np.int32))
        length = len(events.fit) + 1 if chooses else 0
        self.paths = Paths(np.zeros(length, np.int32), np.zeros(length, np.int32))
        self.resumed = Resumed(np.zeros(0, np.int32), np.zeros(1, np.int32), _runs(0, program.words))
        self.saved = _saved(0)
        if before is not None:
            self._resume(before)

    @property
    def counters(self) -> Counters:
        """What was done so far."""
        slots = (codes.S_STARTED, codes.S_STEPS, codes.S_MERGED, codes.S_POSTPONED)
        return Counters(*(int(self.state[slot]) for slot in slots))

    def ends(self) -> Iterator[Ends]:
        """The ends of all matches; what a match's end shows is valid until the next is asked for.

        Raises CepDataError for a condition that overflows or divides by zero, CepLimitError past ``max_nodes``.
        """
        while True:
            status = self._go_on()
            if status == codes.FAULT:
                raise self._fault()
            pending = int(self.state[codes.S_BEST] >= 0)
            count = int(self.state[codes.S_ENDS]) - pending
            if count and status not in (codes.RUNS_FULL, codes.SAVED_FULL):
                yield Ends(count, self.last_nodes, self.nodes, int(self.state[codes.S_NODES]))
                for array in self.last_nodes:
                    array[:pending] = array[count : count + pending]
                self.state[codes.S_ENDS] = pending
            if status == codes.DONE:
                return
            if status == codes.RUNS_FULL:
                self._more_runs()
            elif status == codes.SAVED_FULL:
                self._more_saved()
            else:
                self._compact(pending)

    def open_runs(self, starts: NDArray[np.bool_], goes_on: NDArray[np.bool_]) -> OpenRuns:
        """The runs that are open at the end of their partition, behind the last of ``ends``. ``starts``, ``goes_on`` [events]: whether a match that
        begins with the event is wanted, and whether a run may go on that took the event last."""
        running, saved = int(self.state[codes.S_RUNS]), int(self.state[codes.S_SAVED])
        at, taken, tail = (
            np.concatenate([of_saved[:saved], of_runs[:running]])
            for of_saved, of_runs in zip(self.saved, self.runs[:3], strict=True)
        )
        used = int(self.state[codes.S_NODES])
        start = np.empty(used, np.int32)
        latest_starts(used, self.nodes, start)
        alive = goes_on[self.nodes.events[tail]] & starts[start[tail]]
        at, taken, tail = at[alive], taken[alive], tail[alive]
        used = int(compacted(used, -1, len(tail), tail, self.nodes, np.empty(used, np.int32)))
        nodes = self.nodes
        return OpenRuns(
            nodes.events[:used], nodes.components[:used], nodes.left[:used], nodes.right[:used], at, taken, tail
        )

    def _resume(self, before: Resumption) -> None:
        """Take up runs that wait for events, and set the others aside."""
        left, used = before.runs, len(before.runs.events)
        self.nodes = _nodes(max(FIRST_NODES, 4 * used))
        for name in ("events", "components", "left", "right"):
            getattr(self.nodes, name)[:used] = getattr(left, name)
        self.nodes.reaches[:used] = NEVER_PAST
        self.state[codes.S_NODES] = used
        order = np.argsort(before.goes_on, kind="stable")
        waiting = int(np.searchsorted(before.goes_on[order], len(self.events.fit)))
        awake, idle = order[:waiting], order[waiting:]
        runs = _runs(waiting, self.program.words)
        self.saved = _saved(max(FIRST_RUNS, 2 * len(idle)))
        for name in ("at", "taken", "tail"):
            getattr(runs, name)[:] = getattr(left, name)[awake]
            getattr(self.saved, name)[: len(idle)] = getattr(left, name)[idle]
        self.state[codes.S_SAVED] = len(idle)
        runs.reach[:] = NEVER_PAST
        restore(waiting, self.machine, self.formulas, self.nodes, runs, np.empty(used, np.int32))
        events, starts = np.unique(before.goes_on[awake], return_index=True)
        self.resumed = Resumed(events.astype(np.int32), np.append(starts, waiting).astype(np.int32), runs)

    def _more_saved(self) -> None:
        bigger = _saved(2 * max(len(self.saved.at), int(self.state[codes.S_RUNS])))
        _copy(self.saved, bigger, len(self.saved.at))
        self.saved = bigger

    def _go_on(self) -> int:
        if self.calls is not None:
            self.calls.vectors = self.runs.vectors
        given = (self.machine, self.formulas, self.events, self.runs, self.nodes, self.last_nodes)
        if self.algorithm == "backtrack":
            return int(backtrack(*given, self.paths, self.mode, self.state))
        return int(advance(*given, self.table, self.paths, self.mode, self.resumed, self.saved, self.state))

    def _more_runs(self) -> None:
        size = 2 * len(self.runs.at)
        if size > MAX_RUNS:
            raise CepLimitError(
                f"More than {MAX_RUNS // 2} partial matches are open at once.",
                code="RUNS",
                hint="add or shorten WITHIN, or add conditions that fewer events satisfy",
            )
        bigger = _runs(size, self.program.words)
        _copy(self.runs, bigger, len(self.runs.at))
        self.runs, self.table = bigger, _table(size)
        self.state[codes.S_EPOCH] = 0
        for array in self.last_nodes:
            if len(array) < 4 * size:
                self._more_ends(4 * size)
                break

    def _more_ends(self, size: int) -> None:
        bigger = LastNodes(np.zeros(size, np.int32), np.zeros(size, np.int32))
        _copy(self.last_nodes, bigger, len(self.last_nodes.nodes))
        self.last_nodes = bigger

    def _compact(self, pending: int) -> None:
        """Free what has left the window; more room where that was not half of it, or one event may need more."""
        runs, used = int(self.state[codes.S_RUNS]), int(self.state[codes.S_NODES])
        apart = (self.saved.tail[: int(self.state[codes.S_SAVED])], self.resumed.runs.tail)
        versions = np.concatenate([self.runs.tail[:runs], self.last_nodes.nodes[:pending], *apart])
        event = int(self.state[codes.S_EVENT]) if self.algorithm != "backtrack" else -1
        place = np.empty(used, np.int32)
        left = int(compacted(used, event, len(versions), versions, self.nodes, place))
        offset = 0
        for array in (self.runs.tail[:runs], self.last_nodes.nodes[:pending], *apart):
            array[:] = versions[offset : offset + len(array)]
            offset += len(array)
        self.state[codes.S_NODES] = left
        size = len(self.nodes.events)
        while left + 8 * runs + 8 > size // 2:
            size *= 2
        if size > self.max_nodes:
            raise CepLimitError(
                f"The match buffer holds more than {self.max_nodes} events of partial matches.",
                code="MATCH_BUFFER",
                hint="add or shorten WITHIN, or add conditions that fewer events satisfy",
            )
        if size > len(self.nodes.events):
            bigger = _nodes(size)
            _copy(self.nodes, bigger, left)
            self.nodes = bigger

    def _fault(self) -> Exception:
        if self.calls is not None and self.calls.error is not None:
            return self.calls.error
        conjunct = self.program.conjuncts[int(self.state[codes.S_CONJUNCT])]
        overflow = int(self.state[codes.S_KIND]) == OVERFLOW
        return CepDataError(
            f"The condition {conjunct.text} {'overflows' if overflow else 'divides by zero'}.",
            code="ARITHMETIC_OVERFLOW" if overflow else "DIVIDE_BY_ZERO",
            hint="cast its operands to a wider type, or exclude such events with an earlier condition",
        )


def _machine(automaton: Automaton, program: Program, calls: Calls | None) -> Machine:
    components = automaton.components
    if not components:
        raise CepInternalError("an automaton without components")
    return Machine(
        low=np.array([component.low for component in components], np.int64),
        high=np.array([-1 if component.high is None else component.high for component in components], np.int64),
        kleene=np.array([component.kleene for component in components], np.bool_),
        edges=program.edges,
        update_starts=program.update_starts,
        updates=program.updates if calls is None else calls.updates(program.updates, codes.LISTED),
        masks=program.masks,
    )


def _formulas(program: Program, words: Words, calls: Calls | None) -> Formulas:
    return Formulas(
        code=Code(program.starts, program.operations if calls is None else calls.operations(program.operations)),
        words=words,
        stack=Stack(np.zeros(program.depth, np.int64), np.zeros(program.depth, np.bool_)),
        path=np.zeros(0, np.int16),
    )


def _runs(size: int, words: int) -> Runs:
    at, taken, tail, reach, since = (np.zeros(size, np.int32) for _ in range(5))
    return Runs(at, taken, tail, reach, since, np.zeros((size, words), np.int64))


def _table(size: int) -> Merging:
    return Merging(np.zeros(4 * size, np.int32), np.zeros(4 * size, np.int32))


def _saved(size: int) -> Saved:
    at, taken, tail = (np.zeros(size, np.int32) for _ in range(3))
    return Saved(at, taken, tail)


def _nodes(size: int) -> Nodes:
    events, left, right, reach = (np.zeros(size, np.int32) for _ in range(4))
    return Nodes(events, np.zeros(size, np.int8), left, right, reach)


def _copy(old: tuple[NDArray[Any], ...], new: tuple[NDArray[Any], ...], rows: int) -> None:
    for source, target in zip(old, new, strict=True):
        target[:rows] = source[:rows]
