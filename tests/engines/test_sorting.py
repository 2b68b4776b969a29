"""Rows of a task are sorted in memory and run by run, to the same partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.engines import sorting
from sparkcep.engines.sorting import Sorter, partition_order
from sparkcep.spec.order import OrderColumn
from tests.draws import draws

KEYS = {
    "text": st.sampled_from([None, "", "a", "b", "ä"]),
    "number": st.sampled_from([None, -(1 << 63), 0, 7]),
    "flag": st.sampled_from([None, True, False]),
}
TYPES = {
    "text": pa.string(),
    "number": pa.int64(),
    "flag": pa.bool_(),
    "ts": pa.timestamp("us", "UTC"),
    "day": pa.date32(),
}
TIMES = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-(1 << 62), 1 << 62]))
DAYS = st.one_of(st.none(), st.integers(-2, 2))


@st.composite
def cases(draw: st.DrawFn) -> tuple[pa.Table, list[str], list[OrderColumn]]:
    """Rows, the columns of PARTITION BY, those of ORDER BY."""
    rows = draw(st.lists(st.fixed_dictionaries({**KEYS, "ts": TIMES, "day": DAYS}), max_size=40))
    columns = {name: pa.array([row[name] for row in rows], TYPES[name]) for name in TYPES}
    keys = draw(st.lists(st.sampled_from(sorted(KEYS)), unique=True))
    order = draw(st.lists(st.sampled_from(["ts", "day"]), min_size=1, unique=True))
    flags = st.booleans()
    return (
        pa.table({**columns, "id": np.arange(len(rows))}),
        keys,
        [OrderColumn(name, draw(flags), draw(flags)) for name in order],
    )


def expected(rows: list[dict[str, Any]], order: list[OrderColumn]) -> list[dict[str, Any]]:
    """The rows of one partition as ORDER BY sorts them, by item, the last one first."""
    for one in reversed(order):
        known = [row for row in rows if row[one.column] is not None]
        known.sort(key=lambda row: row[one.column], reverse=one.descending)
        nulls = [row for row in rows if row[one.column] is None]
        rows = known + nulls if one.nulls_last else nulls + known
    return rows


def numbers(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows with times as numbers, which Python has no dates for."""
    ts = rows.schema.get_field_index("ts")
    return rows.set_column(ts, "ts", rows.column(ts).cast(pa.int64())).to_pylist()


def partitions(rows: list[dict[str, Any]], keys: list[str]) -> list[list[dict[str, Any]]]:
    """Runs of equal keys."""
    found: list[list[dict[str, Any]]] = []
    for row in rows:
        if found and all(found[-1][-1][key] == row[key] for key in keys):
            found[-1].append(row)
        else:
            found.append([row])
    return found


@draws(300)
@given(cases(), st.integers(1, 9), st.sampled_from([1, 500, 1 << 20]), st.sampled_from([1, 3, 1 << 16]))
def test_partitions_are_together_and_sorted(case: Any, size: int, memory: int, block: int) -> None:
    rows, keys, order = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "BLOCK", block)
        sorter = Sorter(keys, order, memory)
        for batch in rows.to_batches(max_chunksize=size):
            sorter.add(batch)
        found = numbers(pa.Table.from_batches(list(sorter.sorted()), rows.schema))
    assert sorted(row["id"] for row in found) == list(range(rows.num_rows))
    parts = partitions(found, keys)
    assert len({tuple(part[0][key] for key in keys) for part in parts}) == len(parts)
    items = [one.column for one in order]
    for part in parts:
        assert [[row[item] for item in items] for row in part] == [
            [row[item] for item in items] for row in expected(part, order)
        ]


@pytest.mark.parametrize("memory", [100, 1 << 20])
def test_what_only_sorts_goes(memory: int) -> None:
    sorter = Sorter(["k"], [OrderColumn("ts"), OrderColumn("x")], memory, ["ts"])
    for ts in range(20, 0, -1):
        sorter.add(pa.RecordBatch.from_pydict({"k": [ts % 2, 7], "ts": [ts, ts], "x": [1, ts]}))
    found = pa.Table.from_batches(list(sorter.sorted()))
    assert found.column_names == ["k", "x"]
    assert found.filter(pc.equal(found["k"], 7))["x"].to_pylist() == list(range(1, 21))


@pytest.mark.parametrize("memory", [20, 1 << 20])
def test_rows_of_nothing_else_stay(memory: int) -> None:
    sorter = Sorter([], [OrderColumn("ts")], memory, ["ts"])
    for ts in range(5):
        sorter.add(pa.RecordBatch.from_pydict({"ts": [ts, -ts]}))
    assert sum(batch.num_rows for batch in sorter.sorted()) == 10


def test_rows_that_tie_stay_as_they_came() -> None:
    rows = pa.table({"k": [2, 1, 2, 1], "ts": [5, 5, 5, 5]})
    order = partition_order(rows, ["k"], [OrderColumn("ts")])
    assert [list(order[:2]), list(order[2:])] in ([[0, 2], [1, 3]], [[1, 3], [0, 2]])


def test_many_keys() -> None:
    """More than 16-bit numbers tell."""
    keys = np.random.default_rng(1).permutation(np.repeat(np.arange(100_000), 2))
    rows = pa.table({"k": keys, "text": keys.astype(str), "ts": np.arange(len(keys))[::-1]})
    for names in (["k"], ["text"], ["k", "text"]):
        found = rows.take(pa.array(partition_order(rows, names, [OrderColumn("ts")])))
        assert np.all(found["k"].to_numpy()[::2] == found["k"].to_numpy()[1::2])
        assert np.all(np.diff(found["ts"].to_numpy())[::2] > 0)


def test_files_are_gone_in_the_end(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    sorter = Sorter(["k"], [OrderColumn("ts")], memory=1000)
    for at in range(100):
        sorter.add(pa.RecordBatch.from_pydict({"k": [at % 7] * 50, "ts": list(range(50))}))
    assert any(tmp_path.iterdir())
    assert sum(batch.num_rows for batch in sorter.sorted()) == 5000
    assert not any(tmp_path.iterdir())
