"""Conditions on a row and rows next to it in its partition (``price < PREV(price)``), tested of all rows at once before the engine sees them.

In: batches of whole masks in order, in which a set bit says that the rest of a variable's condition holds. Out: the same rows with the bits cleared
of those for which the ``adjacent`` conditions do not hold. Values are compared as Spark compares them; an error is raised only for rows of which
Spark would compute the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.arrow_types import arrow_type
from sparkcep.errors import CepDataError, CepInternalError
from sparkcep.spec.expression import Call, Constant
from sparkcep.spec.row import MASK_BITS, ColumnAt, Define, RowPatternSpec, leaves

Value: TypeAlias = Any
"""A ``pa.Array`` or a ``pa.Scalar``."""
Flags = NDArray[np.bool_]


class AdjacentTests:
    """Of the rows of one task. It keeps as many of the last ones as conditions look back, and holds back as many as they look ahead."""

    def __init__(self, spec: RowPatternSpec) -> None:
        self._tests = [(divmod(spec.variables.index(one.variable) + 1, MASK_BITS), one) for one in spec.adjacent]
        read = [one for define in spec.adjacent for one in leaves(define.condition) if isinstance(one, ColumnAt)]
        self._columns = list(dict.fromkeys(one.column for one in read))
        self._back = max((-one.at.physical for one in read if one.at.physical < 0), default=0)
        self._ahead = max((one.at.physical for one in read if one.at.physical > 0), default=0)
        self._masks = spec.masks
        self._rows: pa.Table | None = None
        self._known = 0

    def come(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The task's next rows, and those of which all neighbours are here. Raises CepDataError: a sum overflows, a divisor is 0."""
        rows = pa.Table.from_batches([batch])
        self._rows = rows if self._rows is None else pa.concat_tables([self._rows, rows])
        yield from self._ready(self._rows.num_rows - self._ahead)

    def end(self) -> Iterator[pa.RecordBatch]:
        """The rest of the rows."""
        if self._rows is not None:
            yield from self._ready(self._rows.num_rows)

    def _ready(self, until: int) -> Iterator[pa.RecordBatch]:
        """Of the rows that are here those before ``until`` that have not been given."""
        if self._rows is None or until <= self._known:
            return
        yield self._tested(self._rows, self._known, until)
        gone = max(until - self._back, 0)
        self._rows, self._known = self._rows.slice(gone), until - gone

    def _tested(self, rows: pa.Table, begin: int, end: int) -> pa.RecordBatch:
        (batch,) = rows.slice(begin, end - begin).combine_chunks().to_batches()
        partition = np.cumsum(rows.column(self._masks[0]).to_numpy() & 1)
        columns = {name: rows.column(name).combine_chunks() for name in self._columns}
        masks = {name: batch.column(name).to_numpy().copy() for name in self._masks}
        for (mask, bit), define in self._tests:
            bits = masks[self._masks[mask]]
            live = bits & (1 << bit) != 0
            if live.any():
                bits[live & ~_Rows(columns, partition, begin, define).hold(live)] -= 1 << bit
        for name, bits in masks.items():
            at = batch.schema.get_field_index(name)
            batch = batch.set_column(at, batch.schema.field(at), pa.array(bits))
        return batch


class _Rows:
    """Rows under one condition: those from row ``begin`` of ``columns`` on. ``partition``: the number of each row's partition."""

    def __init__(self, columns: dict[str, pa.Array], partition: NDArray[np.int64], begin: int, define: Define) -> None:
        self._columns, self._partition, self._begin, self._define = columns, partition, begin, define

    def hold(self, live: Flags) -> Flags:
        """The ``live`` rows for which the condition is TRUE; of others nothing is known."""
        self._own = self._partition[self._begin : self._begin + len(live)]
        return _is(True, self._value(self._define.condition, live), len(live))

    def _value(self, node: Any, live: Flags) -> Value:
        match node:
            case ColumnAt():
                return self._column(node)
            case Constant():
                return _scalar(node)
            case Call(operator="and" | "or"):
                return self._logic(node, live)
            case Call(operator=operator, arguments=arguments):
                values = [self._value(argument, live) for argument in arguments]
                if operator in _COMPUTED:
                    return self._computed(operator, values, live)
                if operator == "div":
                    return self._quotient(values[0], values[1], live)
                return _TESTS[operator](*values)
        raise CepInternalError(f"{node} is no condition on adjacent rows")

    def _logic(self, node: Call, live: Flags) -> Value:
        """As Spark: what follows is computed where it still matters."""
        ends, joined = (False, pc.and_kleene) if node.operator == "and" else (True, pc.or_kleene)
        first, *others = node.arguments
        found = self._value(first, live)
        for other in others:
            live = live & ~_is(ends, found, len(live))
            found = joined(found, self._value(other, live))
        return found

    def _column(self, leaf: ColumnAt) -> pa.Array:
        """The values in the rows so far before or behind; NULL in another partition."""
        values, begin, rows = self._columns[leaf.column], self._begin + leaf.at.physical, len(self._own)
        if pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type):
            values = values.cast(pa.int64())
        elif pa.types.is_date32(values.type):
            values = values.cast(pa.int32())
        low, high = np.clip((begin, begin + rows), 0, len(values)).tolist()
        before = min(max(-begin, 0), rows)
        behind = rows - before - (high - low)
        found = values.slice(low, high - low)
        if before or behind:
            found = pa.concat_arrays([pa.nulls(before, values.type), found, pa.nulls(behind, values.type)])
        if not leaf.at.physical:
            return found
        beside = np.full(rows, -1)
        beside[before : rows - behind] = self._partition[low:high]
        return pc.if_else(pa.array(beside == self._own), found, pa.scalar(None, values.type))

    def _computed(self, operator: str, values: list[Value], live: Flags) -> Value:
        checked, plain = _COMPUTED[operator]
        try:
            return checked(*values)
        except pa.ArrowInvalid:
            if self._overflows(operator, values, live):
                raise self._error("overflows", "ARITHMETIC_OVERFLOW", "Cast its operands to a wider type.") from None
            return plain(*values)

    def _overflows(self, operator: str, values: list[Value], live: Flags) -> bool:
        """Whether a live row's number is too large for its type."""
        most = np.iinfo(_COMPUTED[operator][1](*values).type.to_pandas_dtype())
        numbers = (_objects(value, live) for value in values)
        known = (one for one in zip(*numbers, strict=True) if None not in one)
        return any(not most.min <= _EXACT[operator](*one) <= most.max for one in known)

    def _quotient(self, left: Value, right: Value, live: Flags) -> Value:
        left, right = left.cast(pa.float64()), right.cast(pa.float64())
        zero = _is(True, pc.equal(right, 0.0), len(live)) & _is(True, pc.is_valid(left), len(live))
        if np.any(zero & live):
            raise self._error("divides by zero", "DIVIDE_BY_ZERO", "use NULLIF(divisor, 0)")
        return pc.divide(left, right)

    def _error(self, what: str, code: str, hint: str) -> CepDataError:
        return CepDataError(f"{self._define.variable} AS {self._define.text} {what}", code=code, hint=hint)


def _scalar(constant: Constant) -> pa.Scalar:
    kind = arrow_type(constant.type)
    value = Decimal(constant.value) if constant.value is not None and pa.types.is_decimal(kind) else constant.value
    return pa.scalar(value, kind)


def _is(value: bool, found: Value, rows: int) -> Flags:
    """Where a BOOLEAN is ``value``."""
    if isinstance(found, pa.Scalar):
        return np.full(rows, found.as_py() is value)
    flags: Flags = (found if value else pc.invert(found)).fill_null(False).to_numpy(zero_copy_only=False)
    return flags


def _objects(value: Value, live: Flags) -> list[Any]:
    if isinstance(value, pa.Scalar):
        return [value.as_py()] * int(live.sum())
    found: list[Any] = value.filter(pa.array(live)).to_pylist()
    return found


def _ordered(*values: Value) -> list[Value]:
    """Booleans as numbers, which Arrow orders."""
    return [value.cast(pa.int8()) if pa.types.is_boolean(value.type) else value for value in values]


def _are_floats(*values: Value) -> bool:
    return any(pa.types.is_floating(value.type) for value in values)


def _eq(left: Value, right: Value) -> Value:
    """NaN is equal to itself."""
    found = pc.equal(left, right)
    return pc.or_(found, pc.and_(pc.is_nan(left), pc.is_nan(right))) if _are_floats(left, right) else found


def _lt(left: Value, right: Value) -> Value:
    """NaN is above all numbers."""
    found = pc.less(*_ordered(left, right))
    return pc.or_(found, pc.and_not(pc.is_nan(right), pc.is_nan(left))) if _are_floats(left, right) else found


def _eq_null_safe(left: Value, right: Value) -> Value:
    return pc.if_else(pc.is_valid(left), _or_false(_eq(left, right)), pc.is_null(right))


def _or_false(found: Value) -> Value:
    return pc.fill_null(found, False)


_TESTS: dict[str, Callable[..., Value]] = {
    "eq": _eq,
    "ne": lambda left, right: pc.invert(_eq(left, right)),
    "lt": _lt,
    "le": lambda left, right: pc.invert(_lt(right, left)),
    "gt": lambda left, right: _lt(right, left),
    "ge": lambda left, right: pc.invert(_lt(left, right)),
    "eq_null_safe": _eq_null_safe,
    "not": pc.invert,
    "is_null": pc.is_null,
}
_COMPUTED: dict[str, tuple[Callable[..., Value], Callable[..., Value]]] = {
    "add": (pc.add_checked, pc.add),
    "sub": (pc.subtract_checked, pc.subtract),
    "mul": (pc.multiply_checked, pc.multiply),
    "abs": (pc.abs_checked, pc.abs),
}
_EXACT: dict[str, Callable[..., int]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "abs": abs,
}
