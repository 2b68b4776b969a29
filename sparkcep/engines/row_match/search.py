"""Runs the search kernel over a slice of the input.

In: a ``Plan``, the words and mask bits of a slice of whole partitions. Out: batches of ``Matches``. Makes room where a
match is longer than expected, and turns the kernel's faults into errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.calls import Calls
from sparkcep.engines.row_match.liveness import Keys
from sparkcep.engines.row_match.structures import (
    Changes,
    Code,
    Conditions,
    Inside,
    Limits,
    Memory,
    Stack,
    Taken,
    Workspace,
)
from sparkcep.engines.row_match.values import Data, Pool
from sparkcep.engines.row_pattern.find import LEAST_NODES, Search, SkipError
from sparkcep.engines.row_pattern.frames import FrameProgram
from sparkcep.engines.row_pattern.matches import BATCH_MATCHES, BATCH_NODES, Matches, room, written
from sparkcep.engines.row_pattern.structures import Frames, Progress
from sparkcep.engines.row_pattern.windows import FrameRows, kernel_frames, of_rows
from sparkcep.errors import CepDataError, CepError, CepLimitError
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.row import Aggregate, ColumnAt, Define, leaves

MAX_STEPS = 20_000_000
"""Rows tried against a variable for one start row, above what is linear in the partition: a few seconds. Searches that
need more are exponential as a rule (``(A|B)* C`` with C AS SUM(A.w) = 1000 is the subset sum problem)."""

STEPS_A_TARGET = 8
"""Further steps for each row of the partition and target of the program: a search that meets each of them a few times
is no cause for alarm, however large the partition."""

MEMORY_BYTES = 160 << 20
"""Failures remembered at a time: some two million (virtual memory until they are)."""

LEAST_MEMORY = 1 << 10
"""Failures for which there is room at first; a power of two, and at least 4 (a table is never quite full)."""

FIRST_ROOM = 1 << 10
"""Rows of a match for which there is room at first."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Conditions compiled for the columns of one schema. ``depth``: of
    the stack; ``registers`` [words]: their values before the first row; ``numbered``: MATCH_NUMBER() is read;
    ``slow`` and ``lists``: what Python evaluates and gathers. ``checked``: columns whose values may have no room."""

    defines: tuple[Define, ...]
    variables: tuple[str, ...]
    pool: Pool
    code: Code
    changes: Changes
    keys: Keys
    depth: int
    registers: NDArray[np.int64]
    numbered: bool
    slow: tuple[tuple[str, SparkFunction], ...] = ()
    lists: tuple[Aggregate, ...] = ()
    checked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Slice:
    """Whole partitions: their first rows (and the number of rows), words, how far WITHIN lets matches go, callbacks if there are any, and in windows
    their frames."""

    starts: NDArray[np.int64]
    data: Data
    inside: Inside
    calls: Calls | None = None
    frames: tuple[FrameProgram, FrameRows] | None = None


def find_matches(
    search: Search,
    plan: Plan,
    part: Slice,
    viable: NDArray[np.uint64],
    progress: Progress,
    most_steps: int,
    skip_error: SkipError,
    asked: NDArray[np.int64] | None = None,
) -> Iterator[Matches]:
    """The matches of a slice in order. ``viable``: see ``find.viable_nodes``. ``asked`` [2, nodes]: gets, for each node, how many rows its
    condition was asked of, and how many it turned away; complete when all matches are there.

    Raises CepDataError for a condition that overflows or divides by zero, and where AFTER MATCH SKIP TO has nowhere to go;
    CepLimitError where a start row needs more than about ``most_steps`` steps.
    """
    from sparkcep.engines.row_pattern import kernels

    program, rows, starts = search.program, len(viable) - 1, part.starts
    state = _state(plan, part)
    state[codes.C_ROW], state[codes.C_NUMBER], state[codes.C_COVERED] = progress.first()
    variables, calls = len(plan.variables), part.calls
    failures = np.zeros(variables + (0 if asked is None else 2 * asked.size), np.int64)
    longest, nodes = FIRST_ROOM, min(BATCH_NODES, max(rows + 1, LEAST_NODES))
    conditions = _conditions(plan, part)
    work = _workspace(plan, longest, program.nodes, calls)
    limits = Limits(most_steps, STEPS_A_TARGET * (1 + len(program.list_items)), plan.numbered)
    frames = None if part.frames is None else kernel_frames(*part.frames, program, viable)
    while True:
        path, found = room(nodes, min(BATCH_MATCHES, nodes))
        begin = int(state[codes.C_ROW])
        given = (
            viable,
            part.inside,
            program.targets,
            search.rules,
            conditions,
            part.data.words,
            limits,
            work,
            failures,
            state,
        )
        status = _searched(part, progress, frames, *given, path, found)
        del given
        if status == kernels.DONE:
            del part, work, viable  # of one long match they are larger than its rows: measures have their room
            if asked is not None:
                asked += failures[variables : variables + asked.size].reshape(asked.shape)
        matches = int(state[codes.C_MATCHES])
        if matches:
            done = written(path, found, int(state[codes.C_NODES]), matches)
            yield done if frames is None else of_rows(done, begin)
        if calls is not None and calls.error is not None:
            raise _call_error(calls.error, state, plan, starts)
        if status == kernels.DONE:
            return
        if status == codes.MATCH_GROWS:
            longest *= 4
            work = _longer(work, plan, longest, program.nodes, calls)
        elif status == kernels.FULL:
            if nodes < state[codes.C_NEED]:
                nodes = int(state[codes.C_NEED])
                work = _longer(work, plan, longest, program.nodes, calls, work.taken.path)
        else:
            raise _error(status, state, failures, plan, starts, most_steps, skip_error)


def _searched(part: Slice, progress: Progress, frames: Frames | None, *given: Any) -> int:
    """The search as far as there is room, and why it ends there."""
    from sparkcep.engines.row_match import search_kernels, window_kernels

    if part.frames is None:
        return search_kernels.search(part.starts, progress, *given)
    return window_kernels.search_frames(part.starts, part.frames[1].masks, frames, *given)


def most_behind(defines: tuple[Define, ...]) -> int:
    """How many rows back a condition looks from any row, at most."""
    physical = (
        leaf.at.physical for define in defines for leaf in leaves(define.condition) if isinstance(leaf, ColumnAt)
    )
    return max((-offset for offset in physical), default=0)


def _state(plan: Plan, part: Slice) -> NDArray[np.int64]:
    state = np.zeros(codes.C_SIZE, np.int64)
    state[codes.C_LEAST] = state[codes.C_CAPACITY] = LEAST_MEMORY
    state[codes.C_EPOCH], state[codes.C_FURTHEST] = 1, -1
    if part.frames is not None:
        state[codes.C_NEAR] = max(part.frames[0].prev, most_behind(plan.defines))
    return state


def _memory(width: int) -> Memory:
    """Two tables of each size: 4 * most in all."""
    most = max(MEMORY_BYTES // (4 * 8 * (width + 1)), LEAST_MEMORY)
    size = 4 << most.bit_length() - 1
    return Memory(np.empty((size, width), np.int64), np.zeros(size, np.int64), np.zeros(width, np.int64))


def _workspace(plan: Plan, longest: int, nodes: int, calls: Calls | None) -> Workspace:
    stack = Stack(np.zeros(plan.depth, np.int64), np.zeros(plan.depth, np.bool_))
    none = Taken(np.empty(0, np.int16), np.empty((0, 0), np.int64))
    work = Workspace(np.empty((0, 2), np.int32), none, stack, _memory(plan.keys.width))
    return _longer(work, plan, longest, nodes, calls)


def _longer(
    work: Workspace, plan: Plan, longest: int, nodes: int, calls: Calls | None, path: NDArray[np.int16] | None = None
) -> Workspace:
    """With room for a match of so many rows; and the ``path`` of one that is found: its frames and registers are let go before it is written."""
    path = np.empty(longest, np.int16) if path is None else path
    taken = Taken(path, np.empty((longest + 1, len(plan.registers)), np.int64))
    taken.registers[0] = plan.registers
    if calls is not None:
        calls.look_at(taken)
    return work._replace(frames=np.empty((longest + nodes + 1, 2), np.int32), taken=taken)


def _conditions(plan: Plan, part: Slice) -> Conditions:
    """The totals of this slice need not look at filters that all of its rows pass; what calls Python knows where to call."""
    code, totals = plan.code, plan.changes.totals.copy()
    for total in totals:
        if total[3] >= 0 and part.data.always[total[3]]:
            total[3] = -1
    if part.calls is not None:
        code, totals = part.calls.code(code), part.calls.totals(totals)
    return Conditions(code, plan.changes._replace(totals=totals), plan.keys.parts)


def _error(
    status: int,
    state: NDArray[np.int64],
    failures: NDArray[np.int64],
    plan: Plan,
    starts: NDArray[np.int64],
    most_steps: int,
    skip_error: SkipError,
) -> Exception:
    from sparkcep.engines.row_pattern import kernels

    row, low = int(state[codes.C_ROW]), int(starts[state[codes.C_PARTITION]])
    if status in (kernels.SKIP_ABSENT, kernels.SKIP_TO_START):
        return skip_error(row, int(state[codes.C_NUMBER]), status == kernels.SKIP_TO_START)
    if status == codes.BUDGET:
        return _budget_error(row - low, plan, failures, most_steps)
    text = _text(plan, plan.variables[state[codes.C_VARIABLE]])
    where = f"at row {state[codes.C_FAULT_ROW] - low + 1} of its partition"
    if status - codes.FAULT == codes.ZERO_DIVISION:
        return CepDataError(f"{text} divides by zero {where}", code="DIVIDE_BY_ZERO", hint="use NULLIF(divisor, 0)")
    return CepDataError(f"{text} overflows {where}", code="OVERFLOW", hint="compute with DOUBLE values")


def _call_error(error: Exception, state: NDArray[np.int64], plan: Plan, starts: NDArray[np.int64]) -> Exception:
    """What a slow condition has raised, and where."""
    if not isinstance(error, CepError):
        return error
    row, low = int(state[codes.C_FAULT_ROW]), int(starts[min(state[codes.C_PARTITION], len(starts) - 2)])
    where = f"{_text(plan, plan.variables[state[codes.C_VARIABLE]])} at row {row - low + 1} of its partition"
    code = error.code[len(error.kind) + 1 :]
    return type(error)(f"{where}: {error.message}", code=code, hint=error.hint)


def _budget_error(row: int, plan: Plan, failures: NDArray[np.int64], most_steps: int) -> CepLimitError:
    named = [define.variable for define in plan.defines]
    worst = max(named, key=lambda name: failures[plan.variables.index(name)])
    return CepLimitError(
        f"the search for a match that starts at row {row + 1} of its partition has taken more than {most_steps} steps; "
        f"most often it fails at {_text(plan, worst)}",
        code="MATCH_STEPS",
        hint=f"every row may be mapped in several ways before {worst} is tested: make the conditions of the variables "
        "before it exclusive, or bound their quantifiers",
    )


def _text(plan: Plan, variable: str) -> str:
    text = next(define.text for define in plan.defines if define.variable == variable)
    return f"the condition of {variable}" + (f" ({text})" if text else "")
