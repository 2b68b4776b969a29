"""SparkFunction trees over the columns of a table, all rows at once.

In: trees whose ``AttributeReference``s name columns. Out: Arrow columns. What Polars computes as Spark does is computed by Polars; the rest row by
row, by the closures of ``registry``. A branch that Spark would not have reached is computed, too, where that cannot fail; where it might, a ``fault``
tells for which rows, and if there is one, the closures decide, which reach what Spark reaches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.functions.base import BITS, Refused, kind
from sparkcep.engines.functions.conditional import COMPARISONS
from sparkcep.engines.functions.registry import compile_function
from sparkcep.engines.functions.times import DAY, internal, is_utc
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Constant, SparkFunction

_TYPES: dict[str, Any] = {
    "boolean": pl.Boolean,
    "string": pl.String,
    "tinyint": pl.Int8,
    "smallint": pl.Int16,
    "int": pl.Int32,
    "bigint": pl.Int64,
    "float": pl.Float32,
    "double": pl.Float64,
    "date": pl.Int32,
    "timestamp": pl.Int64,
    "timestamp_ntz": pl.Int64,
    "void": pl.Null,
}
"""Spark's types that Polars compares as Spark does, as they are computed with: dates are days, timestamps microseconds."""
_ARITHMETIC = {"Add": operator.add, "Subtract": operator.sub, "Multiply": operator.mul}
_CODE = "PATTERN_STREAM"
_MARKS = ("KnownNotNull", "KnownNullable", "KnownNotContainsNull", "Source")

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Vector:
    """``value`` of all rows; ``fault``: for which of them it may have failed, if it can; ``bounds`` of an integer."""

    value: pl.Expr
    fault: pl.Expr | None = None
    bounds: Bounds | None = None


def computed(trees: Mapping[str, Any], rows: pa.Table, types: Mapping[str, pa.DataType]) -> dict[str, pa.ChunkedArray]:
    """The columns of ``trees`` by name, of these ``types``. Raises what the functions raise."""
    bare = {name: rows.column(tree.settings[0]) for name, tree in trees.items() if is_column(tree)}
    others = {name: tree for name, tree in trees.items() if name not in bare}
    table = _Table(rows)
    vectors = {name: vector for name, tree in others.items() if (vector := _vector(tree)) is not None}
    found = table.select({name: vector.value for name, vector in vectors.items()})
    failed = table.select({name: vector.fault.any() for name, vector in vectors.items() if vector.fault is not None})
    columns: dict[str, pa.ChunkedArray] = {}
    for name, tree in others.items():
        if name in found and not (name in failed and pc.any(failed[name]).as_py()):
            columns[name] = _of_type(found[name], types[name])
        else:
            columns[name] = _row_by_row(tree, table, types[name])
    return {name: _chunked(bare[name] if name in bare else columns[name]) for name in trees}


def is_column(tree: Any) -> bool:
    """Whether a tree is a mere column."""
    return isinstance(tree, SparkFunction) and tree.name == "AttributeReference"


def check_columns(trees: Iterable[Any]) -> None:
    """Raises CepUnsupportedError, without a span, for a tree that cannot be computed."""
    for tree in trees:
        try:
            compile_function(tree, lambda leaf: lambda frame: None)
        except CepUnsupportedError as error:
            what, _, _ = error.message.partition(", computed from")
            hint = "compute in a subquery of the stream what the pattern looks at"
            raise CepUnsupportedError(f"{what} for workers alone", code=_CODE, hint=hint) from None


@dataclass(slots=True)
class _Table:
    """The rows for Polars and for Python, each column prepared once."""

    rows: pa.Table
    _lists: dict[str, list[Any]] = field(default_factory=dict)

    def select(self, expressions: Mapping[str, pl.Expr]) -> dict[str, pa.ChunkedArray]:
        """Each expression as a column."""
        if not expressions:
            return {}
        names = {name for one in expressions.values() for name in one.meta.root_names()}
        frame = pl.DataFrame({name: pl.Series(_plain(self.rows.column(name))) for name in sorted(names)})
        height = pl.repeat(0, self.rows.num_rows, eager=True).to_frame("__cep_height")
        wide = height.hstack(frame) if names else height
        aliases = {name: f"__cep_value{i}" for i, name in enumerate(expressions)}
        columns = [one.alias(aliases[name]) for name, one in expressions.items()]
        found = (
            wide.lazy().with_columns(columns).select(aliases.values()).collect().to_arrow()
        )  # constants are repeated
        return {name: found.column(alias) for name, alias in aliases.items()}

    def values(self, name: str) -> list[Any]:
        """A column's values as the closures take them."""
        if name not in self._lists:
            column = _plain(self.rows.column(name))
            found = column.to_pylist()
            self._lists[name] = found if _is_plain(column.type) else [internal(value) for value in found]
        return self._lists[name]

    def add(self, name: str, column: pa.ChunkedArray) -> None:
        """One more column, for closures alone."""
        self._lists[name] = column.to_pylist()


class _Frame:
    """A row."""

    __slots__ = ("lambdas", "row")

    def __init__(self) -> None:
        self.row = 0
        self.lambdas: dict[str, Any] = {}


def _row_by_row(tree: Any, table: _Table, target: pa.DataType) -> pa.ChunkedArray:
    """What Polars does not compute; of its parts that it does, Polars computes those that cannot fail."""
    parts: dict[Any, str] = {}
    rest = _cut(tree, parts)
    vectors = {name: _vector(part) for part, name in parts.items()}
    found = table.select({name: vector.value for name, vector in vectors.items() if vector is not None})
    for name, column in found.items():
        table.add(name, column)

    def leaf(node: Any) -> Callable[[_Frame], Any]:
        values = table.values(node.settings[0])
        return lambda frame: values[frame.row]

    function, frame, values = compile_function(rest, leaf), _Frame(), []
    for row in range(table.rows.num_rows):
        frame.row = row
        values.append(function(frame))
    return _of_type(pa.chunked_array([_array(values, tree.type, target)]), target)


def _array(values: list[Any], type_text: str, target: pa.DataType) -> pa.Array:
    """Python's values, as the functions have them, as a column."""
    if kind(type_text) in ("date", "timestamp", "timestamp_ntz", "interval"):
        return pa.array(values, pa.int32() if pa.types.is_date32(target) else pa.int64())
    return pa.array(values, target)


def _cut(tree: Any, parts: dict[Any, str]) -> Any:
    """``tree`` with the greatest parts that cannot fail replaced by columns, which are named in ``parts``."""
    if not isinstance(tree, SparkFunction) or is_column(tree):
        return tree
    vector = _vector(tree)
    if vector is not None and vector.fault is None:
        name = parts.setdefault(tree, f"__cep_part{len(parts)}")
        return SparkFunction("AttributeReference", tree.type, settings=(name,))
    arguments = tuple(_cut(argument, parts) for argument in tree.arguments)
    return SparkFunction(tree.name, tree.type, arguments, tree.settings, tree.text)


def _of_type(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == target else column.cast(target)


def _chunked(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _is_plain(data_type: pa.DataType) -> bool:
    return (
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_boolean(data_type)
        or pa.types.is_string(data_type)
    )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates as days, times and durations as microseconds."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    return column


def _vector(node: Any) -> _Vector | None:
    """A tree for Polars; None: it computes it otherwise than Spark, or not at all."""
    data_type = _dtype(node.type)
    if data_type is None:
        return None
    if isinstance(node, Constant):
        own = (node.value, node.value) if node.type in BITS and node.value is not None else None
        return _Vector(pl.lit(node.value, dtype=data_type), None, own)
    if is_column(node):
        return _Vector(pl.col(node.settings[0]), None, _range(node.type))
    if node.name == "RaiseError":
        return _Vector(pl.lit(None), pl.lit(True))
    make = _MAKERS.get(node.name)
    if make is None:
        return None
    arguments = [_vector(argument) for argument in node.arguments]
    known = [argument for argument in arguments if argument is not None]
    if len(known) < len(arguments):
        return None
    try:
        return make(node, known)
    except Refused:
        return None


def _dtype(type_text: str) -> Any:
    return pl.Int64 if _is_day_time(type_text) else _TYPES.get(type_text)


def _is_day_time(type_text: str) -> bool:
    return kind(type_text) == "interval" and bool({"day", "hour", "minute", "second"} & set(type_text.split()))


def _range(type_text: str) -> Bounds | None:
    half = 1 << (BITS[type_text] - 1) if type_text in BITS else 0
    return (-half, half - 1) if half else None


def _either(faults: Iterable[pl.Expr | None]) -> pl.Expr | None:
    found = [fault for fault in faults if fault is not None]
    return reduce(operator.or_, found) if found else None


def _comparison(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    left, right = sides
    return _Vector(COMPARISONS[node.name](left.value, right.value), _either([left.fault, right.fault]))


def _null_safe(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    left, right = sides
    return _Vector(left.value.eq_missing(right.value), _either([left.fault, right.fault]))


def _logic(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    join = operator.and_ if node.name == "And" else operator.or_
    values = [side.value.cast(pl.Boolean) for side in sides]
    return _Vector(reduce(join, values), _either(side.fault for side in sides))


def _not(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    return _Vector(~sides[0].value.cast(pl.Boolean), sides[0].fault)


def _null(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    value = sides[0].value
    return _Vector(value.is_null() if node.name == "IsNull" else value.is_not_null(), sides[0].fault)


def _in(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    wanted, *others = sides
    value = reduce(operator.or_, (wanted.value == other.value for other in others))
    return _Vector(value, _either(side.fault for side in sides))


def _case(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    """CASE WHEN c THEN v … ELSE w END; the fault of a branch counts where it is reached."""
    pairs = list(zip(sides[0::2], sides[1::2], strict=False))
    last = sides[-1] if len(sides) % 2 else _Vector(pl.lit(None, dtype=_dtype(node.type)))
    value, fault, bounds = last.value, last.fault, last.bounds
    for condition, then in reversed(pairs):
        holds = condition.value.cast(pl.Boolean)
        value = pl.when(holds).then(then.value).otherwise(value)
        if fault is not None or then.fault is not None:
            yes, no = (pl.lit(False) if one is None else one for one in (then.fault, fault))
            fault = pl.when(holds).then(yes).otherwise(no)
        fault = _either([condition.fault, fault])
        bounds = _union(then.bounds, bounds)
    return _Vector(value, fault, None if len(sides) % 2 == 0 else bounds)


def _coalesce(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    bounds = reduce(_union, (side.bounds for side in sides))
    return _Vector(pl.coalesce(side.value for side in sides), _either(side.fault for side in sides), bounds)


def _union(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))


def _arithmetic(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    left, right = sides
    compute, fault = _ARITHMETIC[node.name], _either([left.fault, right.fault])
    if node.type == "double":
        return _Vector(compute(left.value, right.value), fault)
    if node.type not in BITS or left.bounds is None or right.bounds is None:
        raise Refused(node.type)
    ends = [compute(a, b) for a in left.bounds for b in right.bounds]
    wide = compute(left.value.cast(pl.Int128), right.value.cast(pl.Int128))
    return _fitted(node, _Vector(wide, fault, (min(ends), max(ends))))


def _fitted(node: SparkFunction, wide: _Vector) -> _Vector:
    """An integer brought to the node's type, which it may not fit."""
    limits, bounds = _range(node.type), wide.bounds
    assert limits is not None and bounds is not None
    inside = limits[0] <= bounds[0] and bounds[1] <= limits[1]
    if inside:
        return _Vector(wide.value.cast(_dtype(node.type)), wide.fault, bounds)
    if node.settings and node.settings[0] != "ANSI":
        raise Refused("an integer that may not fit")
    beyond = _beyond(wide.value, limits)
    value = wide.value.cast(_dtype(node.type), strict=False)
    return _Vector(value, _either([wide.fault, beyond]), limits)


def _beyond(wide: pl.Expr, limits: Bounds) -> pl.Expr:
    low, high = (pl.lit(limit, dtype=pl.Int128) for limit in limits)
    return (~wide.is_between(low, high)).fill_null(False)


def _cast(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    (side,), source = sides, node.arguments[0].type
    if source == node.type or source == "void":
        return _Vector(side.value.cast(_dtype(node.type)), side.fault, side.bounds)
    if source in BITS and node.type == "double":
        return _Vector(side.value.cast(pl.Float64), side.fault)
    if source == "float" and node.type == "double":
        return _Vector(side.value.cast(pl.Float64), side.fault)
    if source in BITS and node.type in BITS and side.bounds is not None:
        return _fitted(node, _Vector(side.value.cast(pl.Int128), side.fault, side.bounds))
    raise Refused(f"{source} to {node.type}")


def _micros(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    return _Vector(sides[0].value, sides[0].fault, _range("bigint"))


def _moved(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    """A timestamp and an interval, where days are 24 hours, or there are none."""
    amount = node.arguments[1]
    if not isinstance(amount, Constant) or amount.value is None or not _is_day_time(amount.type):
        raise Refused("an interval that is no constant")
    by_clock = kind(node.arguments[0].type) == "timestamp" and not is_utc(node.settings[0])
    if by_clock and abs(amount.value) >= DAY:
        raise Refused("days of a time zone")
    wide = sides[0].value.cast(pl.Int128) + pl.lit(amount.value, dtype=pl.Int128)
    beyond = _beyond(wide, (-(1 << 63), (1 << 63) - 1))
    return _Vector(wide.cast(pl.Int64, strict=False), _either([sides[0].fault, beyond]))


def _itself(node: SparkFunction, sides: list[_Vector]) -> _Vector:
    return sides[0]


_MAKERS: dict[str, Callable[[SparkFunction, list[_Vector]], _Vector]] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_MARKS, _itself),
    **dict.fromkeys(("IsNull", "IsNotNull"), _null),
    **dict.fromkeys(("And", "Or"), _logic),
    **dict.fromkeys(("TimestampAddInterval", "TimeAdd"), _moved),
    "EqualNullSafe": _null_safe,
    "Not": _not,
    "In": _in,
    "CaseWhen": _case,
    "Coalesce": _coalesce,
    "Cast": _cast,
    "If": _case,
    "UnixMicros": _micros,
}
