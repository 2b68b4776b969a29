"""Where partitions begin in rows that come in the order of their keys, in batches of any size."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sparkcep.engines.starts import PartitionStarts
from sparkcep.pattern.event import Element, Seq
from sparkcep.spec.event import EventPatternSpec

NAMES, NUMBERS = [None, None, "a", "a", "b", "b", "b"], [1, 1, 1, 2, 2, None, None]
BEGINS = [1, 0, 1, 1, 1, 1, 0]


def spec(*starts: str) -> EventPatternSpec:
    pattern = Seq((Element("a", ("A",)), Element("b", ("B",))))
    return EventPatternSpec(("a", "b"), pattern, ("mask",), "rank", (), "{}", starts=starts)


def rows(kind: pa.DataType) -> pa.RecordBatch:
    columns = {"name": pa.array(NAMES), "number": pa.array(NUMBERS, pa.int32()), "mask": pa.array([2] * 7, kind)}
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()], ids=str)
def test_a_partition_begins_where_a_key_changes(size: int, kind: pa.DataType) -> None:
    whole, seen = rows(kind), PartitionStarts(spec("name", "number"))
    parts = [seen.marked(whole.slice(at, size)) for at in range(0, 7, size)]
    assert all(part.schema == whole.schema for part in parts)
    assert pa.Table.from_batches(parts).column("mask").to_pylist() == [2 + begin for begin in BEGINS]
    assert seen.marked(whole.slice(7)).num_rows == 0


def test_rows_whose_masks_tell_are_left_alone() -> None:
    whole = rows(pa.int32())
    assert PartitionStarts(spec()).marked(whole) is whole


def test_without_keys_all_rows_are_one_partition() -> None:
    whole, seen = rows(pa.int32()), PartitionStarts(spec(), one=True)
    parts = [seen.marked(whole.slice(at, 3)) for at in (0, 3, 6)]
    assert pa.Table.from_batches(parts).column("mask").to_pylist() == [3, 2, 2, 2, 2, 2, 2]
