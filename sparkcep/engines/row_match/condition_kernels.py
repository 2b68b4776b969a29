"""Numba kernels: what a condition says of a row.

In: bytecode (``bytecode``), and where values come from (``structures``). Out: TRUE, FALSE (or NULL), or a fault. One
function for each family of operations (``codes``); each leaves its value on the stack, and says TRUE or what is wrong.
"""

from __future__ import annotations

import math

import numba as nb

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.row_match.codes import (
    ABS,
    ADD,
    APPLY,
    BEYOND,
    BRANCH,
    CALL_FAILED,
    CLASSIFIER,
    COLUMN,
    CONSTANT,
    CURRENT,
    EQ,
    EQ_NULL_SAFE,
    FALSE,
    FLOAT_ABS,
    FLOAT_ATAN2,
    GE,
    GT,
    INT_SUM,
    IS_NULL,
    JUMP,
    LE,
    LEAST,
    LN,
    LOG2,
    LT,
    MEAN,
    MOMENT,
    MUL,
    NE,
    NO_ROOM,
    NOT,
    NUMBER,
    OR,
    OVERFLOW,
    PMOD,
    RESCALE,
    ROOM,
    SKIP_IF,
    SLOT,
    SUB,
    TO_FLOAT,
    TOTAL,
    TRUE,
    TRY,
)
from sparkcep.engines.row_match.division_kernels import divide
from sparkcep.engines.row_match.float_kernels import compute_float, of_double
from sparkcep.engines.row_match.kernel_types import CODE, STACK, TAKEN, TESTED, WORDS
from sparkcep.engines.row_match.word_kernels import (
    call_python,
    difference_of,
    float_key,
    float_of,
    is_null,
    keyed_float,
    product_of,
    sum_of,
)
from sparkcep.spec.row import MEAN_DIGITS

MEAN_UNITS = 10**MEAN_DIGITS
MOST_EXACT = 1 << 53


@inner()
def located(where, word, index, row, depth, registers):  # type: ignore[no-untyped-def]
    """The row that a navigation stands at before its physical offset, or -1."""
    if where == CURRENT:
        return row
    found = registers[depth, word + index]
    if where == SLOT or found >= 0 or (index > 0 and registers[depth, word + index - 1] < 0):
        return found
    return row


@inner()
def navigate(operations, at, top, tested, taken, words, stack):  # type: ignore[no-untyped-def]
    """COLUMN and CLASSIFIER: what stands in a row of the match, or near it."""
    operation, where, word, index = operations[at, 0], operations[at, 1], operations[at, 2], operations[at, 3]
    row, depth = tested.row, tested.depth
    stack.null[top] = True
    r = located(where, word, index, row, depth, taken.registers)
    if r < 0:
        return
    r += operations[at, 4]
    if operation == COLUMN:
        if tested.low <= r < tested.high:
            column = operations[at, 5]
            stack.word[top] = words.values[column, r]
            stack.null[top] = is_null(words, column, r)
    elif row - depth <= r <= row:
        label = tested.variable if r == row else nb.int64(taken.path[r - row + depth]) >> 1
        stack.word[top] = words.labels[label]
        stack.null[top] = not words.sets[operations[at, 5], label]


@inner()
def total(operation, a, b, top, tested, registers, stack):  # type: ignore[no-untyped-def]
    """Aggregates of the rows so far, the one under test too; and the number of the match."""
    after = tested.depth + 1
    if operation == NUMBER:
        stack.word[top] = tested.number
        stack.null[top] = False
    elif operation == TOTAL:
        stack.word[top] = registers[after, a]
        stack.null[top] = b >= 0 and registers[after, b] == 0
    elif operation == INT_SUM:
        stack.word[top] = registers[after, a]
        stack.null[top] = registers[after, a + 2] == 0
        if registers[after, a + 1] != registers[after, a] >> 63 or registers[after, a + 2] == BEYOND:
            return OVERFLOW
    else:
        stack.word[top] = float_key(float_of(registers[after, a]))
        stack.null[top] = registers[after, a + 2] == 0
    return TRUE


@inner()
def moment(word, which, top, tested, registers, stack):  # type: ignore[no-untyped-def]
    """A variance or deviation of the rows so far; of a sample of one value there is none."""
    after = tested.depth + 1
    count = registers[after, word + 2] - (which % 2 == 0)
    stack.null[top] = count <= 0
    value = float_of(registers[after, word + 1]) / max(count, 1)
    stack.word[top] = float_key(math.sqrt(value) if which >= 2 else value)


@inner()
def mean(word, top, tested, registers, stack):  # type: ignore[no-untyped-def]
    """A mean of integers with MEAN_DIGITS more, rounded half up, as Spark's of decimals."""
    after = tested.depth + 1
    low, high, count = registers[after, word], registers[after, word + 1], max(registers[after, word + 2], 1)
    stack.null[top] = registers[after, word + 2] == 0
    if high != low >> 63 or low == nb.int64(-1) << 63:
        return OVERFLOW
    whole, rest = abs(low) // count, abs(low) % count
    value = whole * MEAN_UNITS + (2 * MEAN_UNITS * rest + count) // (2 * count)
    stack.word[top] = -value if low < 0 else value
    return TRUE


@inner()
def apply(a, b, top, tested, stack):  # type: ignore[no-untyped-def]
    """What Python says."""
    answer = call_python(b, a, tested.variable, tested.row, tested.depth, tested.low, tested.high, tested.number)
    if answer > 2:
        return CALL_FAILED
    stack.word[top] = answer == 1
    stack.null[top] = answer == 2
    return TRUE


@inner()
def convert(operation, a, b, exact, top, stack):  # type: ignore[no-untyped-def]
    """Operations on one value; it need not be the top one."""
    word, null = stack.word, stack.null
    if operation == IS_NULL:
        word[top] = null[top]
        null[top] = False
    elif operation == NOT:
        word[top] = 1 - word[top]
    elif operation == TO_FLOAT:
        if exact and not -MOST_EXACT < word[top - a] < MOST_EXACT and not null[top - a]:
            return OVERFLOW
        word[top - a] = float_key(float(word[top - a]) / 10.0**b)
    elif operation == RESCALE:
        product, wrapped = product_of(word[top - a], b)
        if wrapped and not null[top - a]:
            return OVERFLOW
        word[top - a] = product
    elif operation == ABS:
        if not null[top] and word[top] < 0:
            if word[top] == nb.int64(-1) << (a - 1):
                return OVERFLOW
            word[top] = -word[top]
    elif operation == ROOM:
        if word[top] == NO_ROOM and not null[top]:
            return OVERFLOW
    elif operation == FLOAT_ABS:
        word[top] = float_key(abs(keyed_float(word[top])))
    else:
        value = keyed_float(word[top])
        null[top] = null[top] or (value <= 0 and LN <= a <= LOG2)
        word[top] = float_key(of_double(a, value))
    return TRUE


@inner()
def compare(operation, top, stack):  # type: ignore[no-untyped-def]
    """Comparisons that are NULL where a side is."""
    word, null = stack.word, stack.null
    left, right = word[top], word[top + 1]
    null[top] |= null[top + 1]
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


@inner()
def decide(operation, top, stack):  # type: ignore[no-untyped-def]
    """AND, OR and null-safe equality: what they say of NULL depends on the other side."""
    word, null = stack.word, stack.null
    left, right = word[top], word[top + 1]
    if operation == EQ_NULL_SAFE:
        word[top] = null[top] == null[top + 1] and (null[top] or left == right)
        null[top] = False
        return
    decisive = operation == OR
    decided = (not null[top] and (left != 0) == decisive) or (not null[top + 1] and (right != 0) == decisive)
    null[top] = (null[top] or null[top + 1]) and not decided
    word[top] = decided == decisive


@inner()
def compute(operation, bits, top, stack):  # type: ignore[no-untyped-def]
    """Arithmetic of integers of so many bits."""
    word, null = stack.word, stack.null
    left, right = word[top], word[top + 1]
    null[top] |= null[top + 1]
    if operation == ADD:
        result, wrapped = sum_of(left, right)
    elif operation == SUB:
        result, wrapped = difference_of(left, right)
    else:
        result, wrapped = product_of(left, right)
    if not null[top] and (wrapped or (bits < 64 and result >> (bits - 1) != result >> 63)):
        return OVERFLOW
    word[top] = result
    return TRUE


@inner()
def extreme(operation, top, stack):  # type: ignore[no-untyped-def]
    """The lesser or the greater of two values, of which one may be NULL."""
    word, null = stack.word, stack.null
    if null[top + 1]:
        return
    if null[top] or (word[top + 1] < word[top]) == (operation == LEAST):
        word[top] = word[top + 1]
        null[top] = False


@inner(nb.int64(nb.int64, CODE, TESTED, TAKEN, WORDS, STACK))
def holds(condition, code, tested, taken, words, stack):  # type: ignore[no-untyped-def]
    """The condition of that number for the row under test: TRUE, FALSE (or NULL), or a fault."""
    operations = code.operations
    word, null = stack.word, stack.null
    at, end, top = nb.int64(code.start[condition]), nb.int64(code.start[condition + 1]), -1
    python, below = -1, -1
    while at < end:
        operation, a, b = operations[at, 0], operations[at, 1], operations[at, 2]
        result = TRUE
        if operation <= CLASSIFIER:
            top += 1
            navigate(operations, at, top, tested, taken, words, stack)
        elif operation <= NUMBER:
            top += 1
            result = total(operation, a, b, top, tested, taken.registers, stack)
        elif operation == APPLY:
            top += 1
            result = apply(a, b, top, tested, stack)
        elif operation == CONSTANT:
            top += 1
            word[top] = a
            null[top] = b != 0
        elif operation == MOMENT:
            top += 1
            moment(a, b, top, tested, taken.registers, stack)
        elif operation == MEAN:
            top += 1
            result = mean(a, top, tested, taken.registers, stack)
        elif operation <= ROOM:
            result = convert(operation, a, b, operations[at, 3] != 0, top, stack)
        elif operation == SKIP_IF:
            if not null[top] and word[top] == a:
                at = b - 1
        elif operation == TRY:
            python, below = a, top
        elif operation == JUMP:
            at = a - 1
        elif operation > JUMP:
            if operation == BRANCH:
                there = null[top] or word[top] == 0
            else:
                there = not null[top]
            top -= operation == BRANCH or not there
            at = a - 1 if there else at
        else:
            top -= 1
            if operation <= GE:
                compare(operation, top, stack)
            elif operation <= OR:
                decide(operation, top, stack)
            elif operation <= MUL:
                result = compute(operation, a, top, stack)
            elif operation <= FLOAT_ATAN2:
                result = compute_float(operation, a, top, stack)
            elif operation <= PMOD:
                result = divide(operation, a, top, stack)
            else:
                extreme(operation, top, stack)
        if result != TRUE:
            if at >= python:
                return result
            top, at = below, python - 1
        at += 1
    return TRUE if not null[0] and word[0] != 0 else FALSE
