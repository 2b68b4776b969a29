"""Numba kernels: what a condition says of a row, and what mapping a row does to the registers.

In: bytecode (``bytecode``), values (``values``), registers (``registers``). Values are int64 words whatever their type:
numbers, order-preserving keys of floats (see ``float_key``), codes of strings. Sums of floats are kept as IEEE bits.
"""

from __future__ import annotations

import llvmlite.ir
import numba as nb
from numba import types
from numba.extending import intrinsic

from sparkcep.engines.row_match.codes import (
    ABS,
    ADD,
    AND,
    APPLY,
    CALL_FAILED,
    CLASSIFIER,
    COLUMN,
    COUNT_TOTAL,
    CURRENT,
    EQ,
    EQ_NULL_SAFE,
    FALSE,
    FLOAT_ABS,
    FLOAT_ADD,
    FLOAT_DIV,
    FLOAT_MUL,
    FLOAT_SUB,
    FLOAT_SUM,
    FLOAT_TOTAL,
    GE,
    GT,
    INT_SUM,
    INT_TOTAL,
    IS_NULL,
    LE,
    LEAN,
    LEAST_TOTAL,
    LIST_TOTAL,
    LT,
    MUL,
    NE,
    NOT,
    NUMBER,
    OR,
    OVERFLOW,
    RESCALE,
    SKIP_IF,
    SLOT,
    SUB,
    TO_FLOAT,
    TOTAL,
    TRUE,
    ZERO_DIVISION,
)

I8, I16, I32, I64, BOOL = (types.Array(t, 1, "C") for t in (nb.int8, nb.int16, nb.int32, nb.int64, nb.boolean))
I32X2, I64X2, BOOLX2 = (types.Array(t, 2, "C") for t in (nb.int32, nb.int64, nb.boolean))

DATA = types.Tuple((I64X2, I32, BOOLX2, BOOLX2, BOOLX2, I64))
"""values [columns, rows]; nullable [columns]: row of ``nulls``, or -1; nulls [n, rows]; counted [filters, rows];
sets of variables [sets, variables]; labels [variables]: the word of each variable's name."""

CODE = types.Tuple((I32, I64X2))
"""start [variables + 1], operations [n, 6]."""

CHANGES = types.Tuple((I32, I64X2, I32, I64X2))
"""start [variables + 1] and slots [n, 3] (last, word, size) that a row of the variable fills; start and totals
[n, 6] (kind, word, column or -1, counted or -1; for a list its number and the address to call) that it enters."""

STACK = types.Tuple((I64, BOOL))

SIGN = 0x7FFFFFFFFFFFFFFF


@intrinsic
def float_of(typing, bits):  # type: ignore[no-untyped-def]
    """The float64 with these bits."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], llvmlite.ir.DoubleType())

    return nb.float64(nb.int64), generate


@intrinsic
def bits_of(typing, value):  # type: ignore[no-untyped-def]
    """The bits of a float64."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], llvmlite.ir.IntType(64))

    return nb.int64(nb.float64), generate


@intrinsic
def call_python(typing, address, a, b, c, d, e, f, g):  # type: ignore[no-untyped-def]
    """What the C function at ``address`` returns: a callback of ``calls``."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = llvmlite.ir.IntType(64)
        function = llvmlite.ir.FunctionType(word, [word] * 7)
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])

    return nb.int64(*[nb.int64] * 8), generate


@nb.njit(nb.float64(nb.int64), **LEAN)
def keyed_float(key):  # type: ignore[no-untyped-def]
    """The float of an order-preserving key."""
    return float_of(key if key >= 0 else key ^ SIGN)


@nb.njit(nb.int64(nb.float64), **LEAN)
def float_key(value):  # type: ignore[no-untyped-def]
    """An int64 that sorts like the float: one NaN, above all, and one zero (as ``Columns.order_keys``)."""
    if value != value:
        return 0x7FF8000000000000
    bits = bits_of(value + 0.0)
    return bits if bits >= 0 else bits ^ SIGN


@nb.njit(nb.boolean(nb.int64, nb.int64, nb.int64), **LEAN)
def product_overflows(left, right, product):  # type: ignore[no-untyped-def]
    """True if ``product`` wrapped around."""
    if left == 0 or right == 0:
        return False
    if (left == -1 and right == -SIGN - 1) or (right == -1 and left == -SIGN - 1):
        return True
    return product // right != left or product % right != 0


@nb.njit(inline="always")
def is_null(nullable, nulls, column, row):  # type: ignore[no-untyped-def]
    """True if the column is NULL in the row."""
    return nullable[column] >= 0 and nulls[nullable[column], row]


@nb.njit(inline="always")
def located(where, word, index, row, depth, registers):  # type: ignore[no-untyped-def]
    """The row that a navigation stands at before its physical offset, or -1."""
    if where == CURRENT:
        return row
    found = registers[depth, word + index]
    if where == SLOT or found >= 0 or (index > 0 and registers[depth, word + index - 1] < 0):
        return found
    return row


@nb.njit(
    nb.int64(*[nb.int64] * 8, I64X2, I16, I64X2, I64X2, I32, BOOLX2, BOOLX2, I64, I64, BOOL),
    **LEAN,
)
def holds(  # type: ignore[no-untyped-def]
    at, end, variable, row, depth, low, high, number, registers, path, operations,
    values, nullable, nulls, sets, labels, word, null,
):  # fmt: skip
    """The condition of ``variable`` (operations ``at`` … ``end`` - 1) for ``row``, the match's row ``depth``: TRUE, FALSE (or NULL), or a fault.

    Slots are read from ``registers[depth]``, totals from ``registers[depth + 1]``. ``path[i] >> 1``: the variable of the
    match's row i. ``low``, ``high``: the partition's rows.
    """
    top = -1
    while at < end:
        operation, a, b = operations[at, 0], operations[at, 1], operations[at, 2]
        at += 1
        if operation == COLUMN:
            r = located(a, b, operations[at - 1, 3], row, depth, registers)
            top += 1
            null[top] = True
            if r >= 0:
                r += operations[at - 1, 4]
                if low <= r < high:
                    column = operations[at - 1, 5]
                    word[top] = values[column, r]
                    null[top] = is_null(nullable, nulls, column, r)
        elif operation == CLASSIFIER:
            r = located(a, b, operations[at - 1, 3], row, depth, registers)
            top += 1
            null[top] = True
            if r >= 0:
                r += operations[at - 1, 4]
                if row - depth <= r <= row:
                    label = variable if r == row else nb.int64(path[r - row + depth]) >> 1
                    word[top] = labels[label]
                    null[top] = not sets[operations[at - 1, 5], label]
        elif operation == TOTAL:
            top += 1
            word[top] = registers[depth + 1, a]
            null[top] = b >= 0 and registers[depth + 1, b] == 0
        elif operation == INT_SUM:
            top += 1
            word[top] = registers[depth + 1, a]
            null[top] = registers[depth + 1, a + 2] == 0
            if registers[depth + 1, a + 1] != word[top] >> 63:
                return OVERFLOW
        elif operation == FLOAT_SUM:
            top += 1
            word[top] = float_key(float_of(registers[depth + 1, a]))
            null[top] = registers[depth + 1, a + 2] == 0
        elif operation == NUMBER:
            top += 1
            word[top] = number
            null[top] = False
        elif operation == SKIP_IF:
            if not null[top] and word[top] == a:
                at = b
        elif operation == IS_NULL:
            word[top] = null[top]
            null[top] = False
        elif operation == NOT:
            word[top] = 1 - word[top]
        elif operation == TO_FLOAT:
            word[top - a] = float_key(float(word[top - a]) / 10.0**b)
        elif operation == RESCALE:
            product = word[top - a] * b
            if not null[top - a] and product_overflows(word[top - a], b, product):
                return OVERFLOW
            word[top - a] = product
        elif operation == ABS:
            if not null[top] and word[top] < 0:
                if word[top] == nb.int64(-1) << (a - 1):
                    return OVERFLOW
                word[top] = -word[top]
        elif operation == FLOAT_ABS:
            word[top] = float_key(abs(keyed_float(word[top])))
        elif operation == APPLY:
            answer = call_python(b, a, variable, row, depth, low, high, number)
            if answer > 2:
                return CALL_FAILED
            top += 1
            word[top] = answer == 1
            null[top] = answer == 2
        else:
            top -= 1
            left, right = word[top], word[top + 1]
            either = null[top] or null[top + 1]
            if operation == EQ_NULL_SAFE:
                word[top] = null[top] == null[top + 1] and (null[top] or left == right)
                null[top] = False
            elif operation == AND:
                decided = (not null[top] and left == 0) or (not null[top + 1] and right == 0)
                null[top] = either and not decided
                word[top] = not decided
            elif operation == OR:
                decided = (not null[top] and left != 0) or (not null[top + 1] and right != 0)
                null[top] = either and not decided
                word[top] = decided
            elif operation <= GE:
                null[top] = either
                if operation == EQ:
                    word[top] = left == right
                elif operation == NE:
                    word[top] = left != right
                elif operation == LT:
                    word[top] = left < right
                elif operation == LE:
                    word[top] = left <= right
                elif operation == GT:
                    word[top] = left > right
                else:
                    word[top] = left >= right
            elif operation <= MUL:
                null[top] = either
                wrapped = False
                if operation == ADD:
                    result = left + right
                    wrapped = ((left ^ result) & (right ^ result)) < 0
                elif operation == SUB:
                    result = left - right
                    wrapped = ((left ^ right) & (left ^ result)) < 0
                else:
                    result = left * right
                    wrapped = not either and product_overflows(left, right, result)
                if not either and (wrapped or (a < 64 and result >> (a - 1) != result >> 63)):
                    return OVERFLOW
                word[top] = result
            else:
                null[top] = either
                x, y = keyed_float(left), keyed_float(right)
                if operation == FLOAT_DIV:
                    if not either and y == 0.0:
                        return ZERO_DIVISION
                    y = 1.0 if y == 0.0 else y
                    x = x / y
                elif operation == FLOAT_ADD:
                    x = x + y
                elif operation == FLOAT_SUB:
                    x = x - y
                elif operation == FLOAT_MUL:
                    x = x * y
                word[top] = float_key(float(nb.float32(x)) if a == 32 else x)
    return TRUE if not null[0] and word[0] != 0 else FALSE


@nb.njit(nb.void(nb.int64, nb.int64, nb.int64, I64X2, I32, I64X2, I64X2, BOOLX2), **LEAN)
def count_in(variable, row, depth, registers, start, totals, values, counted):  # type: ignore[no-untyped-def]
    """``registers[depth + 1]``: as ``registers[depth]``, with ``row`` in the totals of ``variable``."""
    for w in range(registers.shape[1]):
        registers[depth + 1, w] = registers[depth, w]
    after = depth + 1
    for i in range(start[variable], start[variable + 1]):
        kind, word, column, use = totals[i, 0], totals[i, 1], totals[i, 2], totals[i, 3]
        if use >= 0 and not counted[use, row]:
            continue
        if kind == COUNT_TOTAL:
            registers[after, word] += 1
            continue
        if kind == LIST_TOTAL:
            held = registers[after, word]
            registers[after, word] = call_python(totals[i, 5], totals[i, 4], held, row, variable, depth, 0, 0)
            continue
        value = values[column, row]
        if kind == INT_TOTAL:
            low = registers[after, word]
            total = low + value
            # the carry out of the low word, whose bits are unsigned here
            carry = ((low & value) | ((low | value) & ~total)) >> 63 & 1
            registers[after, word] = total
            registers[after, word + 1] += (value >> 63) + carry
        elif kind == FLOAT_TOTAL:
            registers[after, word] = bits_of(float_of(registers[after, word]) + keyed_float(value))
        else:
            held = registers[after, word]
            if registers[after, word + 2] == 0 or (value < held if kind == LEAST_TOTAL else value > held):
                registers[after, word] = value
        registers[after, word + 2] = 1


@nb.njit(nb.void(nb.int64, nb.int64, nb.int64, I64X2, I32, I64X2), **LEAN)
def fill_slots(variable, row, depth, registers, start, slots):  # type: ignore[no-untyped-def]
    """Puts ``row`` into the slots of ``variable`` in ``registers[depth + 1]``."""
    after = depth + 1
    for i in range(start[variable], start[variable + 1]):
        last, word, size = slots[i, 0], slots[i, 1], slots[i, 2]
        if last:
            for w in range(word + size - 1, word, -1):
                registers[after, w] = registers[after, w - 1]
            registers[after, word] = row
        else:
            for w in range(word, word + size):
                if registers[after, w] < 0:
                    registers[after, w] = row
                    break
