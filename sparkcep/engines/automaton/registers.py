"""How registers are kept: words of 64 bits in each run, beside a word that is 1 where a register that may be NULL has a value.

In: an AutomatonSpec, and which input columns have which kinds and NULLs. Out: ``Held`` by register. Numbers, dates, timestamps and booleans are
themselves (floats as keys that sort, decimals unscaled), strings ranks among the strings of the input. What has no such word is a *handle*: the
number of a value that Python keeps (computed strings, decimals of more than 18 digits, arrays).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from sparkcep.engines.arrow_types import arrow_type
from sparkcep.engines.row_match.values import RANKED, Kind, kind_of
from sparkcep.engines.row_pattern.columns import MAX_NARROW_DECIMAL
from sparkcep.errors import CepInternalError
from sparkcep.spec.automaton import Arc, AutomatonSpec, EventValue, Register, RegisterValue, Value
from sparkcep.spec.expression import Call, Constant, SparkFunction


@dataclass(frozen=True, slots=True)
class Held:
    """A register: its values' type, and where they are. ``flag`` -1: it is never NULL."""

    register: Register
    data_type: pa.DataType
    kind: Kind
    handle: bool
    word: int
    flag: int


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input's columns: kinds of all, and which have NULLs. ``missing``: registers that are NULL in runs which begin before the input."""

    types: Mapping[str, pa.DataType]
    nullable: frozenset[str]
    missing: frozenset[str] = frozenset()

    def kind(self, name: str) -> Kind:
        """The kind of a column's values."""
        return kind_of(self.types[name])


def hold(spec: AutomatonSpec, inputs: Inputs) -> dict[str, Held]:
    """The registers in their order."""
    handles, nullable = _handles(spec, inputs), _nullable(spec, inputs)
    found, flag = {}, len(spec.registers)
    for word, register in enumerate(spec.registers):
        data_type = type_of(register, inputs)
        may_be_null = register.name in nullable
        kind = replace(kind_of(data_type))
        found[register.name] = Held(
            register, data_type, kind, register.name in handles, word, flag if may_be_null else -1
        )
        flag += may_be_null
    return found


def words(held: Mapping[str, Held]) -> int:
    """How many words a run needs."""
    return len(held) + sum(1 for one in held.values() if one.flag >= 0)


def type_of(register: Register, inputs: Inputs) -> pa.DataType:
    """The Arrow type of a register's values."""
    known = arrow_type(register.type)
    if known is not None:
        return known
    if register.column is None:
        raise CepInternalError(f"the register {register.name} has the unknown type {register.type}")
    return inputs.types[register.column]


def reads_handle(value: Value, handles: Mapping[str, object] | set[str]) -> bool:
    """Whether a value is computed from a register that is a handle."""
    if isinstance(value, Call | SparkFunction):
        return any(reads_handle(argument, handles) for argument in value.arguments)
    return isinstance(value, RegisterValue) and value.register in handles


def _assignments(spec: AutomatonSpec, register: str) -> list[tuple[Arc, Value]]:
    return [(arc, one.value) for arc in spec.arcs for one in arc.sets if one.register == register]


def _handles(spec: AutomatonSpec, inputs: Inputs) -> set[str]:
    """Registers whose values have no words: found by going on until no further one takes a handle's value."""
    found: set[str] = set()
    before = -1
    while before < len(found):
        before = len(found)
        for register in spec.registers:
            kind = kind_of(data_type := type_of(register, inputs))
            wide = kind.name == "decimal" and data_type.precision > MAX_NARROW_DECIMAL
            made = kind.name in RANKED and not all(
                _is_ranked(value, kind, inputs, found) for _, value in _assignments(spec, register.name)
            )
            if wide or made or kind.name in ("opaque", "time", "null"):
                found.add(register.name)
    return found


def _is_ranked(value: Value, kind: Kind, inputs: Inputs, handles: set[str]) -> bool:
    """Whether a string's rank is known."""
    if isinstance(value, EventValue):
        return inputs.kind(value.column).name == kind.name
    if isinstance(value, RegisterValue):
        return value.register not in handles
    return isinstance(value, Constant) and (value.value is None or kind.name == "string")


def _nullable(spec: AutomatonSpec, inputs: Inputs) -> set[str]:
    """Registers that may be NULL: without a default, or assigned what may be NULL."""
    found = {register.name for register in spec.registers if _default_may_be_null(register, inputs)}
    found |= inputs.missing
    before = -1
    while before < len(found):
        before = len(found)
        for register in spec.registers:
            if any(_may_be_null(value, inputs, found) for _, value in _assignments(spec, register.name)):
                found.add(register.name)
    return found


def _default_may_be_null(register: Register, inputs: Inputs) -> bool:
    if register.column is not None:
        return register.column in inputs.nullable
    return register.default is None or register.default.value is None


def _may_be_null(value: Value, inputs: Inputs, registers: set[str]) -> bool:
    match value:
        case EventValue(column=name):
            return name in inputs.nullable
        case RegisterValue(register=name):
            return name in registers
        case Constant(value=constant):
            return constant is None
        case Call(operator="is_null" | "eq_null_safe"):
            return False
        case Call(arguments=arguments):
            return any(_may_be_null(argument, inputs, registers) for argument in arguments)
    return True
