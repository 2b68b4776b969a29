"""Conditions that compare words, and nothing else, as arrays: the kernel need not interpret operations for them.

In: an arc's condition. Out: its conjuncts as rows of ``Graph.tests``, where they compare two of a register, a column of the event and a constant that
are kept as words of one kind. NULL does not hold, and such comparisons cannot fail: so they may be asked one by one, before all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkcep.engines.automaton import codes
from sparkcep.engines.automaton.registers import Held, Inputs
from sparkcep.engines.row_match.constants import kind_of_constant, word_of
from sparkcep.engines.row_match.values import Kind, Pool, is_wide
from sparkcep.spec.automaton import EventValue, RegisterValue, Value, leaves
from sparkcep.spec.expression import Call, Constant

_WHEN = {
    "lt": codes.LESS,
    "eq": codes.EQUAL,
    "gt": codes.MORE,
    "le": codes.LESS | codes.EQUAL,
    "ge": codes.MORE | codes.EQUAL,
    "ne": codes.LESS | codes.MORE,
}
_KINDS = ("integer", "float", "decimal", "boolean", "date", "timestamp", "duration", "string")

Test = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fence:
    """A condition in parts: tests that read no register (``early``), those that do, and what is no test."""

    early: tuple[Test, ...]
    tests: tuple[Test, ...]
    rest: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What the tests of one automaton read. The columns that they read are added to ``pool``, constant strings to ``strings`` (with numbers)."""

    held: Mapping[str, Held]
    inputs: Inputs
    pool: Pool
    strings: dict[str, int]

    def fence(self, condition: Value | None) -> Fence:
        """A condition in its parts. Without those that compare registers, it is not taken apart: the rest then has all that is not early."""
        parts = [] if condition is None else list(_conjuncts(condition))
        early = [part for part in parts if self._is_short(part) and not _reads_register(part)]
        others = [part for part in parts if part not in early]
        short = all(self._is_short(part) for part in others)
        return Fence(
            tuple(self._test(part) for part in early),
            tuple(self._test(part) for part in others) if short else (),
            () if short else tuple(others),
        )

    def _is_short(self, part: Value) -> bool:
        if not isinstance(part, Call) or part.operator not in _WHEN:
            return False
        left, right = (self._kind(side) for side in part.arguments)
        return left is not None and right is not None and (left.name, left.scale) == (right.name, right.scale)

    def _kind(self, side: Value) -> Kind | None:
        """What sort of word a side is; None: none."""
        found = None
        match side:
            case RegisterValue(register=name) if not self.held[name].handle:
                found = self.held[name].kind
            case EventValue(column=name) if not is_wide(self.inputs.types[name]):
                found = self.inputs.kind(name)
            case Constant():
                found = kind_of_constant(side)
        return found if found is not None and found.name in _KINDS else None

    def _test(self, part: Value) -> Test:
        assert isinstance(part, Call)
        left, right = (self._operand(side) for side in part.arguments)
        return _WHEN[part.operator], *left, *right

    def _operand(self, side: Value) -> tuple[int, int, int]:
        match side:
            case RegisterValue(register=name):
                return codes.OF_REGISTER, self.held[name].word, self.held[name].flag
            case EventValue(column=name):
                return codes.OF_COLUMN, self.pool.column(name), -1
        assert isinstance(side, Constant)
        if side.type == "string":
            return codes.OF_LABEL, self.strings.setdefault(side.value, len(self.strings)), -1
        return codes.OF_CONSTANT, word_of(side), -1


def _conjuncts(condition: Value) -> Iterator[Value]:
    if isinstance(condition, Call) and condition.operator == "and":
        for argument in condition.arguments:
            yield from _conjuncts(argument)
    else:
        yield condition


def _reads_register(part: Value) -> bool:
    return any(isinstance(leaf, RegisterValue) for leaf in leaves(part))
