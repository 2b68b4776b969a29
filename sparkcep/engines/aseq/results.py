"""Aggregates as Arrow arrays: numbers per partition, with the types and errors of Spark's aggregates.

In: ``Passes`` and a ``MatchAggregate``. Out: an array with one value per partition asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq import values
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.semiring import MAX
from sparkcep.engines.aseq.values import Ints, reversed_keys
from sparkcep.errors import CepDataError
from sparkcep.spec.aggregate import MatchAggregate

WIDE = pa.decimal128(38, 0)
COUNT_TYPE = {"bigint": pa.int64(), "decimal": WIDE, "double": pa.float64(), "unscaled": WIDE}
BIGGEST = 2**63


def nothing(source: MatchAggregate, kind: pa.DataType) -> pa.Scalar:
    """The aggregate over no matches: 0 for a count, NULL for anything else."""
    return pa.scalar(0 if source.function == "count" else None, kind)


def aggregate(passes: Passes, source: MatchAggregate, parts: Ints) -> pa.Array:
    """The aggregate for the partitions ``parts``, each of which has a match.

    Raises CepDataError where a value overflows its type.
    """
    variable, column = source.variable or "", source.column or ""
    if source.function == "count":
        ways = [Weighing("counted", variable, column) if column else Weighing()]
        return _number(passes, source, ways, COUNT_TYPE[source.number], parts, None)
    empty = passes.integers(Weighing("counted", variable, column))[parts] == 0
    if source.function != "sum":
        return _extreme(passes, source, parts, empty)
    if passes.column(column).floating:
        return pa.array(passes.doubles(Weighing("value", variable, column))[parts], mask=empty)
    ways = [Weighing("positive", variable, column)]
    if (passes.column(column).integers() < 0).any():
        ways.append(Weighing("negative", variable, column))
    summed = None if source.number == "unscaled" else values.sum_type(passes.column(column).values.type)
    kind = summed or COUNT_TYPE[source.number]
    return _number(passes, source, ways, kind, parts, empty)


def _number(
    passes: Passes,
    source: MatchAggregate,
    ways: Sequence[Weighing],
    kind: pa.DataType,
    parts: Ints,
    empty: NDArray[np.bool_] | None,
) -> pa.Array:
    """A count; or the sum of the positive values minus the sum of the magnitudes of the negative ones."""
    sums = [passes.integers(way)[parts] for way in ways]
    over = np.logical_or.reduce([part == MAX for part in sums])
    signed = ways[0] if len(ways) == 1 and ways[0].weight in ("one", "counted") else _value(ways[0])
    if pa.types.is_floating(kind):
        exact = sums[0].astype(np.float64) - (sums[1] if len(sums) > 1 else 0)
        return pa.array(np.where(over, passes.doubles(signed)[parts], exact) if over.any() else exact, mask=empty)
    if pa.types.is_integer(kind) and not over.any():
        return pa.array(sums[0] - (sums[1] if len(sums) > 1 else 0), mask=empty)
    lists = [part.tolist() for part in sums]
    numbers = [lists[0][i] - (lists[1][i] if len(lists) > 1 else 0) for i in range(len(parts))]
    for i in np.flatnonzero(over):
        number = passes.exact(signed, int(parts[i]))
        if number is None:
            raise overflow(source, str(kind), "shorten WITHIN, or add a predicate")
        numbers[i] = number
    return _typed(numbers, kind, source, empty)


def _value(way: Weighing) -> Weighing:
    return Weighing("value", way.variable, way.column)


def _typed(numbers: list[int], kind: pa.DataType, source: MatchAggregate, empty: NDArray[np.bool_] | None) -> pa.Array:
    known = numbers if empty is None else [None if no else n for n, no in zip(numbers, empty, strict=True)]
    if pa.types.is_integer(kind):
        if any(number is not None and not -BIGGEST <= number < BIGGEST for number in known):
            raise overflow(source, "BIGINT", f"write CAST({name(source)} AS DECIMAL(38,0)), which is computed exactly")
        return pa.array(known, kind)
    if any(number is not None and abs(number) >= 10**kind.precision for number in known):
        raise overflow(source, f"DECIMAL({kind.precision},{kind.scale})", "shorten WITHIN, or add a predicate")
    return values.decimals(known, kind)


def name(source: MatchAggregate) -> str:
    """The aggregate as SQL."""
    if source.text:
        return f"{source.function.upper()}({source.text})"
    column = "*" if source.column and source.column.startswith("__cep_") else source.column
    return f"{source.function.upper()}({f'{source.variable}.{column}' if source.variable else '*'})"


def overflow(source: MatchAggregate, kind: str, hint: str) -> CepDataError:
    return CepDataError(
        f"{name(source)} over the matches is outside the range of {kind}", code="AGGREGATE_OVERFLOW", hint=hint
    )


def _extreme(passes: Passes, source: MatchAggregate, parts: Ints, empty: NDArray[np.bool_]) -> pa.Array:
    variable, column = source.variable or "", source.column or ""
    _, distinct = passes.order(column)
    least = source.function == "min"
    keys = passes.integers(Weighing("least" if least else "greatest", variable, column))[parts]
    places = keys if least else reversed_keys(keys, len(distinct))
    return distinct.take(pa.array(np.where(empty, 0, places), mask=empty))
