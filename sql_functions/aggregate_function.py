"""``aseq_count`` and its siblings in Spark's Python workers: aggregates over the matches of a pattern in groups of events.

In: event times, types and values of one group (``GroupedAggregate``), or one list of structs per group (``CollectedAggregate``), in any order. Out:
one value per group. Both sort the events and pass them, group after group, to the A-Seq engine in one call. Knows neither SQL nor Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.aseq import engine
from sparkcep.engines.aseq.events import MASK_BITS
from sparkcep.errors import CepDataError
from sparkcep.pattern.event import Element, elements
from sparkcep.spec import from_json
from sparkcep.spec.aggregate import (
    AggregateFunctionSpec,
    AggregateOutput,
    AggregateSpec,
    GroupColumn,
    MatchAggregate,
    Number,
)
from sparkcep.spec.event import WithinTime
from sql_functions.worker import answer_at_once, said_of

BIGGEST = 2**63


class _ArrowFunction:
    """What Spark sends to the workers: the MatchSpec, unpickled once per task before its rows are read."""

    def __init__(self, spec_json: str) -> None:
        self.spec_json = spec_json

    def __setstate__(self, state: dict[str, str]) -> None:
        answer_at_once()
        self.__dict__.update(state)


class GroupedAggregate(_ArrowFunction):
    """A grouped aggregate Arrow UDF: (times, types[, values]) of one group → its value."""

    def __call__(self, ts: pa.Array, kind: pa.Array, value: pa.Array | None = None) -> Any:
        return _answers(_spec(self.spec_json), Events(ts, kind, value, np.zeros(len(ts), np.int64), 1))[0]


class CollectedAggregate(_ArrowFunction):
    """A scalar Arrow UDF: one list of STRUCT(time, type[, value]) per group → one value per group."""

    def __call__(self, groups: pa.Array) -> pa.Array:
        spec = _spec(self.spec_json)
        rows = groups.flatten()
        sizes = pc.fill_null(pc.list_value_length(groups), 0).to_numpy(zero_copy_only=False)
        columns = [rows.field(i) for i in range(rows.type.num_fields)]
        group = np.repeat(np.arange(len(groups), dtype=np.int64), sizes)
        found = _answers(spec, Events(columns[0], columns[1], (*columns[2:], None)[0], group, len(groups)))
        return pa.array(found, _result_type(spec, columns[2].type if len(columns) > 2 else pa.null()))


@dataclass(frozen=True, slots=True)
class Events:
    """The events of several ``groups``, each with its group number."""

    ts: pa.Array
    kind: pa.Array
    value: pa.Array | None
    group: NDArray[np.int64]
    groups: int


def _spec(spec_json: str) -> AggregateFunctionSpec:
    spec: Any = from_json(spec_json)
    assert isinstance(spec, AggregateFunctionSpec)
    return spec


def _answers(spec: AggregateFunctionSpec, events: Events) -> list[Any]:
    """One value per group: that of an empty set of matches if the group has none."""
    nothing: Any = 0 if spec.function == "count" else None
    answers = [nothing] * events.groups
    if not len(events.ts):
        return answers
    try:
        found = list(engine.compile(_engine_spec(spec, events.value)).run(_table(spec, events)))
        combine = _COMBINE[spec.function]
        for table in found:
            group, *columns = (column.to_pylist() for column in table.columns)
            for i, *parts in zip(group, *columns, strict=True):
                answers[i] = combine(parts)
        return _integers(spec, answers) if spec.function == "sum" and _is_integer(events.value) else answers
    except CepDataError as error:
        told = _overflow(spec) if error.code.endswith("AGGREGATE_OVERFLOW") else error
        raise said_of(told, f"aseq_{spec.function} over the matches of {spec.text}") from None


def _integers(spec: AggregateFunctionSpec, answers: list[Any]) -> list[int | None]:
    found = [None if answer is None else int(answer) for answer in answers]
    if any(number is not None and not -BIGGEST <= number < BIGGEST for number in found):
        raise _overflow(spec)
    return found


def _is_integer(value: pa.Array | None) -> bool:
    return value is not None and bool(pa.types.is_integer(value.type))


def _overflow(spec: AggregateFunctionSpec) -> CepDataError:
    return CepDataError(
        f"{spec.function.upper()} is outside the range of its type",
        code="AGGREGATE_OVERFLOW",
        hint=f"the clause computes it exactly: SELECT CAST({spec.function.upper()}(…) AS DECIMAL(38,0)) FROM t MATCH PATTERN (…)",
    )


def _table(spec: AggregateFunctionSpec, events: Events) -> pa.Table:
    """The engine's input: group after group, each in time order."""
    time = _times(events.ts)
    order = np.lexsort((time, events.group))
    time, group = time[order], events.group[order]
    starts = np.ones(len(group), bool)
    starts[1:] = group[1:] != group[:-1]
    later = starts.copy()
    later[1:] |= time[1:] != time[:-1]
    rank = np.maximum.accumulate(np.where(later, np.arange(len(group)), 0)) + 1
    columns = {"group": group, "rank": rank, "time": time}
    if spec.months is not None:
        columns["deadline"] = _months_later(events.ts.take(pa.array(order)), spec.months)
    elif spec.within is not None:
        columns["deadline"] = time + (spec.within if time.dtype.kind == "f" else int(spec.within))
    for i, mask in enumerate(_masks(spec, events.kind.take(pa.array(order)), starts)):
        columns[f"mask{i}"] = mask
    table = pa.table(columns)
    if events.value is None:
        return table
    value = events.value.take(pa.array(order))
    return table.append_column("value", value.cast(pa.float64()) if spec.function == "avg" else value)


def _times(ts: pa.Array) -> NDArray[Any]:
    """Times as microseconds, numbers unchanged."""
    if ts.null_count:
        raise CepDataError(
            "the event time of aseq_count, aseq_sum, aseq_avg, aseq_min or aseq_max is NULL",
            code="NULL_EVENT_TIME",
            hint="filter such events out: WHERE ts IS NOT NULL",
        )
    if pa.types.is_date(ts.type):
        ts = ts.cast(pa.timestamp("us"))
    if pa.types.is_temporal(ts.type):
        return ts.cast(pa.timestamp("us", ts.type.tz)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    kind = pa.float64() if pa.types.is_floating(ts.type) else pa.int64()
    return ts.cast(kind).to_numpy(zero_copy_only=False)


def _months_later(dates: pa.Array, months: int) -> NDArray[np.int64]:
    """Add months to dates as Spark does: the same day of the month, or its last day if there is none; in microseconds."""
    days = dates.to_numpy(zero_copy_only=False).astype("M8[D]")
    month = days.astype("M8[M]")
    target = month + months
    last = (target + 1).astype("M8[D]") - np.timedelta64(1, "D")
    later = np.minimum(target.astype("M8[D]") + (days - month.astype("M8[D]")), last)
    return later.astype("M8[us]").astype(np.int64)


def _masks(spec: AggregateFunctionSpec, kind: pa.Array, starts: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    encoded = pc.fill_null(kind.cast(pa.string()).dictionary_encode().indices, -1).to_numpy(zero_copy_only=False)
    names = kind.cast(pa.string()).dictionary_encode().dictionary.to_pylist()
    bits = [starts, *(_takes(element, names)[encoded] for element in _elements(spec))]
    masks = [np.zeros(len(starts), np.int64) for _ in range(0, len(bits), MASK_BITS)]
    for i, bit in enumerate(bits):
        masks[i // MASK_BITS] |= bit.astype(np.int64) << (i % MASK_BITS)
    return masks


def _takes(element: Element, names: list[str]) -> NDArray[np.bool_]:
    """Whether the element takes events of each type, and (last) of a NULL type."""
    return np.array([not element.types or name in element.types for name in names] + [not element.types])


def _elements(spec: AggregateFunctionSpec) -> tuple[Element, ...]:
    return elements(spec.pattern)


def _engine_spec(spec: AggregateFunctionSpec, value: pa.Array | None) -> AggregateSpec:
    variables = tuple(element.variable for element in _elements(spec))
    integers = _is_integer(value)
    sources = [MatchAggregate("count")]
    if spec.function != "count":
        positive = [element.variable for element in elements(spec.pattern, negated=False)]
        sources = [source for variable in positive for source in _sources(spec.function, variable, integers)]
    outputs = [AggregateOutput("group", GroupColumn("group"))]
    outputs += [AggregateOutput(f"a{i}", source) for i, source in enumerate(sources)]
    return AggregateSpec(
        variables=variables,
        pattern=spec.pattern,
        masks=tuple(f"mask{i}" for i in range(len(variables) // MASK_BITS + 1)),
        rank="rank",
        outputs=tuple(outputs),
        schema="{}",
        within=None if spec.within is None and spec.months is None else WithinTime("time", "deadline"),
        partition=("group",),
        text=spec.text,
    )


def _sources(function: str, variable: str, integers: bool) -> list[MatchAggregate]:
    """The aggregates needed of one variable: sums of integers as DECIMAL, because the total may fit BIGINT even if one variable's sum does not."""
    number: Number = "decimal" if integers else "double"
    if function == "sum":
        return [MatchAggregate("sum", variable, "value", number)]
    if function == "avg":
        return [
            MatchAggregate("sum", variable, "value", "double"),
            MatchAggregate("count", variable, "value", "double"),
        ]
    return [MatchAggregate(function, variable, "value")]  # type: ignore[arg-type]


def _known(parts: Iterable[Any]) -> list[Any]:
    return [part for part in parts if part is not None]


def _sum(parts: list[Any]) -> Any:
    known = _known(parts)
    return sum(known[1:], known[0]) if known else None


def _average(parts: list[Any]) -> float | None:
    count = sum(_known(parts[1::2]))
    return sum(_known(parts[::2])) / count if count else None


def _extreme(greatest: bool) -> Callable[[list[Any]], Any]:
    """MIN or MAX with NaN as the greatest double, as in Spark."""
    best = max if greatest else min
    return lambda parts: best(_known(parts), key=lambda value: (value != value, value), default=None)


_COMBINE: dict[str, Callable[[list[Any]], Any]] = {
    "count": lambda parts: parts[0],
    "sum": _sum,
    "avg": _average,
    "min": _extreme(greatest=False),
    "max": _extreme(greatest=True),
}


def _result_type(spec: AggregateFunctionSpec, value: pa.DataType) -> pa.DataType:
    if spec.function == "count" or (spec.function == "sum" and pa.types.is_integer(value)):
        return pa.int64()
    if spec.function == "sum" and pa.types.is_decimal(value):
        return pa.decimal128(min(38, value.precision + 10), value.scale)
    return value if spec.function in ("min", "max") else pa.float64()
