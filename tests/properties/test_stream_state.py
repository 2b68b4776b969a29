"""What a bucket keeps is the same behind Spark's state as in memory: in segments or not, after aborted turns, with and without a local copy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sparkcep.engines.turn import Answer, Turn
from sparkcep.errors import CepDataError
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming import copies, segments, state
from sparkcep.streaming.fold import Bucket, step
from sparkcep.streaming.marks import CONTEXT, COPY, NOWHERE, STORED, marked
from sparkcep.streaming.variables import variables
from tests.draws import draws
from tests.properties.arrivals import EVER
from tests.row_streams import KEYS

FIRST = "mask"


class Clause:
    """What a StreamSpec asks of its clause."""

    masks = (FIRST,)
    text = "a pattern"


SPEC = StreamSpec(
    Clause(), ("k",), (OrderColumn("ts"), OrderColumn("x", descending=True)), "ts", "identity", "", sigma=None
)  # type: ignore[arg-type]


@dataclass
class Store:
    """Spark's state of one bucket: as it was committed, and as the running turn has changed it."""

    committed: dict[Any, Any] = field(default_factory=dict)
    now: dict[Any, Any] = field(default_factory=dict)
    gets: int = 0

    def commit(self) -> None:
        self.committed = dict(self.now)

    def abort(self) -> None:
        self.now = dict(self.committed)

    def getValueState(self, name: str, schema: str) -> Value:  # noqa: N802
        return Value(self, name)

    def getMapState(self, name: str, key: str, schema: str) -> Entries:  # noqa: N802
        return Entries(self, name)


@dataclass
class Value:
    store: Store
    name: str

    def exists(self) -> bool:
        return self.name in self.store.now

    def get(self) -> Any:
        return self.store.now[self.name]

    def update(self, value: Any) -> None:
        self.store.now[self.name] = value

    def clear(self) -> None:
        self.store.now.pop(self.name, None)


@dataclass
class Entries:
    store: Store
    name: str

    def getValue(self, key: Any) -> Any:  # noqa: N802
        self.store.gets += 1
        return self.store.now[self.name, key]

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.store.now[self.name, key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.store.now[self.name, key]

    def clear(self) -> None:
        for key in [key for key in self.store.now if isinstance(key, tuple)]:
            del self.store.now[key]


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Segments of a few rows; a folder for copies."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(segments, "SMALLEST", 200)
        patch.setattr(segments, "LARGEST", 400)
        patch.setattr(state, "LARGE", 600)
        patch.setattr(state, "SMALL", 150)
        patch.setenv("SPARK_LOCAL_DIRS", folder)
        yield


def keeps(share: int, seen: list[Any]) -> Callable[[Turn], Answer]:
    """An engine that keeps about ``share`` rows of ten, whichever; what it is asked goes to ``seen``."""

    def decide(turn: Turn) -> Answer:
        table = turn.rows
        starts = np.append(np.flatnonzero(table[FIRST].to_numpy() & 1), table.num_rows)
        rows = table.drop_columns([FIRST]).to_pylist()
        sizes = np.diff(starts)
        drawn = [(row["identity"] * 31 + turn.until * 7) % 97 for row in rows]
        forward = [(row["ts"] + turn.until) % (size + 1) for row, size in _firsts(rows, starts)]
        begin = np.maximum(turn.begin, starts[:-1] + np.array(forward))
        assert turn.covered is not None
        covered = np.minimum(np.maximum(turn.covered, starts[:-1] + np.array(forward) // 2), starts[1:])
        parts = (
            (rows[low]["k"], rows[low : low + size], int(start - low), int(past - low), int(number))
            for low, size, start, past, number in zip(
                starts[:-1], sizes, turn.begin, turn.covered, turn.numbers, strict=True
            )
        )
        seen.append(sorted(parts, key=lambda part: str(part[0])))
        keep = np.array([value % 10 < share for value in drawn])
        return Answer((), keep, begin, turn.numbers, None, covered)

    return decide


def _firsts(rows: list[Any], starts: Any) -> list[tuple[Any, int]]:
    return [(rows[low], int(high - low)) for low, high in zip(starts[:-1], starts[1:], strict=True)]


ROW = st.tuples(st.sampled_from(KEYS), st.integers(0, 12), st.integers(0, 2), st.integers(0, 3))
TURNS = st.lists(
    st.tuples(st.lists(ROW, max_size=12), st.integers(0, 6), st.sampled_from(["commit", "commit", "abort", "lost"])),
    min_size=1,
    max_size=12,
)


def table(rows: list[tuple[int | None, int, int, int]], since: int) -> pa.Table:
    """Rows behind ``since``, many of them equal."""
    k, ts, x, identity = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    columns: dict[str, Any] = {"k": k, "ts": [since + at for at in ts], "x": x, "identity": identity}
    kinds = pa.schema([(name, pa.int64()) for name in (*columns, FIRST)])
    return pa.table({**columns, FIRST: [2] * len(rows)}, schema=kinds)


@draws(100)
@given(TURNS, st.integers(3, 10))
def test_state_keeps_what_memory_keeps(turns: list[Any], share: int) -> None:
    """``abort``: before the turn another one has been tried, not committed; ``lost``: the copies are gone."""
    store, memory, until = Store(), Bucket(), 0
    asked: list[Any] = []
    stored: list[Any] = []
    for rows, forward, how in turns:
        since, until = until, until + forward
        new = [table(rows, since)] if rows else []
        if how == "abort":
            aborted = _turn(store, [table([(1, 0, 0, 9), *rows], since + 1)], until + 3, keeps(share, []))
            store.abort()
            assert state.BucketState(variables(store), "clause", SPEC).read().digest != aborted.digest
        elif how == "lost":
            for path in copies.folder().glob("*"):
                path.unlink()
        memory = step(SPEC, keeps(share, asked), memory, new, until).bucket
        written = _turn(store, new, until, keeps(share, stored))
        store.commit()
        assert state.BucketState(variables(store), "clause", SPEC).read().digest == written.digest
        assert stored[-1:] == asked[-1:]
        assert len(stored) == len(asked)
    found = segments.layout(store.now["segmented"][2]) if "segmented" in store.now else segments.Layout()
    event(f"segments {bool(found.segments)}, some removed {len(found.segments) < found.following}")
    _turn(store, [], EVER, keeps(0, stored))
    step(SPEC, keeps(0, asked), memory, [], EVER)
    assert stored[-1:] == asked[-1:]
    assert not [key for key in store.now if key != "bucket"]


def _turn(store: Store, new: list[pa.Table], until: int, decide: Callable[[Turn], Answer]) -> state.Written:
    of_bucket = state.BucketState(variables(store), "clause", SPEC)
    saved = of_bucket.read()
    return of_bucket.write(saved, step(SPEC, decide, saved.bucket, new, until).bucket, state.NO_TIMER)


@pytest.mark.parametrize("keep", [1.0, 0.95, 0.5, 0.0])
def test_how_much_is_written(monkeypatch: pytest.MonkeyPatch, keep: float) -> None:
    """Rows are written at most twice, whichever go: those that are too old, and a share of the others in every turn."""
    monkeypatch.setattr(segments, "SMALLEST", 4_000)
    monkeypatch.setattr(segments, "LARGEST", 1 << 24)
    drawn, each, window, turns = np.random.default_rng(3), 500, 10, 60
    found, rows, put, size = segments.Layout(), None, 0, 0
    for turn in range(turns):
        columns = {name: pa.array(drawn.integers(0, 1 << 40, each)) for name in ("k", "ts", "x", "identity", FIRST)}
        new = marked(pa.table(columns | {"turn": pa.array(np.full(each, turn))}))
        rows = new if rows is None else pa.concat_tables([rows, new])
        stays = (rows["turn"].to_numpy() > turn - window) & (drawn.random(rows.num_rows) < keep)
        stays[-each:] = True
        done = segments.change(found, rows.filter(pa.array(stays)))
        found, rows, size = done.layout, done.rows, done.size
        put += sum(len(part or b"") for number, entry in done.put.items() if number >= 0 for part in entry)
    one = 6 * 8 * each
    assert put <= 2.2 * one * turns
    if keep == 1:
        assert put <= 1.2 * one * turns
    assert rows is not None
    assert size <= 2 * rows.num_rows * 6 * 8 + 10_000


def test_a_copy_is_read_without_the_state() -> None:
    store = Store()
    rows = table([(1, at % 12, 0, at) for at in range(50)], 0)
    _turn(store, [rows], 5, keeps(10, []))
    before = state.BucketState(variables(store), "clause", SPEC).read()
    assert store.gets == 0
    assert before.layout.segments
    copies.remove(before.name or "")
    after = state.BucketState(variables(store), "clause", SPEC).read()
    assert store.gets == len(before.layout.segments) + 1
    assert before.bucket.rows is not None
    assert after.bucket.rows is not None
    assert sorted(map(str, after.bucket.rows.to_pylist())) == sorted(map(str, before.bucket.rows.to_pylist()))


def test_the_state_without_copies_where_none_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/dev/null")
    store = Store()
    for turn in range(3):
        _turn(store, [table([(1, at, 0, at) for at in range(13)], turn)], turn, keeps(10, []))
    kept = state.BucketState(variables(store), "clause", SPEC).read().bucket.rows
    assert kept is not None
    assert kept.num_rows == 39
    assert {CONTEXT, COPY, STORED} < set(kept.column_names)
    assert (kept[STORED].to_numpy() != NOWHERE).any()


def test_state_of_another_version_is_refused() -> None:
    store = Store()
    store.now["bucket"] = (1, "clause", "a pattern", 5, -1, None, None)
    with pytest.raises(CepDataError, match="state of version 1, and this sparkcep reads version 5") as raised:
        state.BucketState(variables(store), "clause", SPEC).read()
    assert raised.value.code == "CEP_DATA_STREAM_CHECKPOINT"


def test_the_busiest_key_of_a_turn() -> None:
    """Of the rows that have become final: not of those that were kept, nor of those that are not final yet."""
    asked = keeps(10, [])
    first = step(SPEC, asked, Bucket(), [table([(1, 0, 0, 0)] * 5 + [(2, 1, 0, 0)], 0)], 2)
    assert first.busiest is not None
    assert (first.busiest.keys.to_pylist(), first.busiest.rows, first.busiest.of) == ([{"k": 1}], 5, 6)
    rows = [(2, 2, 0, 0), (2, 2, 0, 1), (None, 2, 0, 0), *[(1, 9, 0, 0)] * 4]
    second = step(SPEC, asked, first.bucket, [table(rows, 0)], 5)
    assert second.busiest is not None
    assert (second.busiest.keys.to_pylist(), second.busiest.rows, second.busiest.of) == ([{"k": 2}], 2, 3)
    assert step(SPEC, asked, second.bucket, [], 6).busiest is None
