"""What the kernels ask Python for: functions that there are no operations for, and values that have no words (handles).

In: values of arcs, the registers as they are kept. Out: addresses of C functions (about 2 µs a call, and what the function takes). A frame is the
run and the event that an arc is asked of.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.automaton.registers import Held
from sparkcep.engines.automaton.structures import Outside
from sparkcep.engines.functions import compile_function
from sparkcep.engines.functions.base import EXACT, Closure
from sparkcep.engines.row_match.constants import float_word
from sparkcep.engines.row_match.frames import Readers, as_float
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.errors import CepError, CepInternalError
from sparkcep.spec.automaton import EventValue, RegisterValue, Value
from sparkcep.spec.expression import Call, Constant, SparkFunction

_Pointer = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
_ANSWERS = {False: 0, True: 1, None: 2}
_VALUE, _NULL, _FAULT = 1, 2, 3
_SIGN = 0x7FFFFFFFFFFFFFFF
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "add": EXACT.add,
    "sub": EXACT.subtract,
    "mul": EXACT.multiply,
}
"""Of values that the kernels have no words for: strings, and decimals of many digits."""


class Frame:
    """An arc's run and event."""

    __slots__ = ("lambdas", "registers", "row", "run")

    def __init__(self) -> None:
        self.lambdas: dict[str, Any] = {}
        self.row = self.run = 0
        self.registers: NDArray[np.int64] = np.empty((0, 0), np.int64)


class Handles:
    """Python's values by number; equal values have the same one."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """The number of a value."""
        key = value if type(value) in (str, bytes, int, bool, Decimal) else repr(value)
        found = self._numbers.setdefault(key, len(self.values))
        if found == len(self.values):
            self.values.append(value)
        return found


class Calls:
    """The callbacks of one table. ``error`` is what a call has raised; the kernel ends soon after. ``strings``: by kind, the values by rank."""

    def __init__(
        self,
        slow: tuple[tuple[Value, Held | None], ...],
        held: Mapping[str, Held],
        handles: Handles,
        strings: Mapping[str, pa.Array],
        columns: Columns,
    ) -> None:
        self.error: Exception | None = None
        self.frame = Frame()
        self._held, self._handles, self._strings = held, handles, strings
        self._readers = Readers(columns)
        self._closures = [self._compiled(value) for value, _ in slow]
        self._encoders = [None if target is None else self._encoder(target) for _, target in slow]
        self._pointers = (_Pointer(self._tested), _Pointer(self._computed)) if slow else ()
        test, compute = [ctypes.cast(pointer, ctypes.c_void_p).value or 0 for pointer in self._pointers] or (0, 0)
        self.address = test
        self.outside = Outside(np.array([compute], np.int64), np.zeros(1, np.int64))

    def _compiled(self, value: Value) -> Closure:
        if isinstance(value, Call):
            return self._operation(value)
        return compile_function(value, self._leaf)

    def _operation(self, call: Call) -> Closure:
        left, right = (self._compiled(argument) for argument in call.arguments)
        if call.operator == "eq_null_safe":
            return lambda frame: left(frame) == right(frame)
        if call.operator not in _OPERATORS:
            raise CepInternalError(f"{call.operator} of a value that has no word")
        apply = _OPERATORS[call.operator]

        def both(frame: Any) -> Any:
            one = left(frame)
            other = None if one is None else right(frame)
            return None if other is None else apply(one, other)

        return both

    def _leaf(self, source: Any) -> Closure:
        if isinstance(source, EventValue):
            reader = self._readers.reader(source.column)
            return lambda frame: reader(frame.row)
        if isinstance(source, RegisterValue):
            return self._register(self._held[source.register])
        if isinstance(source, Call):
            return self._operation(source)
        raise CepInternalError(f"unknown source {type(source).__name__} in an automaton")

    def _register(self, held: Held) -> Closure:
        decode, word, flag = self._decoder(held), held.word, held.flag

        def value(frame: Frame) -> Any:
            found = frame.registers[frame.run]
            return None if flag >= 0 and not found[flag] else decode(int(found[word]))

        return value

    def _decoder(self, held: Held) -> Callable[[int], Any]:
        if held.handle:
            return self._handles.values.__getitem__
        match held.kind.name:
            case "float":
                return lambda word: as_float(word if word >= 0 else word ^ _SIGN)
            case "decimal":
                return lambda word: Decimal(word).scaleb(-held.kind.scale, EXACT)
            case "boolean":
                return bool
            case "string" | "binary":
                known = self._strings[held.kind.name]
                return lambda rank: known[rank].as_py()
        return int

    def _encoder(self, held: Held) -> Callable[[Any], int]:
        if held.handle:
            return self._handles.number
        if held.kind.name == "float":
            return float_word
        if held.kind.name == "decimal":
            return lambda value: int(value.scaleb(held.kind.scale, EXACT))
        return int

    def _tested(self, number: int, _arc: int, row: int, depth: int, *_rest: int) -> int:
        """What a condition says: 1 true, 0 false, 2 NULL."""
        return self._called(number, row, depth, lambda value: _ANSWERS[value])

    def _computed(self, number: int, _arc: int, row: int, depth: int, *_rest: int) -> int:
        """A register's new value, left in ``outside.answer``."""
        encode = self._encoders[number]

        def leave(value: Any) -> int:
            if value is None:
                return _NULL
            assert encode is not None
            self.outside.answer[0] = encode(value)
            return _VALUE

        return self._called(number, row, depth, leave)

    def _called(self, number: int, row: int, depth: int, answer: Callable[[Any], int]) -> int:
        if self.error is not None:
            return _FAULT
        try:
            self.frame.row, self.frame.run = row, depth + 1
            return answer(self._closures[number](self.frame))
        except CepError as error:
            self.error = error
        except Exception as error:  # a C function cannot raise
            self.error = CepInternalError(f"the slow path failed: {type(error).__name__}: {error}")
        return _FAULT


def functions(value: Value) -> tuple[str, ...]:
    """The functions of a value that Python evaluates, as Spark calls them."""
    if isinstance(value, Constant | EventValue | RegisterValue):
        return ()
    own = (value.text,) if isinstance(value, SparkFunction) and value.text else ()
    return (*own, *(name for argument in value.arguments for name in functions(argument)))
