"""What the kernels ask Python for: conditions that the stack machine has no operations for, and lists of events (the *slow path*).

A kernel calls back through a C function pointer (about 2 µs, and what the condition takes). Of the events taken so far the value vector
holds row numbers; a closure whose elements are asked later is a list: a number that stands for its rows, the same for the same rows, so
that equal runs are merged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.values.values import MAX_PRECISION
from sparkcep.engines.functions import compile_function
from sparkcep.engines.functions.base import Closure, exact_sum, failure, key_of
from sparkcep.engines.nfa_b.spelling import type_name
from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.frames import Readers, as_float, total
from sparkcep.engines.row_match.values import Kind
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.errors import CepError, CepInternalError
from sparkcep.spec.expression import AggregateOf, ColumnOf, ElementOf, Function, SparkFunction, Term

ROW = "<row>"
"""The column of row numbers."""

_Pointer = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
_ANSWERS = {False: 0, True: 1, None: 2}
_FAULT = 3


@dataclass(frozen=True, slots=True)
class Held:
    """Where a term's value is: the event under test, a row number, a count or a total (with its count, for AVG) at ``word`` of the value
    vector, an element of the list, or what all elements of the list at ``word`` make together."""

    what: Literal["current", "row", "count", "total", "listed", "folded"]
    word: int = -1
    kind: Kind = Kind("null")
    count: int = -1


@dataclass(frozen=True, slots=True)
class Atom:
    """A condition. ``listed``: the word of the list for whose every element it must hold (``back``: but the first)."""

    tree: SparkFunction
    held: Mapping[Term, Held]
    listed: int = -1
    back: bool = False


@dataclass(slots=True)
class Frame:
    """What is asked about: an event, a run's value vector, and of a list an element ``at`` with those before it."""

    row: int = 0
    vector: Any = None
    elements: list[int] = field(default_factory=list)
    at: int = 0
    lambdas: dict[str, Any] = field(default_factory=dict)


class Calls:
    """The callbacks of one search. ``error`` is what a call has raised; ``vectors``: the value vectors of all runs."""

    def __init__(self, atoms: tuple[Atom, ...], table: pa.Table) -> None:
        self.error: Exception | None = None
        self.vectors: NDArray[Any] | None = None
        readers = Readers(Columns(table))
        self._atoms = [(atom, compile_function(atom.tree, _leaves(atom, readers, self._content))) for atom in atoms]
        self._lists: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._pointers = (_Pointer(self._evaluate), _Pointer(self._extend))
        addresses = [ctypes.cast(pointer, ctypes.c_void_p).value or 0 for pointer in self._pointers]
        self._apply, self._append = addresses

    def operations(self, operations: NDArray[Any]) -> NDArray[Any]:
        """Operations that know where to call."""
        operations = operations.copy()
        operations[operations[:, 0] == codes.APPLY, 2] = self._apply
        return operations

    def updates(self, updates: NDArray[Any], listed: int) -> NDArray[Any]:
        """Updates that know where to call; ``listed``: the kind that does."""
        updates = updates.copy()
        updates[updates[:, 0] == listed, 4] = self._append
        return updates

    def _evaluate(self, number: int, _variable: int, row: int, before: int, _low: int, _high: int, _n: int) -> int:
        if self.error is not None:
            return _FAULT
        try:
            assert self.vectors is not None
            return _ANSWERS[self._answer(number, Frame(row, self.vectors[before + 1]))]
        except CepError as error:
            self.error = error
        except Exception as error:  # a C function cannot raise
            self.error = CepInternalError(f"the slow path failed: {type(error).__name__}: {error}")
        return _FAULT

    def _answer(self, number: int, frame: Frame) -> bool | None:
        atom, closure = self._atoms[number]
        if atom.listed < 0:
            return closure(frame)  # type: ignore[no-any-return]
        frame.elements = self._content(int(frame.vector[atom.listed]))
        for at in range(int(atom.back), len(frame.elements)):
            frame.at = at
            if closure(frame) is not True:
                return False
        return True

    def _extend(self, held: int, row: int, *_: int) -> int:
        """The number of the list ``held`` with ``row`` behind it; list 0 is empty."""
        number = self._numbers.get((held, row))
        if number is None:
            self._lists.append((held, row))
            number = self._numbers[held, row] = len(self._lists)
        return number

    def _content(self, number: int) -> list[int]:
        rows = []
        while number:
            number, row = self._lists[number - 1]
            rows.append(row)
        return rows[::-1]


Content = Callable[[int], list[int]]
"""The rows of a list."""


def _leaves(atom: Atom, readers: Readers, content: Content) -> Callable[[Term], Closure]:
    return lambda term: _leaf(term, atom.held[term], readers, content)


def _leaf(term: Term, held: Held, readers: Readers, content: Content) -> Closure:
    word = held.word
    if held.what == "folded":
        assert isinstance(term, AggregateOf) and term.column is not None
        fold = _folding(term, readers)
        return lambda frame: fold(content(int(frame.vector[word])))
    if held.what == "count":
        return lambda frame: int(frame.vector[word])
    if held.what == "listed":
        return _listed(term, readers)
    if held.what == "total":
        return _total(term, held)
    assert isinstance(term, ColumnOf | ElementOf)
    reader = readers.reader(term.column)
    if held.what == "current":
        return lambda frame: reader(frame.row)
    return lambda frame: reader(int(frame.vector[word]))


def _listed(term: Term, readers: Readers) -> Closure:
    """``a[i]``, ``a[i-1]``, and aggregates of what stands before."""
    if isinstance(term, AggregateOf):
        return _prefix(term, readers)
    reader, back = readers.reader(term.column), int(isinstance(term, ElementOf) and term.place == "previous")
    return lambda frame: reader(frame.elements[frame.at - back])


def _prefix(term: AggregateOf, readers: Readers) -> Closure:
    """``COUNT(a[..i-1].*)``, ``SUM(a[..i-1].x)``."""
    if term.column is None:
        return lambda frame: frame.at
    fold = _folding(term, readers)
    return lambda frame: fold(frame.elements[: frame.at])


def _folding(term: AggregateOf, readers: Readers) -> Callable[[list[int]], Any]:
    """The aggregate of the values in some rows, NULLs left out."""
    assert term.column is not None
    reader, fold = readers.reader(term.column), _fold(term.function, readers.kind(term.column))

    def value(rows: list[int]) -> Any:
        found = [value for row in rows if (value := reader(row)) is not None]
        return fold(found) if found or term.function == "count" else None

    return value


def _fold(function: Function, kind: Kind) -> Callable[[list[Any]], Any]:
    if function == "count":
        return len
    if function == "avg":
        return lambda values: sum(map(float, values)) / len(values)
    if function == "sum":
        return _long_sum if kind.name == "integer" else _decimal_sum if kind.name == "decimal" else sum
    key = key_of(type_name(kind))
    return lambda values: (min if function == "min" else max)(values, key=key)


def _long_sum(values: list[int]) -> int:
    total = sum(values)
    if not -(1 << 63) <= total < 1 << 63:
        raise failure("SUM overflows BIGINT", "OVERFLOW")
    return total


def _decimal_sum(values: list[Decimal]) -> Decimal:
    total = exact_sum(values)
    if len(total.as_tuple().digits) > MAX_PRECISION:
        raise failure(f"SUM has more than {MAX_PRECISION} digits", "OVERFLOW")
    return total


def _total(term: Term, held: Held) -> Closure:
    assert isinstance(term, AggregateOf)
    word, count = held.word, held.count
    if term.function == "avg":
        return lambda frame: (
            as_float(int(frame.vector[word])) / int(frame.vector[count]) if frame.vector[count] else None
        )
    value = total(term.function, held.kind)
    return lambda frame: value(frame.vector[word : word + 3])
