"""Conditions on a row and rows before it in its partition (``price < PREV(price)``), tested of all rows at once before the engine sees them.

In: batches of whole masks in order, in which a set bit says that the rest of a variable's condition holds. Out: the same with the bits cleared of
rows for which the ``prior`` conditions do not hold. Values are compared as Spark compares them; an error is raised only for rows of which Spark
would compute the value.
"""

from __future__ import annotations

from collections.abc import Callable
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


class PriorTests:
    """Of the rows of one task; it keeps as many of the last ones as conditions look back."""

    def __init__(self, spec: RowPatternSpec) -> None:
        self._tests = [(divmod(spec.variables.index(one.variable) + 1, MASK_BITS), one) for one in spec.prior]
        read = [one for define in spec.prior for one in leaves(define.condition) if isinstance(one, ColumnAt)]
        self._columns = list(dict.fromkeys(one.column for one in read))
        self._back = max((-one.at.physical for one in read), default=0)
        self._masks = spec.masks
        self._before: pa.Table | None = None
        self._place = 0

    def tested(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The task's next rows. Raises CepDataError: a sum overflows, a divisor is 0."""
        if not batch.num_rows:
            return batch
        masks = {name: batch.column(name).to_numpy().copy() for name in self._masks}
        place = self._places(masks[self._masks[0]] & 1 != 0)
        rows = self._with_prior(batch)
        for (mask, bit), define in self._tests:
            bits = masks[self._masks[mask]]
            live = bits & (1 << bit) != 0
            if live.any():
                holds = _Rows(rows, self._back, place, define).hold(live)
                bits[live & ~holds] -= 1 << bit
        for name, bits in masks.items():
            at = batch.schema.get_field_index(name)
            batch = batch.set_column(at, batch.schema.field(at), pa.array(bits))
        self._before = rows.slice(rows.num_rows - self._back)
        self._place = int(place[-1]) + 1
        return batch

    def _places(self, first: Flags) -> NDArray[np.int64]:
        """How many rows of its partition come before each row."""
        at = np.arange(len(first))
        return at - np.maximum.accumulate(np.where(first, at, -self._place))

    def _with_prior(self, batch: pa.RecordBatch) -> pa.Table:
        """The columns that conditions read, with the rows before the batch."""
        rows = pa.Table.from_batches([batch.select(self._columns)])
        if self._before is None:
            nothing = [pa.nulls(self._back, field.type) for field in rows.schema]
            self._before = pa.Table.from_arrays(
                nothing, schema=pa.schema(field.with_nullable(True) for field in rows.schema)
            )
        return pa.concat_tables([self._before, rows.cast(self._before.schema)]).combine_chunks()


class _Rows:
    """The rows of a batch under one condition. ``rows``: with ``back`` rows before them. ``place``: how many of those are of the row's partition."""

    def __init__(self, rows: pa.Table, back: int, place: NDArray[np.int64], define: Define) -> None:
        self._rows, self._back, self._place, self._define = rows, back, place, define

    def hold(self, live: Flags) -> Flags:
        """The ``live`` rows for which the condition is TRUE; of others nothing is known."""
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
        raise CepInternalError(f"{node} is no condition on prior rows")

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
        behind = -leaf.at.physical
        values = self._rows.column(leaf.column).chunk(0).slice(self._back - behind, len(self._place))
        if pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type):
            values = values.cast(pa.int64())
        elif pa.types.is_date32(values.type):
            values = values.cast(pa.int32())
        if not behind:
            return values
        return pc.if_else(pa.array(self._place >= behind), values, pa.scalar(None, values.type))

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
