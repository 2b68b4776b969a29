"""Values of measures by type: what navigation carries, and what aggregates compute."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import inf, isnan, nan
from typing import Any

import pyarrow as pa
import pytest

from sparkcep.errors import CepDataError, CepUnsupportedError
from sparkcep.spec.row import Aggregate, ColumnAt, Navigation, Output, Skip
from tests.engines.row_pattern.helpers import A, B, make_spec, make_table, plus, run, seq, star


def measured(sources: list[Any], values: pa.Array, rows: str = "AAB", **options: Any) -> pa.Table:
    outputs = [Output(f"m{i}", source) for i, source in enumerate(sources)]
    spec = make_spec(seq(plus(A), B), outputs, **options)
    flags = pa.array([i % 2 == 0 for i in range(len(rows))])
    return pa.concat_tables(run(make_table(spec, [list(rows)], value=values, flag=flags), spec))


def one(source: Any, values: pa.Array, rows: str = "AAB", **options: Any) -> Any:
    return measured([source], values, rows, **options)["m0"].to_pylist()[0]


ANY_TYPE = [
    pa.array([{"a": 1}, None, {"a": 3}]),
    pa.array([[1], None, [2, 3]]),
    pa.array([[("k", 1)], None, [("z", 2)]], pa.map_(pa.string(), pa.int32())),
    pa.array([b"x", None, b""]),
    pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(38, 2)),
    pa.array([None, None, None]),
    pa.array([datetime(2024, 1, 1, tzinfo=UTC), None, datetime(2025, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
    pa.array([timedelta(1), None, timedelta(2)], pa.duration("us")),
    pa.array(["x", None, "é"], pa.large_string()),
]


@pytest.mark.parametrize("values", ANY_TYPE, ids=lambda values: str(values.type))
def test_any_type_travels(values: pa.Array) -> None:
    sources = [
        ColumnAt("value", Navigation(("B",))),
        ColumnAt("value", Navigation(("A",))),
        ColumnAt("value", Navigation(("B",), physical=1)),
        Aggregate("array_agg", "value"),
    ]
    table = measured(sources, values)
    assert table["m0"].type == values.type
    assert [table[f"m{i}"].to_pylist()[0] for i in range(3)] == [values[2].as_py(), None, None]
    assert table["m3"].to_pylist()[0] == [v for v in values.to_pylist() if v is not None]


ORDERED = [
    ([3, -1, 2], pa.int16(), -1, 3),
    ([1.5, nan, -inf], pa.float64(), -inf, nan),
    ([-0.5, -1.5, None], pa.float32(), -1.5, -0.5),
    (["b", "a", "ab"], pa.string(), "a", "b"),
    ([b"\xff", b"a", None], pa.binary(), b"a", b"\xff"),
    ([True, False, True], pa.bool_(), False, True),
    ([date(2024, 1, 2), date(1969, 1, 1), None], pa.date32(), date(1969, 1, 1), date(2024, 1, 2)),
    ([Decimal("1.5"), Decimal("-7.0"), None], pa.decimal128(10, 1), Decimal("-7.0"), Decimal("1.5")),
    ([Decimal(10**30), Decimal(-(10**30)), None], pa.decimal128(38, 0), Decimal(-(10**30)), Decimal(10**30)),
    ([timedelta(3), timedelta(-1), None], pa.duration("us"), timedelta(-1), timedelta(3)),
]


@pytest.mark.parametrize("skip", ["past_last_row", "next_row"])
@pytest.mark.parametrize(("values", "kind", "least", "greatest"), ORDERED, ids=lambda value: str(value)[:20])
def test_min_and_max(values: list[Any], kind: pa.DataType, least: Any, greatest: Any, skip: Any) -> None:
    sources = [Aggregate("min", "value"), Aggregate("max", "value")]
    table = measured(sources, pa.array(values, kind), skip=Skip(skip))
    assert table["m0"].type == kind
    low, high = (table[name].to_pylist()[0] for name in ("m0", "m1"))
    assert low == least
    assert high == greatest or (isnan(high) and isnan(greatest))


@pytest.mark.parametrize("skip", ["past_last_row", "next_row"])
def test_sums(skip: Any) -> None:
    total, options = Aggregate("sum", "value"), {"skip": Skip(skip)}
    assert one(total, pa.array([1, None, 2], pa.int8()), **options) == 3
    assert one(total, pa.array([None, None, None], pa.int64()), **options) is None
    assert one(total, pa.array([0.1, 0.25, None], pa.float32()), **options) == pytest.approx(0.35)
    assert one(total, pa.array([2**63 - 1, 5, -6]), **options) == 2**63 - 2
    wide = measured([total], pa.array([Decimal("9999.99")] * 3, pa.decimal128(6, 2)), **options)["m0"]
    assert wide.type == pa.decimal128(16, 2)
    assert wide[0].as_py() == Decimal("29999.97")
    negative = pa.array([Decimal(-(10**37)), Decimal(5), None], pa.decimal128(38, 0))
    assert one(total, negative, **options) == Decimal(5 - 10**37)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**62, 2**62, 1]),
        pa.array([-(2**62), -(2**62), -1]),
        pa.array([Decimal(10**38 - 1)] * 3, pa.decimal128(38, 0)),
        pa.array([Decimal(10**38 - 1), Decimal(1), None], pa.decimal128(38, 0)),
        pa.array([Decimal(1 - 10**38), Decimal(-1), None], pa.decimal128(38, 0)),
    ],
    ids=str,
)
def test_sum_overflow(values: pa.Array) -> None:
    with pytest.raises(CepDataError, match="SUM over value overflows"):
        one(Aggregate("sum", "value"), values)


def test_sum_at_the_edge_does_not_overflow() -> None:
    for sign in (1, -1):
        values = pa.array([Decimal(sign * (10**38 - 2)), Decimal(sign), None], pa.decimal128(38, 0))
        assert one(Aggregate("sum", "value"), values) == Decimal(sign * (10**38 - 1))


@pytest.mark.parametrize("function", ["sum", "min"])
def test_types_without_an_aggregate_are_refused(function: Any) -> None:
    with pytest.raises(CepUnsupportedError, match="over the column value of type list"):
        one(Aggregate(function, "value"), pa.array([[1], [2], [3]]))


def test_count_filter_distinct() -> None:
    values = pa.array([nan, nan, None, 0.0, -0.0, 1.0])
    rows = "AAAAAB"
    assert one(Aggregate("count"), values, rows) == 6
    assert one(Aggregate("count", "value"), values, rows) == 5
    assert one(Aggregate("count", "value", distinct=True), values, rows) == 3
    assert one(Aggregate("count", None, ("A",), filter="flag"), values, rows) == 3
    assert one(Aggregate("sum", "value", distinct=True, filter="flag"), pa.array([4, 9, 4, 9, 5, 9]), rows) == 9


def test_running_and_final() -> None:
    sources = [
        Aggregate("count", running=True),
        Aggregate("count"),
        Aggregate("sum", "value", ("A",), running=True),
        Aggregate("array_agg", "value", ("A",), running=True),
        ColumnAt("value", Navigation(("A",), running=True)),
        ColumnAt("value", Navigation(("A",), logical=1, running=True)),
        ColumnAt("value", Navigation(("B",), last=False)),
    ]
    table = measured(sources, pa.array([5, 7, 9]), rows_per_match="all_show_empty")
    assert [column.to_pylist() for column in table.columns] == [
        [1, 2, 3], [3, 3, 3], [5, 12, 12], [[5], [5, 7], [5, 7]], [5, 7, 7], [None, 5, 5], [9, 9, 9],
    ]  # fmt: skip


def test_empty_and_unmatched_rows() -> None:
    sources = [Aggregate("count"), Aggregate("array_agg", "value"), Aggregate("sum", "value")]
    outputs = [Output(f"m{i}", source) for i, source in enumerate(sources)]
    spec = make_spec(seq(A, B), outputs, rows_per_match="all_with_unmatched")
    table = make_table(spec, [["A"]], value=pa.array([1]))
    assert pa.concat_tables(run(table, spec)).to_pylist() == [{"m0": None, "m1": None, "m2": None}]
    spec = make_spec(star(B), outputs, rows_per_match="all_show_empty")
    assert pa.concat_tables(run(table, spec)).to_pylist() == [{"m0": 0, "m1": [], "m2": None}]
