"""Conditions that compare words, and nothing else, as arrays: the kernel need not interpret operations for them.

In: an arc's condition. Out: its conjuncts as rows of ``Graph.tests``, if each compares two of a register, a column of the event and a constant that
are kept as words of one kind. NULL does not hold, and such comparisons cannot fail: so conjuncts may be asked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkcep.engines.automaton import codes
from sparkcep.engines.automaton.constants import kind_of_constant, word_of
from sparkcep.engines.automaton.registers import Held, Inputs
from sparkcep.engines.row_match.values import Kind, Pool, is_wide
from sparkcep.spec.automaton import EventValue, RegisterValue, Value
from sparkcep.spec.expression import Call, Constant

_WHEN = {
    "lt": codes.LESS,
    "eq": codes.EQUAL,
    "gt": codes.MORE,
    "le": codes.LESS | codes.EQUAL,
    "ge": codes.MORE | codes.EQUAL,
    "ne": codes.LESS | codes.MORE,
}
_KINDS = ("integer", "float", "decimal", "boolean", "date", "timestamp", "duration")

Test = tuple[int, ...]


def tests_of(condition: Value, held: Mapping[str, Held], inputs: Inputs, pool: Pool) -> tuple[Test, ...] | None:
    """The tests of a condition; None where it is not made of them. The columns that they read are added to ``pool``."""
    parts = list(_conjuncts(condition))
    if not all(_is_short(part, held, inputs) for part in parts):
        return None
    return tuple(_test(part, held, pool) for part in parts if isinstance(part, Call))


def _conjuncts(condition: Value) -> Iterator[Value]:
    if isinstance(condition, Call) and condition.operator == "and":
        for argument in condition.arguments:
            yield from _conjuncts(argument)
    else:
        yield condition


def _is_short(part: Value, held: Mapping[str, Held], inputs: Inputs) -> bool:
    if not isinstance(part, Call) or part.operator not in _WHEN:
        return False
    left, right = (_kind(side, held, inputs) for side in part.arguments)
    return left is not None and right is not None and (left.name, left.scale) == (right.name, right.scale)


def _kind(side: Value, held: Mapping[str, Held], inputs: Inputs) -> Kind | None:
    """What sort of word a side is; None: none."""
    found = None
    match side:
        case RegisterValue(register=name) if not held[name].handle:
            found = held[name].kind
        case EventValue(column=name) if not is_wide(inputs.types[name]):
            found = inputs.kind(name)
        case Constant():
            found = kind_of_constant(side)
    return found if found is not None and found.name in _KINDS else None


def _test(part: Call, held: Mapping[str, Held], pool: Pool) -> Test:
    left, right = (_operand(side, held, pool) for side in part.arguments)
    return _WHEN[part.operator], *left, *right


def _operand(side: Value, held: Mapping[str, Held], pool: Pool) -> tuple[int, int, int]:
    match side:
        case RegisterValue(register=name):
            return codes.OF_REGISTER, held[name].word, held[name].flag
        case EventValue(column=name):
            return codes.OF_COLUMN, pool.column(name), -1
    assert isinstance(side, Constant)
    return codes.OF_CONSTANT, word_of(side), -1
