"""What a stream pays for keeping rows: a turn searches those that are kept again. Engine only, one core, processor time.

In: 1,000 keys, each in a fall of prices, so that ``strt down+ up+`` keeps every row of it; then new rows of all keys, in order of time, of which
one key in ten rises and ends its match. For the event pattern ``SEQ(A, B, C)``: in each key an A, then Bs; one key in ten gets a C.

Out, by kept : new: nanoseconds a row of the turn (kept and new), of which the engine alone; the same rows through the batch engine, sorted and in one
go; the ratio of turn and batch; and what a new row costs.

    python benchmarks/stream_rework.py [--rows N] [--repetitions N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.engines import engine, stream
from sparkcep.engines.turn import Answer, Turn
from sparkcep.pattern.event import Element, Seq
from sparkcep.pattern.row import Concat, Quantified, Variable
from sparkcep.spec.event import EventPatternSpec, FirstEvent, LastEvent, WithinTime
from sparkcep.spec.event import Output as EventOutput
from sparkcep.spec.expression import Call, Operator
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.row import Aggregate, ColumnAt, Define, Navigation, Output, RowPatternSpec
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.fold import Bucket, step

KEYS = 1_000
RATIOS = (0, 1, 3, 10, 30, 100)
FOREVER = (1 << 62) - 1

NAMES = ("strt", "down", "up")
PATTERN = Concat((Variable("strt"), Quantified(Variable("down"), 1, None), Quantified(Variable("up"), 1, None)))
NOW = ColumnAt("price", Navigation(running=True))
OUTPUTS = (
    Output("first", ColumnAt("price", Navigation(("strt",), last=False))),
    Output("lowest", ColumnAt("price", Navigation(("down",)))),
    Output("last", ColumnAt("price", Navigation(("up",)))),
    Output("length", Aggregate("count")),
)


def main() -> None:
    """A table for each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    for name, work in WORK.items():
        print(f"\n{name}: ns a row, {options.rows:,} rows kept and new\n")
        print("| kept : new | turn | engine | batch | turn / batch | turn, a new row | of a row kept |")
        print("|---|---|---|---|---|---|---|")
        lines = [measured(work, ratio, options.rows, options.repetitions) for ratio in RATIOS]
        for line in lines:
            print(line.text(lines[0]))


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds of processor time for ``rows`` rows, ``new`` of them new."""

    ratio: int
    rows: int
    new: int
    turn: float
    engine: float
    batch: float

    def text(self, nothing_kept: Line) -> str:
        """A line of the table; what a kept row costs follows from what a new one does where none is kept."""
        kept = self.rows - self.new
        a_new = nothing_kept.turn / nothing_kept.rows
        a_kept = f"{(self.turn - self.new * a_new) / kept * 1e9:.0f}" if kept else ""
        each = (f"{seconds / self.rows * 1e9:.0f}" for seconds in (self.turn, self.engine, self.batch))
        ratio = f"{self.turn / self.batch:.2f}"
        return f"| {self.ratio} : 1 | {' | '.join(each)} | {ratio} | {self.turn / self.new * 1e9:.0f} | {a_kept} |"


@dataclass(frozen=True, slots=True)
class Work:
    """A clause; its rows in order of time and as the batch engine reads them (by rows a key, and new ones of them); the matches of the turn."""

    spec: StreamSpec
    rows: Callable[[int, int], tuple[pa.Table, pa.Table]]
    matches: Callable[[int], int]


def measured(work: Work, ratio: int, rows: int, repetitions: int) -> Line:
    """One turn over ``ratio`` times as many kept rows as new ones, and the batch engine over all of them."""
    a_key = max(rows // KEYS, 1)
    new = max(a_key // (1 + ratio), 1)
    spec = work.spec
    table, whole = work.rows(a_key, new)
    cut = KEYS * (a_key - new)
    decide = stream.compile(spec)
    kept = step(spec, decide, Bucket(), [table.slice(0, cut)], cut).bucket if ratio else Bucket()
    assert (0 if kept.rows is None else kept.rows.num_rows) == cut
    asked = Timed(decide)
    turn, done = least(lambda: step(spec, asked, kept, [table.slice(cut)], FOREVER), repetitions)
    batch, found = least(lambda: list(engine.compile(spec.of).run(whole)), repetitions)
    assert count(done.found) == work.matches(a_key)
    assert count(found) >= count(done.found)
    return Line(ratio, KEYS * a_key, KEYS * new, turn, asked.seconds, batch)


class Timed:
    """An engine that says how long it took at least."""

    def __init__(self, decide: Callable[[Turn], Answer]) -> None:
        self.decide = decide
        self.seconds = float("inf")

    def __call__(self, turn: Turn) -> Answer:
        seconds, answer = least(lambda: self.decide(turn), 1)
        self.seconds = min(self.seconds, seconds)
        return answer


def least(work: Callable[[], Any], repetitions: int) -> tuple[float, Any]:
    """The least processor time of some runs, and the last one's result."""
    times = []
    for _ in range(repetitions):
        began = time.process_time()
        found = work()
        times.append(time.process_time() - began)
    return min(times), found


def count(tables: Any) -> int:
    """How many output rows there are."""
    return sum(table.num_rows for table in tables)


def prices(a_key: int, new: int) -> tuple[pa.Table, pa.Table]:
    """The rows in order of time, and as the batch engine reads them. In one key of ten the last third of the new rows rises, then one falls."""
    at = np.tile(np.arange(a_key), KEYS)
    key = np.repeat(np.arange(KEYS), a_key)
    turning = np.where(key % 10 == 0, a_key - max(new // 3, 2), a_key)
    up = (at >= turning) & (at < a_key - 1)
    price = 1e6 - at + 2.0 * np.where(up, at - turning + 1, 0)
    down = (at > 0) & ~up
    columns = {
        "mask": (at == 0) | 2 | (down << 2) | (up << 3),
        "all": (at == 0) | 14,
        "price": price,
        "key": key,
        "ts": at * KEYS + key,
        "hash": np.arange(len(at)),
    }
    whole = pa.table({name: pa.array(values) for name, values in columns.items()})
    return whole.take(pa.array(np.argsort(columns["ts"], kind="stable"))), whole


def _spec(mask: str, *defines: Define) -> StreamSpec:
    of = RowPatternSpec(NAMES, PATTERN, (mask,), OUTPUTS, "", defines=defines)
    return StreamSpec(of, ("key",), (OrderColumn("ts"),), "ts", "hash", "")


def _than_before(variable: str, operator: Operator) -> Define:
    """PREV, as a stream has it: a condition that looks at another row."""
    return Define(variable, Call(operator, (NOW, ColumnAt("price", Navigation(running=True, physical=-1)))))


def events(a_key: int, new: int) -> tuple[pa.Table, pa.Table]:
    """The rows in order of time, and as the batch engine reads them. A key begins with an A and goes on with Bs; one in ten ends with a C."""
    at = np.tile(np.arange(a_key), KEYS)
    key = np.repeat(np.arange(KEYS), a_key)
    last = (at == a_key - 1) & (key % 10 == 0)
    ts = at * KEYS + key
    columns = {
        "mask": (at == 0) | np.where(at == 0, 2, np.where(last, 8, 4)),
        "key": key,
        "ts": ts,
        "deadline": ts + len(ts),
        "hash": np.arange(len(at)),
    }
    whole = pa.table({name: pa.array(values) for name, values in columns.items()})
    ranked = whole.append_column("rank", pa.array(at + 1))
    return whole.take(pa.array(np.argsort(ts, kind="stable"))), ranked


SEQ3 = EventPatternSpec(
    variables=("a", "b", "c"),
    pattern=Seq((Element("a", ("A",)), Element("b", ("B",)), Element("c", ("C",)))),
    masks=("mask",),
    rank="rank",
    outputs=(
        EventOutput("key", FirstEvent("key")),
        EventOutput("first", FirstEvent("ts")),
        EventOutput("last", LastEvent("ts")),
    ),
    schema="",
    within=WithinTime("ts", "deadline"),
)


def _fall(spec: StreamSpec) -> Work:
    return Work(spec, prices, lambda _: KEYS // 10)


WORK = {
    "row_pattern": _fall(_spec("mask")),
    "row_match": _fall(_spec("all", _than_before("down", "lt"), _than_before("up", "gt"))),
    "event_pattern": Work(
        StreamSpec(SEQ3, ("key",), (OrderColumn("ts"),), "ts", "hash", "", "deadline"),
        events,
        lambda a_key: KEYS // 10 * (a_key - 2),
    ),
}

if __name__ == "__main__":
    main()
