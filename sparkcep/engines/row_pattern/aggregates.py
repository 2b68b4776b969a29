"""Measures that aggregate over rows of the match: COUNT, SUM, AVG of decimals, MIN, MAX, ARRAY_AGG, variances; running or final.

In: ``Matches`` and their output rows. Out: Arrow arrays, one value per output row. Over no rows COUNT is 0, ARRAY_AGG an empty array, and the others
NULL; on a row outside of all matches every aggregate is NULL.
SUM of integers is BIGINT and raises CepDataError where it overflows; SUM of decimals gains ten digits, AVG four decimal places (at most 38).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.engines.row_pattern.labels import Labels
from sparkcep.engines.row_pattern.matches import Matches, OutputRows
from sparkcep.engines.row_pattern.navigation import standing, used_nodes
from sparkcep.errors import CepDataError
from sparkcep.spec.row import MEAN_DIGITS, MOMENTS, Aggregate

SUM_DIGITS = 10
"""Digits that SUM adds to a decimal's precision, as in Spark."""

MAX_PRECISION = 38


def aggregate(matches: Matches, labels: Labels, rows: OutputRows, columns: Columns, source: Aggregate) -> pa.Array:
    """The aggregate ``source`` for each output row."""
    base = standing(matches, rows, source.running)
    if source.function == "array_agg":
        return _array_agg(matches, labels, rows, columns, source)
    if source.function == "count":
        count = counts(matches, labels, columns, source)[base]
        return pa.array(count, mask=_outside(matches, labels, rows))
    if source.function == "sum":
        return _sum(matches, labels, columns, source, base)
    if source.function == "avg":
        return _mean(matches, labels, columns, source, base)
    if source.function in MOMENTS:
        return _moment(matches, labels, columns, source, base)
    return columns.take(_column(source), _extremes(matches, labels, columns, source)[base])


def counts(matches: Matches, labels: Labels, columns: Columns, source: Aggregate) -> NDArray[np.int64]:
    """[nodes]: how many rows the aggregate has counted up to each node."""
    from sparkcep.engines.row_pattern import path_kernels

    key = ("counts", *_rows_key(source))
    if key not in matches.cache:
        out = np.empty(len(matches.row), np.int64)
        path_kernels.counts(matches.back, _used(matches, labels, columns, source), out)
        matches.cache[key] = out
    return matches.cache[key]


def tells_apart(source: Aggregate) -> bool:
    """True if DISTINCT changes the answer (it never does for MIN and MAX)."""
    return source.distinct and source.column is not None and source.function not in ("min", "max")


def _rows_key(source: Aggregate) -> tuple[object, ...]:
    return source.variables, source.column, source.filter, tells_apart(source)


def _column(source: Aggregate) -> str:
    assert source.column is not None, f"{source.function} has a column"
    return source.column


def _outside(matches: Matches, labels: Labels, rows: OutputRows) -> NDArray[np.bool_] | None:
    outside = matches.code[rows.node] == labels.unmatched
    return outside if outside.any() else None


def _used(matches: Matches, labels: Labels, columns: Columns, source: Aggregate) -> NDArray[np.bool_]:
    """[nodes]: which nodes the aggregate counts."""
    key = ("counted", *_rows_key(source))
    if key not in matches.cache:
        used = used_nodes(matches, labels, source.variables)
        counted = columns.counted(source.column, source.filter)
        if counted is not None:
            used = used & counted[matches.row]
        if tells_apart(source):
            used = _first_of_each(matches, used, columns.group_keys(_column(source)))
        matches.cache[key] = used
    return matches.cache[key]


def _first_of_each(matches: Matches, used: NDArray[np.bool_], keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """``used`` without the nodes whose value an earlier used node of the same match has."""
    import polars as pl

    node = np.flatnonzero(used)
    match = np.repeat(np.arange(len(matches.final)), matches.final - matches.first + 1)[node]
    frame = pl.DataFrame({"match": match, "key": keys[matches.row[node]]})
    first = frame.select(pl.struct("match", "key").is_first_distinct()).to_series().to_numpy()
    out = np.zeros(len(used), np.bool_)
    out[node[first]] = True
    return out


def _extremes(matches: Matches, labels: Labels, columns: Columns, source: Aggregate) -> NDArray[np.int32]:
    from sparkcep.engines.row_pattern import path_kernels

    key = (source.function, *_rows_key(source))
    if key not in matches.cache:
        keys = columns.order_keys(_column(source), source.function == "max")
        out = np.empty(len(matches.row), np.int32)
        path_kernels.least(matches.back, matches.row, _used(matches, labels, columns, source), keys, out)
        matches.cache[key] = out
    return matches.cache[key]


def _sum(matches: Matches, labels: Labels, columns: Columns, source: Aggregate, base: NDArray[np.int32]) -> pa.Array:
    name = _column(source)
    kind = columns.type(name)
    nothing = counts(matches, labels, columns, source)[base] == 0
    if columns.addends(name).floats is not None:
        return pa.array(_float_sums(matches, labels, columns, source)[base], mask=nothing)
    low, high = (words[base] for words in _word_sums(matches, labels, columns, source))
    if not pa.types.is_decimal(kind):
        if (high != low >> 63).any():
            raise CepDataError(f"SUM over {name} overflows BIGINT", code="OVERFLOW", hint="sum a DECIMAL or a DOUBLE")
        total = pa.array(low, mask=nothing)
        return total.cast(kind) if pa.types.is_duration(kind) else total
    result = pa.decimal128(min(kind.precision + SUM_DIGITS, MAX_PRECISION), kind.scale)
    if kind.precision + SUM_DIGITS > MAX_PRECISION:
        _check_digits(name, low, high, _float_sums(matches, labels, columns, source)[base])
    return _decimals(low, high, nothing, result)


def _mean(matches: Matches, labels: Labels, columns: Columns, source: Aggregate, base: NDArray[np.int32]) -> pa.Array:
    """AVG of decimals, rounded half up once: SQL's own quotient of a sum and a count has too few places where these have many digits."""
    kind = columns.type(_column(source))
    scale = min(kind.scale + MEAN_DIGITS, MAX_PRECISION)
    result, units = pa.decimal128(min(kind.precision + MEAN_DIGITS, MAX_PRECISION), scale), 10 ** (scale - kind.scale)
    count = counts(matches, labels, columns, source)[base]
    low, high = (words[base] for words in _word_sums(matches, labels, columns, source))
    by, size, nothing = np.maximum(count, 1), np.abs(low), count == 0
    mean = size // by * units + (2 * units * (size % by) + by) // (2 * by)
    mean = np.where(low < 0, -mean, mean)
    mean_high = mean >> 63
    wide = (high != low >> 63) | (size < 0) | (size // by >= (1 << 62) // units)
    for i in np.flatnonzero(wide & ~nothing):
        found = _wide_mean((int(high[i]) << 64) + int(low.view(np.uint64)[i]), int(by[i]), units)
        if abs(found) >= 10**result.precision:
            name = source.column
            raise CepDataError(
                f"AVG over {name} overflows {result}", code="OVERFLOW", hint="average a narrower DECIMAL"
            )
        mean_high[i], mean[i] = found >> 64, np.uint64(found & (1 << 64) - 1).astype(np.int64)
    return _decimals(mean, mean_high, nothing, result)


def _wide_mean(total: int, count: int, units: int) -> int:
    """A mean in so many parts of a unit, of numbers of any size."""
    mean = (2 * units * abs(total) + count) // (2 * count)
    return mean if total >= 0 else -mean


def _moment(matches: Matches, labels: Labels, columns: Columns, source: Aggregate, base: NDArray[np.int32]) -> pa.Array:
    count = counts(matches, labels, columns, source)[base] - source.function.endswith("samp")
    nothing = count < 1
    values = _squares(matches, labels, columns, source)[base] / np.maximum(count, 1)
    return pa.array(np.sqrt(values) if source.function.startswith("stddev") else values, mask=nothing)


def _squares(matches: Matches, labels: Labels, columns: Columns, source: Aggregate) -> NDArray[np.float64]:
    """[nodes]: the sum of the squared distances of values from their mean."""
    from sparkcep.engines.row_pattern import path_kernels

    key = ("squares", *_rows_key(source))
    if key not in matches.cache:
        values, used = columns.addends(_column(source)).floats, _used(matches, labels, columns, source)
        assert values is not None, f"{source.function} is one of floats"
        mean, squares = np.empty(len(matches.row)), np.empty(len(matches.row))
        count = counts(matches, labels, columns, source)
        path_kernels.moments(matches.back, matches.row, used, values, count, mean, squares)
        matches.cache[key] = squares
    return matches.cache[key]


def _float_sums(matches: Matches, labels: Labels, columns: Columns, source: Aggregate) -> NDArray[np.float64]:
    """Sums in float64: of floats, or approximately of decimals."""
    from sparkcep.engines.row_pattern import path_kernels

    key = ("float sums", *_rows_key(source))
    if key not in matches.cache:
        addends = columns.addends(_column(source))
        values = addends.floats
        if values is None:
            values = np.asarray(addends.high * 2.0**64 + addends.low.view(np.uint64), np.float64)
        out = np.empty(len(matches.row), np.float64)
        path_kernels.float_sums(matches.back, matches.row, _used(matches, labels, columns, source), values, out)
        matches.cache[key] = out
    return matches.cache[key]


def _word_sums(
    matches: Matches, labels: Labels, columns: Columns, source: Aggregate
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Exact sums modulo 2^128, as low and high words."""
    from sparkcep.engines.row_pattern import path_kernels

    low_key, high_key = (("sums", word, *_rows_key(source)) for word in ("low", "high"))
    if low_key not in matches.cache:
        addends = columns.addends(_column(source))
        low, high = np.empty(len(matches.row), np.int64), np.empty(len(matches.row), np.int64)
        used = _used(matches, labels, columns, source)
        path_kernels.wide_sums(matches.back, matches.row, used, addends.low, addends.high, low, high)
        matches.cache[low_key], matches.cache[high_key] = low, high
    return matches.cache[low_key], matches.cache[high_key]


def _check_digits(name: str, low: NDArray[np.int64], high: NDArray[np.int64], rough: NDArray[np.float64]) -> None:
    """Raises CepDataError for a sum of 39 digits. The true value of a sum that wrapped around 2^128 is at least 2^128 - 10^38, far enough from 10^38
    for the float64 approximation to tell them apart."""
    limit = 10**MAX_PRECISION
    limit_high, limit_low = limit >> 64, np.uint64(limit & (1 << 64) - 1)
    negative = high < 0
    magnitude_low = np.where(negative, (~low).view(np.uint64), low.view(np.uint64))  # off by one for negative values
    magnitude_high = np.where(negative, ~high, high)
    at_limit = np.where(negative, magnitude_low >= limit_low - np.uint64(1), magnitude_low >= limit_low)
    over = (magnitude_high > limit_high) | ((magnitude_high == limit_high) & at_limit)
    if over.any() or (np.abs(rough) > 1.5 * limit).any():
        raise CepDataError(f"SUM over {name} overflows DECIMAL(38)", code="OVERFLOW", hint="sum a narrower DECIMAL")


def _decimals(
    low: NDArray[np.int64], high: NDArray[np.int64], nothing: NDArray[np.bool_], kind: pa.Decimal128Type
) -> pa.Array:
    words = np.stack([low, high], axis=1)
    valid = pa.array(~nothing).buffers()[1] if nothing.any() else None
    return pa.Array.from_buffers(kind, len(low), [valid, pa.py_buffer(words)])


def array_bounds(
    matches: Matches, labels: Labels, rows: OutputRows, columns: Columns, source: Aggregate
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each output row, the range of its elements among all counted nodes of the batch."""
    used = _used(matches, labels, columns, source)
    before = np.append(0, np.cumsum(used))
    first = matches.first[rows.match]
    return before[first], before[standing(matches, rows, source.running) + 1]


def _array_agg(matches: Matches, labels: Labels, rows: OutputRows, columns: Columns, source: Aggregate) -> pa.Array:
    low, high = array_bounds(matches, labels, rows, columns, source)
    lengths = high - low
    offsets = np.append(0, np.cumsum(lengths))
    element = np.repeat(low - offsets[:-1], lengths) + np.arange(offsets[-1])
    nodes = np.flatnonzero(_used(matches, labels, columns, source))
    values = _elements(matches, labels, columns, source, nodes[element])
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    outside = _outside(matches, labels, rows)
    mask = None if outside is None else pa.array(outside)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, mask=mask)


def _elements(
    matches: Matches, labels: Labels, columns: Columns, source: Aggregate, nodes: NDArray[np.int64]
) -> pa.Array | pa.ChunkedArray:
    """The values at ``nodes``; without a column, the variables of their rows."""
    if source.column is None:
        return labels.names.take(pa.array(matches.code[nodes] >> 1))
    return columns.take(source.column, matches.row[nodes])
