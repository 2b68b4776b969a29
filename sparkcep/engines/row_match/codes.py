"""Numbers that the compiler of conditions and the kernels agree on."""

from __future__ import annotations

CURRENT, SLOT, FIRST_OR_CURRENT = 0, 1, 2
"""Where a row stands: the row under test; a slot; a slot, or, if it is the next to be filled, the row under test."""

COLUMN, CLASSIFIER, TOTAL, INT_SUM, FLOAT_SUM, NUMBER, APPLY = 0, 1, 2, 3, 4, 5, 6
"""Operations that push a value. COLUMN and CLASSIFIER: (where, word, index, physical, column or set of variables);
TOTAL: (word, word that is not 0 if there is a value, or -1); INT_SUM, FLOAT_SUM: (word);
APPLY: (number of a slow condition, address to call): pushes what Python says of it."""

IS_NULL, NOT, TO_FLOAT, RESCALE, ABS, FLOAT_ABS, FLOAT_FUNCTION, ROOM, SKIP_IF = 7, 8, 9, 10, 11, 12, 13, 14, 15
"""Operations on one value of the stack. TO_FLOAT: (depth of the operand, decimal digits after the point, 1 if OVERFLOW tells where the double
may be another one than that of Spark); RESCALE: (depth, power of ten to multiply with); ABS, of integers: (bits of the result); FLOAT_FUNCTION:
(its number, see SQRT); ROOM: OVERFLOW for what stands for a value without room (``NO_ROOM``);
SKIP_IF: (value, next operation): skip the right side of AND / OR where the left side decides."""

EQ, NE, LT, LE, GT, GE, EQ_NULL_SAFE, AND, OR = 16, 17, 18, 19, 20, 21, 22, 23, 24
ADD, SUB, MUL, FLOAT_ADD, FLOAT_SUB, FLOAT_MUL, FLOAT_DIV, FLOAT_POW, FLOAT_ATAN2 = 25, 26, 27, 28, 29, 30, 31, 32, 33
QUOTIENT, INT_DIV, REMAINDER, PMOD, LEAST, GREATEST = 34, 35, 36, 37, 38, 39
"""Operations on the two values on top of the stack. ADD, SUB, MUL, FLOAT_*: (bits of the result). AND, OR: see SKIP_IF. QUOTIENT, of decimals,
rounded half up: (more places of the dividend). LEAST, GREATEST: NULL only if both are.

The evaluator tells families of operations apart by their last ones: CLASSIFIER, NUMBER, ROOM, GE, OR, MUL, FLOAT_ATAN2, PMOD."""

SQRT, EXP, LN, LOG10, LOG2, SIN, COS, TAN, ASIN, ACOS, ATAN = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""Functions of a double."""

CONSTANT, MOMENT, MEAN = 40, 41, 42
"""Push a constant: (word, 1 if it is NULL); a variance or deviation: (word, its place in ``spec.row.MOMENTS``); a mean of decimals: (word)."""

TRY, JUMP, BRANCH, KEEP = 43, 44, 45, 46
"""What goes on where. TRY: (operation): there, if one before it has no result in words. JUMP: (next operation). BRANCH: (next operation):
there, unless the value that it takes from the stack is TRUE. KEEP: (next operation): there with the value on top, or without it if that is NULL."""

NO_ROOM = -(1 << 63)
"""The word of a decimal that has more digits than a word."""

COUNT_TOTAL, INT_TOTAL, FLOAT_TOTAL, LEAST_TOTAL, GREATEST_TOTAL = 0, 1, 2, 3, 4
LIST_TOTAL, MOMENT_TOTAL, MEAN_TOTAL, WIDE_TOTAL = 5, 6, 7, 8
"""Kinds of totals. LIST_TOTAL: the number of a list that Python keeps. WIDE_TOTAL: a sum of numbers of two words."""

ABSENT, PRESENT, BEYOND = 0, 1, 2
"""The third word of a total: no value yet; one; the sum of decimals has had more than 38 digits."""

RAW, VALUE, FILLED, LABEL = 0, 1, 2, 3
"""What a key holds of a register: its word; a column's value in the slot's row; whether the slot is filled; the variable
of a row near the slot's."""

FALSE, TRUE, OVERFLOW, ZERO_DIVISION, CALL_FAILED = 0, 1, 2, 3, 4
"""How a condition ends."""

MATCH_GROWS, BUDGET, UNDECIDED = 4, 5, 6
"""How a search ends, beside ``row_pattern.kernels``' DONE, FULL, SKIP_ABSENT and SKIP_TO_START, and beside FAULT plus
OVERFLOW, ZERO_DIVISION or CALL_FAILED: no room for a longer match; the step budget is spent;
a row that has not come decides."""

FAULT = 8

C_ROW, C_PARTITION, C_NUMBER, C_COVERED, C_MATCHES, C_NODES, C_NEED, C_VARIABLE, C_FAULT_ROW = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Slots of the state of a search: the first six as in ``row_pattern.kernels``; then the rows of a match that did not fit,
the variable and the row of a fault."""

C_CAPACITY, C_SECOND, C_EPOCH, C_USED, C_OLD_EPOCH, C_FURTHEST, C_LEAST = 9, 10, 11, 12, 13, 14, 15
"""Slots of the state of a memory: how many entries its tables have room for; which of the two tables of that size is
written (0 or 1), the epoch that marks its entries, how many there are; the epoch of the other table (0: empty); the
furthest row in either; the capacity to begin with."""

C_HITS, C_ADDED, C_UNTESTED, C_TRIALS, C_PAUSE, C_IDLE, C_NEAR, C_SIZE = 16, 17, 18, 19, 20, 21, 22, 23
"""Slots that tell whether remembering pays: failures recognised, and remembered, so far; remembered since one was last
recognised, in how many start rows; how long to do without, and for how many start rows still. C_NEAR: behind
fewer rows of a match, nothing is remembered: what fails there need not fail in a match that begins elsewhere (in windows, where a frame's
first rows have nothing before them)."""
