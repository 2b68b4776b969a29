"""Numba kernels: what an arc asks of a run and does to its registers, and whether a run is there already."""

from __future__ import annotations

import numba as nb

from sparkcep.engines.automaton.codes import (
    ADD_CONSTANT,
    BIT,
    CALL,
    CONDITION,
    COPY_COLUMN,
    FEW,
    M_BITS,
    M_CONSTANT,
    M_FLAG,
    M_KIND,
    M_OPERAND,
    M_WORD,
    MOVE,
    MOVE_END,
    NUMBER,
    P_EPOCH,
    P_HASHED,
    WORD,
)
from sparkcep.engines.row_match.codes import CALL_FAILED, OVERFLOW, TRUE
from sparkcep.engines.row_match.condition_kernels import holds
from sparkcep.engines.row_match.structures import Taken, Tested
from sparkcep.engines.row_match.word_kernels import call_python


@nb.njit(inline="always")
def waits(arcs, i, row, masks):  # type: ignore[no-untyped-def]
    """Whether the arc's bit is set in the row."""
    return arcs[i, BIT] < 0 or (masks[arcs[i, WORD], row] >> arcs[i, BIT]) & 1 == 1


@nb.njit(inline="always")
def fence(i, row, run, graph, runs, code, path, words, stack):  # type: ignore[no-untyped-def]
    """What the arc's condition says of the run and the row: TRUE, FALSE (or NULL), or a fault."""
    condition = graph.arcs[i, CONDITION]
    if condition < 0:
        return TRUE
    tested = Tested(graph.arcs[i, NUMBER], row, run - 1, 0, words.values.shape[1], 0)
    return holds(condition, code, tested, Taken(path, runs.registers), words, stack)


@nb.njit(inline="always")
def added(value, constant, bits, registers, new, word):  # type: ignore[no-untyped-def]
    """A register plus a constant."""
    result = value + constant
    if ((value ^ result) & (constant ^ result)) < 0 or (bits < 64 and result >> (bits - 1) != result >> 63):
        return OVERFLOW
    registers[new, word] = result
    return TRUE


@nb.njit(inline="always")
def computed(m, i, row, run, new, graph, runs, code, path, words, stack, outside):  # type: ignore[no-untyped-def]
    """A register's new value by bytecode or by Python."""
    moves, registers = graph.moves, runs.registers
    if moves[m, M_KIND] == CALL:
        answer = call_python(outside.address[0], moves[m, M_OPERAND], graph.arcs[i, NUMBER], row, run - 1, 0, 0, 0)
        if answer > 2:
            return CALL_FAILED
        value, is_null = outside.answer[0], answer == 2
    else:
        tested = Tested(graph.arcs[i, NUMBER], row, run - 1, 0, words.values.shape[1], 0)
        status = holds(moves[m, M_OPERAND], code, tested, Taken(path, registers), words, stack)
        if status > TRUE:
            return status
        value, is_null = stack.word[0], stack.null[0]
    registers[new, moves[m, M_WORD]] = 0 if is_null else value
    if moves[m, M_FLAG] >= 0:
        registers[new, moves[m, M_FLAG]] = 0 if is_null else 1
    return TRUE


@nb.njit(inline="always")
def transfer(i, row, run, new, graph, runs, code, path, words, stack, outside):  # type: ignore[no-untyped-def]
    """The registers of run ``new``: those of ``run`` after the arc. TRUE, or a fault."""
    moves, registers, status = graph.moves, runs.registers, TRUE
    for w in range(registers.shape[1]):
        registers[new, w] = registers[run, w]
    for m in range(graph.arcs[i, MOVE], graph.arcs[i, MOVE_END]):
        kind, word = moves[m, M_KIND], moves[m, M_WORD]
        if kind == ADD_CONSTANT:
            value = registers[run, moves[m, M_OPERAND]]
            status = added(value, moves[m, M_CONSTANT], moves[m, M_BITS], registers, new, word)
        elif kind == COPY_COLUMN:
            registers[new, word] = words.values[moves[m, M_OPERAND], row]
        else:
            status = computed(m, i, row, run, new, graph, runs, code, path, words, stack, outside)
        if status != TRUE:
            return status
    return TRUE


@nb.njit(inline="always")
def same(one, other, runs):  # type: ignore[no-untyped-def]
    """Whether two runs of one start are the same description."""
    if runs.state[one] != runs.state[other]:
        return False
    for w in range(runs.registers.shape[1]):
        if runs.registers[one, w] != runs.registers[other, w]:
            return False
    return True


@nb.njit(inline="always")
def place(run, runs, memory, epoch):  # type: ignore[no-untyped-def]
    """The slot of the memory that holds a run equal to ``run``, or the free one where it belongs."""
    mask = len(memory.slots) - 1
    h = runs.state[run] * -7046029254386353131
    for w in range(runs.registers.shape[1]):
        h = (h ^ runs.registers[run, w]) * -4417276706812531889
        h ^= h >> 29
    at = (h ^ (h >> 32)) & mask
    while memory.stamps[at] == epoch and not same(memory.slots[at], run, runs):
        at = (at + 1) & mask
    return at


@nb.njit(inline="always")
def is_known(run, side, first, end, runs, memory, position):  # type: ignore[no-untyped-def]
    """Whether a run equal to ``run`` stands in ``lists[side]`` between ``first`` and ``end``, the group of one start."""
    if end - first <= FEW:
        for k in range(first, end):
            if same(runs.lists[side, k], run, runs):
                return True
        return False
    epoch = position[P_EPOCH]
    while position[P_HASHED] < end - first:
        other = runs.lists[side, first + position[P_HASHED]]
        at = place(other, runs, memory, epoch)
        memory.slots[at], memory.stamps[at] = other, epoch
        position[P_HASHED] += 1
    return memory.stamps[place(run, runs, memory, epoch)] == epoch
