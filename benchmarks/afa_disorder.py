"""MATCH AUTOMATON over a disordered stream, engine only, one core: throughput, output and latency against disorder and sigma (figures 10 to 13).

In: Q1 and Q2 of the AFA paper (see ``afa_figures``) over ticks of which a share arrives up to 1,000 events late, in batches; the watermark follows
the greatest time by as much. A turn is what a bucket of a stream does with its rows: sort, search, emit, take back.

Out, for each share and each sigma (events beyond the watermark that count at once; 0: conservative, nothing is taken back; all: whatever has come),
and with sequence numbers (AFA+O: conservative, but no event waits that none can precede; where the events are not revised):

* events/s in the turns' processor time, the best of ``--runs``, and its ratio to the same stream in order and conservative;
* rows that are emitted, those taken back included, for each match that stands;
* latency: events that arrive from the last one of a match to the end of the turn that emits it, the mean over all emitted matches;
* the most rows kept.

Behind that the same at 10 % late, of a stream of changes: a share of the events comes first as another one, which is taken back up to 1,000 events
later.

At 10 % and with batches of 1,000, Q1 should reach 400,000 events/s and Q2 700,000. What stands in the end is compared with the answer over a table.

    python benchmarks/afa_disorder.py [--events N] [--batch N] [--runs N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from afa_figures import Case, cases, spec, stream, table

from sparkcep.engines.automaton.engine import compile
from sparkcep.engines.stream import compile as compile_stream
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import CHANGE, DELETED, Revisions, SequenceNumber, StreamSpec
from sparkcep.streaming.fold import Bucket
from sparkcep.streaming.speculation import step

LATE = 1_000
"""Events by which one may come late."""
SHARES = (0.0, 0.1, 0.3, 0.5)
REVISED = (0.0, 0.1, 0.3)
SIGMAS = (0, 250, 500, None)
NUMBERED = "numbers"
END = 1 << 60


@dataclass(frozen=True)
class Measured:
    """``emitted``: rows, those taken back included; ``stand``: matches in the end; ``latency``: the mean, in events."""

    seconds: float
    emitted: int
    stand: int
    latency: float
    kept: int


def batches(case: Case, size: int, share: float, length: int) -> tuple[list[pa.Table], np.ndarray]:
    """The events as they arrive, and the place of each in the order of arrival [events]."""
    drawn = np.random.default_rng(3)
    late = np.where(drawn.random(size) < share, drawn.integers(1, LATE, size), 0)
    arrival = np.argsort(np.arange(size) + late, kind="stable")
    rows = table(case, stream(case, size))
    mask = pa.array(rows["mask"].to_numpy() & ~1)
    rows = rows.set_column(rows.schema.get_field_index("mask"), "mask", mask).take(pa.array(arrival)).combine_chunks()
    place = np.empty(size, np.int64)
    place[arrival] = np.arange(size)
    return [rows.slice(begin, length) for begin in range(0, size, length)], place


def changes(case: Case, size: int, share: float, length: int) -> tuple[list[pa.Table], np.ndarray]:
    """The events at 10 % late as changes: a ``share`` of them comes with what the next event has, and is taken back. The place of each, and of what
    it was [2 * events]."""
    drawn = np.random.default_rng(4)
    (rows,), _ = batches(case, size, 0.1, size)
    wrong = np.flatnonzero(drawn.random(size) < share)
    other = rows.take(pa.array((wrong + 1) % size))
    for name in ("ts", "deadline"):
        other = other.set_column(other.schema.get_field_index(name), name, rows[name].take(pa.array(wrong)))
    identities = pa.array(rows["row"].to_numpy()[wrong] + size)
    other = other.set_column(other.schema.get_field_index("row"), "row", identities)
    signs = np.concatenate([np.ones(size + len(wrong), np.int32), np.full(len(wrong), -1, np.int32)])
    every = pa.concat_tables([rows, other, other]).append_column(CHANGE, pa.array(signs))
    time = rows["ts"].to_numpy()
    latest = np.maximum(np.searchsorted(np.maximum.accumulate(time), time[wrong] + LATE) - 1, wrong)
    comes = np.concatenate([np.arange(size), wrong - 0.5, drawn.integers(wrong, latest + 1) + 0.5])
    order = np.argsort(comes, kind="stable")
    every = every.take(pa.array(order)).combine_chunks()
    where = np.full(2 * size, size, np.int64)
    added = every[CHANGE].to_numpy() > 0
    where[every["row"].to_numpy()[added]] = np.flatnonzero(added)
    return [every.slice(begin, length) for begin in range(0, every.num_rows, length)], where


def measured(case: Case, parts: list[pa.Table], place: np.ndarray, sigma: int | str | None) -> Measured:
    """One pass over the stream."""
    clause = StreamSpec(spec(case), (), (OrderColumn("ts"),), "ts", "row", "{}", "deadline")
    if isinstance(sigma, str):  # the times are numbers one by one
        clause = replace(clause, sequence=SequenceNumber("ts", (), 0))
    else:
        clause = replace(clause, sigma=sigma)
    if CHANGE in parts[0].column_names:
        clause = replace(clause, revisions=Revisions())
    decide, bucket, before = compile_stream(clause), Bucket(), None
    emitted, signs, waited, kept, seen, newest = 0, 0, 0.0, 0, 0, 0
    seconds = 0.0
    for part in [*parts, None]:
        new, until = ([], END) if part is None else ([part], 0)
        if part is not None:
            seen += part.num_rows
            newest = max(newest, pc.max(part["ts"]).as_py())
            until = newest - LATE
        began = process_time()
        turn = step(clause, decide, bucket, new, until, before=before)
        seconds += process_time() - began
        bucket, before = turn.bucket, turn.foreseen
        kept = max(kept, bucket.rows.num_rows if bucket.rows is not None else 0)
        for found in turn.found:
            gone = int(pc.sum(found[DELETED]).as_py() or 0) if DELETED in found.column_names else 0
            emitted, signs = emitted + found.num_rows, signs + found.num_rows - 2 * gone
            waited += float((seen - 1 - place[found["last"].to_numpy()]).sum())
    return Measured(seconds, emitted, signs, waited / max(emitted, 1), kept)


def lines(case: Case, size: int, length: int, runs: int) -> Iterator[tuple[str, str, float, Measured]]:
    """The share, sigma, events/s and the rest."""
    stand = sum(part.num_rows for part in compile(spec(case)).run(table(case, stream(case, size))))
    streams = {f"{share:.0%}": batches(case, size, share, length) for share in SHARES}
    streams |= {f"10%, {share:.0%} revised": changes(case, size, share, length) for share in REVISED}
    for name, (parts, place) in streams.items():
        for sigma in (*SIGMAS, NUMBERED) if "revised" not in name else SIGMAS:
            found = [measured(case, parts, place, sigma) for _ in range(runs)]
            assert found[0].stand == stand, f"{found[0].stand} matches stand, {stand} of a table"
            best = min(found, key=lambda one: one.seconds)
            rows = sum(part.num_rows for part in parts)
            yield name, "all" if sigma is None else str(sigma), rows / best.seconds, best


def main() -> None:
    """The tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for case in cases()["queries"][:2]:
        print(
            f"\n| {case.name}: late | sigma | events/s | ratio | rows / match | latency | rows kept |\n|---|---|---|---|---|---|---|"
        )
        first = 0.0
        for share, sigma, rate, one in lines(case, options.events, options.batch, options.runs):
            first = first or rate
            each = one.emitted / max(one.stand, 1)
            print(
                f"| {share} | {sigma} | {rate:,.0f} | {rate / first:.2f} | {each:.2f} | {one.latency:,.0f} | {one.kept:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
