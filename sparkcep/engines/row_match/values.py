"""Input columns as words of 64 bits, the values that conditions compute with.

In: ``Columns`` of a slice. Out: ``Words``. Integers, dates, timestamps, durations and booleans are themselves;
floats become keys that sort like them (NaN above all, -0.0 = 0.0); decimals become unscaled integers; strings (and
variables' names) become their ranks among all strings of the slice, in the order of their bytes, binaries likewise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.structures import Words
from sparkcep.engines.row_pattern.columns import MAX_NARROW_DECIMAL, Columns
from sparkcep.errors import CepLimitError
from sparkcep.spec.words import shortest

RANKED = ("string", "binary")
"""Kinds whose words are ranks."""
SAMPLED = 256
"""How many values say how many decimal places a column may have."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A value's type: ``bits`` of an integer or a float, ``scale`` of a decimal.

    ``opaque`` (arrays, structs, …) is carried as a NULL flag only; ``null`` has no values.
    """

    name: str
    bits: int = 64
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """What of a table the conditions use, each once, numbered: columns; (column, FILTER column) pairs whose rows count
    in an aggregate; sets of variables. ``halves``: among the columns, the low and the high words of decimals of 128 bits."""

    columns: dict[str, int]
    filters: dict[tuple[str | None, str | None], int]
    sets: dict[frozenset[str], int]
    halves: dict[tuple[str, Literal["low", "high"]], int] = field(default_factory=dict)

    def column(self, name: str) -> int:
        """The number of a column."""
        return self.columns.setdefault(name, self.size)

    def half(self, name: str, which: Literal["low", "high"]) -> int:
        """The number of the column with one word of each of its numbers."""
        return self.halves.setdefault((name, which), self.size)

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.columns) + len(self.halves)

    def filter(self, column: str | None, condition: str | None) -> int:
        """The number of the rows that count; -1 if all do, whatever the data."""
        if column is None and condition is None:
            return -1
        return self.filters.setdefault((column, condition), len(self.filters))

    def set(self, members: frozenset[str]) -> int:
        """The number of a set of variables."""
        return self.sets.setdefault(members, len(self.sets))


@dataclass(frozen=True, slots=True)
class Data:
    """``always`` [filters]: True where every row counts. ``strings``: by kind, the values of the ranks."""

    words: Words
    always: NDArray[np.bool_]
    strings: Mapping[str, pa.Array]


def kind_of(data_type: pa.DataType) -> Kind:
    """The kind of an Arrow type."""
    is_a = pa.types
    if is_a.is_dictionary(data_type):
        return kind_of(data_type.value_type)
    if is_a.is_boolean(data_type):
        return Kind("boolean")
    if is_a.is_integer(data_type) or is_a.is_floating(data_type):
        return Kind("integer" if is_a.is_integer(data_type) else "float", data_type.bit_width)
    if is_a.is_decimal(data_type):
        return Kind("decimal", scale=data_type.scale)
    if is_a.is_string(data_type) or is_a.is_large_string(data_type) or is_a.is_string_view(data_type):
        return Kind("string")
    if is_a.is_binary(data_type) or is_a.is_large_binary(data_type) or is_a.is_binary_view(data_type):
        return Kind("binary")
    for name in ("date", "timestamp", "duration", "time", "null"):
        if getattr(is_a, f"is_{name}")(data_type):
            return Kind(name)
    return Kind("opaque")


def is_wide(data_type: pa.DataType) -> bool:
    """Whether a decimal may have more digits than a word holds."""
    return bool(pa.types.is_decimal(data_type)) and data_type.precision > MAX_NARROW_DECIMAL


def shortened(columns: Columns, names: Collection[str], whole: Collection[str] = ()) -> tuple[Columns, dict[str, int]]:
    """The columns with those of wide decimals among ``names``, but for those in ``whole``, in as few decimal places as their values have, where a
    word then has room for each of them: prices in DECIMAL(38, 18) have words so. And the wide ones, with how many places they have lost."""
    table, wide = columns.table, {name: 0 for name in names if is_wide(columns.type(name))}
    for name in wide.keys() - set(whole):
        short = _shortened(columns.column(name)) if 0 <= columns.type(name).scale <= MAX_NARROW_DECIMAL else None
        if short is not None:
            table = table.set_column(table.schema.get_field_index(name), name, short)
            wide[name] = columns.type(name).scale - short.type.scale
    return columns if table is columns.table else Columns(table), wide


def _shortened(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray | None:
    """``column`` with the decimal places of a sample of it, if all values have as few, and no more digits than a word."""
    sample = column.take(pa.array(np.linspace(0, len(column) - 1, min(len(column), SAMPLED)).astype(np.int64)))
    places = max((shortest(value)[1] for value in sample.to_pylist() if value is not None), default=0)
    try:
        return column.cast(pa.decimal128(MAX_NARROW_DECIMAL, places))
    except pa.ArrowInvalid:
        return None


def load(
    columns: Columns,
    pool: Pool,
    variables: Sequence[str],
    beside: Sequence[pa.ChunkedArray] = (),
    checked: Collection[str] = (),
) -> Data:
    """The words of a slice. Strings and binaries ``beside`` those of the columns have ranks, too. A decimal of more digits than a word has is
    ``codes.NO_ROOM`` in a column that is ``checked``.

    Raises CepLimitError for one of another column."""
    rows = columns.table.num_rows
    kinds = {name: kind_of(columns.type(name)) for name in pool.columns}
    words = np.zeros((pool.size, rows), np.int64)
    strings, binaries = ([name for name in kinds if kinds[name].name == family] for family in RANKED)
    others = {family: [array for array in beside if kind_of(array.type).name == family] for family in RANKED}
    labels, texts = _rank(columns, pool, strings, words, pa.array(variables, pa.large_string()), others["string"])
    _, bytes_ = _rank(columns, pool, binaries, words, pa.array([], pa.large_binary()), others["binary"])
    for name, number in pool.columns.items():
        if kinds[name].name not in RANKED:
            words[number] = words_of(columns, name, kinds[name], checked=name in checked)
    for (name, which), number in pool.halves.items():
        addends = columns.addends(name)
        words[number] = addends.low if which == "low" else addends.high
    nullable, nulls = _nulls(columns, pool, rows)
    counted, always = _counted(columns, pool, rows)
    sets = np.array([[name in members for name in variables] for members in pool.sets], np.bool_)
    found = Words(words, nullable, nulls, counted, sets.reshape(len(pool.sets), len(variables)), labels)
    return Data(found, always, {"string": texts, "binary": bytes_})


def words_of(columns: Columns, name: str, kind: Kind, *, checked: bool = False) -> NDArray[np.int64]:
    """The words of a column that is not RANKED; see ``load``."""
    if kind.name in ("opaque", "null"):
        return np.zeros(columns.table.num_rows, np.int64)
    if is_wide(columns.type(name)):
        return _wide_decimal(columns, name, checked)
    return columns.ascending(name)


def _wide_decimal(columns: Columns, name: str, checked: bool) -> NDArray[np.int64]:
    addends = columns.addends(name)
    valid = columns.counted(name, None)
    beyond = addends.high != addends.low >> 63
    if checked:
        return np.where(beyond, codes.NO_ROOM, addends.low)
    if (beyond if valid is None else beyond & valid).any():
        raise CepLimitError(
            f"a match-dependent condition reads the column {name}, of type {columns.type(name)}, with more than "
            f"{MAX_NARROW_DECIMAL} digits",
            code="DECIMAL_DIGITS",
            hint="in the condition CAST it to a narrower DECIMAL, to DOUBLE, or to DECIMAL(38, 10), which is exact and slower",
        )
    return addends.low


def _rank(
    columns: Columns,
    pool: Pool,
    names: Sequence[str],
    words: NDArray[np.int64],
    constants: pa.Array,
    beside: Sequence[pa.ChunkedArray],
) -> tuple[NDArray[np.int64], pa.Array]:
    """Fills in the ranks of the columns' values; returns those of the constants, and the values of all ranks."""
    if not (names or beside or len(constants)):
        return np.empty(0, np.int64), constants
    arrays = [columns.table.column(name).cast(constants.type) for name in names]
    chunks = [chunk for array in (*arrays, *(one.cast(constants.type) for one in beside)) for chunk in array.chunks]
    values = pc.unique(pa.chunked_array([*chunks, constants], constants.type)).drop_null()
    ordered = values.take(pc.sort_indices(values))
    for name, array in zip(names, arrays, strict=True):
        words[pool.columns[name]] = pc.index_in(array, ordered).fill_null(0).to_numpy()
    return pc.index_in(constants, ordered).to_numpy(zero_copy_only=False).astype(np.int64), ordered


def _nulls(columns: Columns, pool: Pool, rows: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    nullable = np.full(pool.size, -1, np.int32)
    found: list[NDArray[np.bool_]] = []
    lows = ((name, number) for (name, which), number in pool.halves.items() if which == "low")
    numbers = [*pool.columns.items(), *lows]
    for name, number in numbers:
        if columns.column(name).null_count:
            nullable[number] = len(found)
            found.append(np.asarray(columns.column(name).is_null().to_numpy(zero_copy_only=False), np.bool_))
    return nullable, np.array(found, np.bool_).reshape(len(found), rows)


def _counted(columns: Columns, pool: Pool, rows: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    found = [columns.counted(column, condition) for column, condition in pool.filters]
    always = np.array([counted is None for counted in found], np.bool_)
    masks = [np.empty(0, np.bool_) if counted is None else counted for counted in found]
    out = np.zeros((len(found), 0 if always.all() else rows), np.bool_)
    for number, mask in enumerate(masks):
        if len(mask):
            out[number] = mask
    return out, always
