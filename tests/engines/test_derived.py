"""Columns that Spark does not send."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sparkcep.engines.derived import last_gap, with_derived
from sparkcep.errors import CepDataError
from sparkcep.pattern.event import Element, Seq
from sparkcep.spec.event import EventPatternSpec, Sum, WithinTime

LARGEST = (1 << 31) - 1


def spec(addend: int) -> EventPatternSpec:
    """SEQ(A a, B b) over a line whose time is that of ``ts``, with the sum ``b.x + addend``."""
    return EventPatternSpec(
        variables=("a", "b"),
        pattern=Seq((Element("a", ("A",)), Element("b", ("B",)))),
        masks=("mask",),
        rank="rank",
        outputs=(),
        schema="",
        within=WithinTime("time", length=5),
        line=True,
        time_of="ts",
        sums=(Sum("sum", "x", addend, "b", "b.x + …"),),
    )


def sent(x: list[int | None], mask: list[int]) -> pa.Table:
    ts = pa.array(range(len(x)), pa.timestamp("us", "UTC"))
    return pa.table({"ts": ts, "x": pa.array(x, pa.int32()), "mask": pa.array(mask, pa.int32())})


def test_all_columns_are_there() -> None:
    table = with_derived(spec(380), sent([1, None, 3], [2, 4, 4]))
    assert table.column("mask").to_pylist() == [3, 4, 4]
    assert table.column("time").to_pylist() == [0, 1, 2]
    assert table.column("sum") == pa.chunked_array([pa.array([381, None, 383], pa.int32())])
    assert table.column("rank").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(("addend", "extreme"), [(1, LARGEST), (-2, -LARGEST)])
def test_a_sum_overflows_in_events_of_its_variable_only(addend: int, extreme: int) -> None:
    table = with_derived(spec(addend), sent([extreme, 3, None], [2, 4, 4]))
    assert table.column("sum").to_pylist() == [None, 3 + addend, None]
    with pytest.raises(CepDataError, match="overflows"):
        with_derived(spec(addend), sent([3, extreme], [2, 4]))


def test_gaps_as_long_as_the_window() -> None:
    assert last_gap(pa.array([0, 4, 9, 10], pa.int64()), 5) == 2
    assert last_gap(pa.array([0, 4, 8], pa.int64()), 5) is None
    assert last_gap(pa.array([-(1 << 63), (1 << 63) - 1, (1 << 63) - 1], pa.int64()), 5) == 1
    assert last_gap(pa.array([], pa.int64()), 5) is None
