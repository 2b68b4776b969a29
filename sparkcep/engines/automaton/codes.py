"""Numbers that the compiler of automata and its kernels agree on."""

from __future__ import annotations

EVENT, EPSILON, WINDOW = 0, 1, 2
KINDS = 3
"""Kinds of arcs, in the order of ``Graph.first``, and how many there are."""

TARGET, WORD, BIT, CONDITION, MOVE, MOVE_END, IGNORABLE, NUMBER, EARLY, TEST, TEST_END = range(11)
"""Columns of an arc: its target; the mask column and the bit in it (-1: always set); the number of its condition (-1: none); its
moves; whether it leaves a run as it is; its number in the spec; its tests, those that read no register before the others."""

LESS, EQUAL, MORE = 1, 2, 4
"""How two words compare; a test's operator is the sum of those that it lets pass."""

OF_REGISTER, OF_COLUMN, OF_CONSTANT, OF_LABEL = 0, 1, 2, 3
"""What a side of a test is: the register of a word, with the word that is 1 where it has a value (-1: always); the event's column; a word itself; a
string by its number, in whose place there is its rank as soon as strings have ranks."""

T_WHEN, T_LEFT, T_RIGHT = 0, 1, 4
"""Columns of a test: its operator; what its sides are, each three columns: what it is, which, and the word just named."""

M_WORD, M_FLAG, M_KIND, M_OPERAND, M_CONSTANT, M_BITS = 0, 1, 2, 3, 4, 5
"""Columns of a move: the register's word, and the word that is 1 where it has a value (-1: always); how the value is made, and from what."""

COMPUTE, CALL, ADD_CONSTANT, COPY_COLUMN = 0, 1, 2, 3
"""Kinds of moves. COMPUTE: by the bytecode of number M_OPERAND; CALL: Python's slow function of that number; ADD_CONSTANT: the register of word
M_OPERAND, which is never NULL, plus M_CONSTANT, an integer of M_BITS bits; COPY_COLUMN: the event's column."""

FINAL, LIVES, LEAPS = 0, 1, 2
"""Traits of a state: it accepts; some arc may still take it on with an event or at the window's end; ε-arcs leave it."""

DIE, STAY, WORK = 0, 1, 2
"""What an event does to all runs of a state: it ends them; leaves them as they are; each is asked."""

DONE, ROOM, FOUND, RUNS, LEAP, FAULT = 0, 1, 2, 3, 4, 8
"""How a call of the kernel ends: all events are taken; no room for more runs, for more matches; too many runs; ε-arcs without end; FAULT plus
``row_match.codes``' OVERFLOW, ZERO_DIVISION or CALL_FAILED."""

(
    P_ROW, P_USED, P_ALIVE, P_SIDE, P_SOONEST, P_FOUND, P_EPOCH, P_HASHED, P_ARC, P_STATUS, P_MOST, P_PEAK, P_SAVES, P_RESUMED,
    P_PERIOD, P_BLOCK, P_CLOSING, P_SIZE,
) = range(18)  # fmt: skip
"""Where a run of the kernel stands: the next row; runs in the log; runs alive, the list that holds them, the earliest end among them; matches
found; of the memory its epoch, and how many runs of the group are in it; the arc of a fault;
how it ended; the most runs allowed; the most there were; whether runs that are alive at the end of their partition stay in the log, and how many
partitions have resumed theirs; the period of the event and its block; the block at the end of
a window."""

NEVER = 0x7FFFFFFFFFFFFFFF

FEW = 8
"""Runs of one start that are compared one by one; beyond, by hash."""

MOST_LEAPS = 10_000
"""Descriptions that ε-arcs may lead to at one event of one start: more come of a cycle that changes registers only."""
