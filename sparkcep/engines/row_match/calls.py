"""What the search asks Python for: conditions that the stack machine has no operations for, and lists of values (ARRAY_AGG).

The kernels call back through a C function pointer (about 2 µs, and what the condition takes): the *slow path*. A condition is a closure
over a *frame*, the row under test and the rows mapped before it. A list is a number that stands for its values, the same for the same
values, so that a search recognises what has failed before: the number of the list without its last value, and that value, name it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.functions import compile_function
from sparkcep.engines.row_match import codes, frames
from sparkcep.engines.row_match.registers import Layout
from sparkcep.engines.row_match.structures import Code, Taken
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.errors import CepError, CepInternalError, CepLimitError
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.row import Aggregate

MOST_VALUES = 1 << 22
"""Values in the lists of one start row: about 1 GB."""

KEPT_VALUES = 1 << 18
"""Values in lists that later start rows may meet again; beyond, they are forgotten."""

_Pointer = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
_ANSWERS = {False: 0, True: 1, None: 2}
_FAULT = 3


@dataclass(slots=True)
class Lists:
    """All lists met lately. List 0 is empty; numbers are never used twice."""

    first: int = 1
    parents: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    numbers: dict[tuple[int, int, Any], int] = field(default_factory=dict)

    def extended(self, total: int, parent: int, value: Any) -> int:
        """The number of the list ``parent`` of the aggregate ``total`` with ``value`` behind it."""
        exact = type(value) in (int, str, bool, bytes)
        key = total, parent, value if exact else repr(value)
        number = self.numbers.get(key)
        if number is None:
            if len(self.values) >= MOST_VALUES:
                raise CepLimitError(
                    f"the conditions hold lists of more than {MOST_VALUES} values for one start row",
                    code="LIST_VALUES",
                    hint="bound the quantifiers before the condition that aggregates, or aggregate a number with SUM, MIN or MAX",
                )
            number = self.numbers[key] = self.first + len(self.values)
            self.parents.append(parent)
            self.values.append(value)
        return number

    def content(self, number: int) -> list[Any]:
        """The values of a list, in order."""
        found = []
        while number:
            found.append(self.values[number - self.first])
            number = self.parents[number - self.first]
        return found[::-1]

    def forget(self) -> None:
        """Empties the memory, where no list of the search at hand is in it."""
        self.first += len(self.values)
        for held in (self.parents, self.values, self.numbers):
            held.clear()


class Calls:
    """The callbacks of one slice. ``error`` is what a call has raised; the search ends soon after."""

    def __init__(
        self,
        atoms: tuple[tuple[str, SparkFunction], ...],
        lists: tuple[Aggregate, ...],
        layout: Layout,
        columns: Columns,
    ) -> None:
        self.error: Exception | None = None
        self.lists = Lists()
        self.frame = frames.Frame(self.lists)
        self._begin = -1
        readers = frames.Readers(columns)
        self._atoms = [
            compile_function(tree, partial(frames.leaf, variable=variable, layout=layout, readers=readers))
            for variable, tree in atoms
        ]
        names = layout.variables
        self._elements: list[Callable[[int, int], Any]] = [
            (lambda row, variable: names[variable]) if source.column is None else _of_row(readers.reader(source.column))
            for source in lists
        ]
        self._pointers = (_Pointer(self._evaluate), _Pointer(self._extend))
        self.addresses = tuple(ctypes.cast(pointer, ctypes.c_void_p).value or 0 for pointer in self._pointers)

    def look_at(self, taken: Taken) -> None:
        """The search's path and registers are there from now on."""
        self.frame.path, self.frame.registers = taken

    def code(self, code: Code) -> Code:
        """Bytecode that knows where to call."""
        operations = code.operations.copy()
        operations[operations[:, 0] == codes.APPLY, 2] = self.addresses[0]
        return code._replace(operations=operations)

    def totals(self, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Totals that know where to call."""
        totals[totals[:, 0] == codes.LIST_TOTAL, 5] = self.addresses[1]
        return totals

    def _evaluate(self, atom: int, variable: int, row: int, depth: int, low: int, high: int, number: int) -> int:
        if self.error is not None:
            return _FAULT
        try:
            frame = self.frame
            frame.variable, frame.row, frame.depth = variable, row, depth
            frame.low, frame.high, frame.number = low, high, number
            return _ANSWERS[self._atoms[atom](frame)]
        except CepError as error:
            self.error = error
        except Exception as error:  # a C function cannot raise
            self.error = CepInternalError(f"the slow path failed: {type(error).__name__}: {error}")
        return _FAULT

    def _extend(self, total: int, parent: int, row: int, variable: int, depth: int, _low: int, _high: int) -> int:
        try:
            if row - depth != self._begin:  # the first list of this start row: none of an earlier one is in use
                self._begin = row - depth
                if len(self.lists.values) > KEPT_VALUES:
                    self.lists.forget()
            return self.lists.extended(total, parent, self._elements[total](row, variable))
        except Exception as error:
            self.error = self.error or error
        return 0


def _of_row(reader: Callable[[int], Any]) -> Callable[[int, int], Any]:
    return lambda row, variable: reader(row)
