"""Numba kernels: what an arc asks of a run and does to its registers, and whether a run is there already."""

from __future__ import annotations

from sparkcep.engines.automaton.codes import (
    ADD_CONSTANT,
    BIT,
    CALL,
    CONDITION,
    COPY_COLUMN,
    EARLY,
    EQUAL,
    FEW,
    LESS,
    M_BITS,
    M_CONSTANT,
    M_FLAG,
    M_KIND,
    M_OPERAND,
    M_WORD,
    MORE,
    MOVE,
    MOVE_END,
    NUMBER,
    OF_COLUMN,
    OF_REGISTER,
    P_EPOCH,
    P_HASHED,
    T_LEFT,
    T_RIGHT,
    T_WHEN,
    TEST,
    TEST_END,
    WORD,
)
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.row_match.codes import CALL_FAILED, FALSE, OVERFLOW, TRUE
from sparkcep.engines.row_match.condition_kernels import holds
from sparkcep.engines.row_match.structures import Taken, Tested
from sparkcep.engines.row_match.word_kernels import call_python, is_null


@inner()
def said(condition, i, row, run, g):  # type: ignore[no-untyped-def]
    """What the bytecode of that number says of the run and the row; its value is left on the stack."""
    tested = Tested(g.graph.arcs[i, NUMBER], row, run - 1, 0, g.words.values.shape[1], 0)
    return holds(condition, g.code, tested, Taken(g.path, g.runs.registers), g.words, g.stack)


@inner(forceinline=True)
def side(t, at, row, run, g):  # type: ignore[no-untyped-def]
    """The word of a test's side, and whether there is one."""
    tests = g.graph.tests
    kind, which, flag = tests[t, at], tests[t, at + 1], tests[t, at + 2]
    if kind == OF_REGISTER:
        return g.runs.registers[run, which], flag < 0 or g.runs.registers[run, flag] != 0
    if kind == OF_COLUMN:
        return g.words.values[which, row], not is_null(g.words, which, row)
    return which, True


@inner(forceinline=True)
def passes(t, row, run, g):  # type: ignore[no-untyped-def]
    """What a test says."""
    left, one = side(t, T_LEFT, row, run, g)
    right, other = side(t, T_RIGHT, row, run, g)
    found = LESS if left < right else EQUAL if left == right else MORE
    return one and other and g.graph.tests[t, T_WHEN] & found != 0


@inner(forceinline=True)
def waits(i, row, g):  # type: ignore[no-untyped-def]
    """Whether arc i waits for the row, whatever the run: its bit is set, and the tests that read no register pass."""
    arcs = g.graph.arcs
    if arcs[i, BIT] >= 0 and (g.events.masks[arcs[i, WORD], row] >> arcs[i, BIT]) & 1 == 0:
        return False
    for t in range(arcs[i, EARLY], arcs[i, TEST]):  # noqa: SIM110
        if not passes(t, row, 0, g):
            return False
    return True


@inner(forceinline=True)
def fence(i, row, run, g):  # type: ignore[no-untyped-def]
    """What the arc's condition says of the run and the row: TRUE, FALSE (or NULL), or a fault."""
    arcs = g.graph.arcs
    for t in range(arcs[i, TEST], arcs[i, TEST_END]):
        if not passes(t, row, run, g):
            return FALSE
    condition = arcs[i, CONDITION]
    return TRUE if condition < 0 else said(condition, i, row, run, g)


@inner(forceinline=True)
def added(m, run, new, g):  # type: ignore[no-untyped-def]
    """ADD_CONSTANT."""
    moves, registers = g.graph.moves, g.runs.registers
    value, constant, bits = registers[run, moves[m, M_OPERAND]], moves[m, M_CONSTANT], moves[m, M_BITS]
    result = value + constant
    if ((value ^ result) & (constant ^ result)) < 0 or (bits < 64 and result >> (bits - 1) != result >> 63):
        return OVERFLOW
    registers[new, moves[m, M_WORD]] = result
    if moves[m, M_FLAG] >= 0:
        registers[new, moves[m, M_FLAG]] = 1
    return TRUE


@inner(forceinline=True)
def copied(m, row, new, g):  # type: ignore[no-untyped-def]
    """COPY_COLUMN."""
    moves, registers = g.graph.moves, g.runs.registers
    column, flag = moves[m, M_OPERAND], moves[m, M_FLAG]
    missing = flag >= 0 and is_null(g.words, column, row)
    registers[new, moves[m, M_WORD]] = 0 if missing else g.words.values[column, row]
    if flag >= 0:
        registers[new, flag] = 0 if missing else 1


@inner()
def computed(m, i, row, run, new, g):  # type: ignore[no-untyped-def]
    """A register's new value by bytecode or by Python."""
    moves, registers = g.graph.moves, g.runs.registers
    if moves[m, M_KIND] == CALL:
        number = g.graph.arcs[i, NUMBER]
        answer = call_python(g.outside.address[0], moves[m, M_OPERAND], number, row, run - 1, 0, 0, 0)
        if answer > 2:
            return CALL_FAILED
        value, missing = g.outside.answer[0], answer == 2
    else:
        status = said(moves[m, M_OPERAND], i, row, run, g)
        if status > TRUE:
            return status
        value, missing = g.stack.word[0], g.stack.null[0]
    registers[new, moves[m, M_WORD]] = 0 if missing else value
    if moves[m, M_FLAG] >= 0:
        registers[new, moves[m, M_FLAG]] = 0 if missing else 1
    return TRUE


@inner(forceinline=True)
def transfer(i, row, run, new, g):  # type: ignore[no-untyped-def]
    """The registers of run ``new``: those of ``run`` after the arc. TRUE, or a fault."""
    moves, registers, status = g.graph.moves, g.runs.registers, TRUE
    for w in range(registers.shape[1]):
        registers[new, w] = registers[run, w]
    for m in range(g.graph.arcs[i, MOVE], g.graph.arcs[i, MOVE_END]):
        kind = moves[m, M_KIND]
        if kind == ADD_CONSTANT:
            status = added(m, run, new, g)
        elif kind == COPY_COLUMN:
            copied(m, row, new, g)
        else:
            status = computed(m, i, row, run, new, g)
        if status != TRUE:
            return status
    return TRUE


@inner(forceinline=True)
def same(one, other, runs):  # type: ignore[no-untyped-def]
    """Whether two runs of one start are the same description."""
    if runs.state[one] != runs.state[other]:
        return False
    for w in range(runs.registers.shape[1]):  # noqa: SIM110
        if runs.registers[one, w] != runs.registers[other, w]:
            return False
    return True


@inner()
def place(run, epoch, g):  # type: ignore[no-untyped-def]
    """The slot of the memory that holds a run equal to ``run``, or the free one where it belongs."""
    registers, mask = g.runs.registers, len(g.memory.slots) - 1
    h = g.runs.state[run] * -7046029254386353131
    for w in range(registers.shape[1]):
        h = (h ^ registers[run, w]) * -4417276706812531889
        h ^= h >> 29
    at = (h ^ (h >> 32)) & mask
    while g.memory.stamps[at] == epoch and not same(g.memory.slots[at], run, g.runs):
        at = (at + 1) & mask
    return at


@inner(forceinline=True)
def is_known(run, side, first, end, g):  # type: ignore[no-untyped-def]
    """Whether a run equal to ``run`` stands in ``lists[side]`` between ``first`` and ``end``, the group of one start."""
    lists, memory, position = g.runs.lists, g.memory, g.position
    if end - first <= FEW:
        for k in range(first, end):  # noqa: SIM110
            if same(lists[side, k], run, g.runs):
                return True
        return False
    epoch = position[P_EPOCH]
    while position[P_HASHED] < end - first:
        other = lists[side, first + position[P_HASHED]]
        at = place(other, epoch, g)
        memory.slots[at], memory.stamps[at] = other, epoch
        position[P_HASHED] += 1
    return memory.stamps[place(run, epoch, g)] == epoch
