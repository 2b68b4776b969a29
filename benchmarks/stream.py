"""Clauses over streams on ``local[2]``: events a second, processor time, empty micro-batches, state, latency.

In: files of prices, one a micro-batch: a random walk of each key, a row each millisecond of event time, out of order by up to five seconds. The last
files end every match. Beside each clause, in the same session: the same files under the same trigger into the same sink, which drops all rows, with
no clause (``source``).

* ``vshape``: MATCH_RECOGNIZE (strt down+ up+), 1,000 keys.
* ``seq3``: SEQ(A, B, C) WITHIN 100 seconds, 10,000 keys.
* ``count``, ``totals``: COUNT(*) of SEQ(A, B, C) WITHIN 20 seconds, with and without EMIT CHANGES, 1,000 keys.
* ``q3``: SASE+ Query 3 (a closure that rises above its average, then a fall) under skip till next match WITHIN 20 seconds, 1,000 keys.
* ``window``, ``open``: about a million rows of 100,000 keys are kept, after 16 and 40 micro-batches. SEQ(ANY, ANY) WITHIN 1,000 seconds drops rows by
  age; MATCH_RECOGNIZE (a b* c) drops them when a rare row ends their match.

Out, of the last third of the micro-batches, when the JVM has compiled what runs (medians): events/s; processor time of the process tree (this
process, the JVM, Python workers), and its ratio to that of ``source``; the time of micro-batches without rows, in which the watermark passes what
has come; bytes of state over (rows kept x bytes of a row's values); bytes put into the state over those of the values of a micro-batch; and whether
the stream's rows are those of the same statement over a table, by their number and the sum of their hashes.

``--latency``: 10,000 events a second, a file each 100 ms; from a row's event time, which is the time at which it is written, to the moment at which
foreachBatch has the match that it completes. The watermark has no delay.

    python benchmarks/stream.py [--rows N] [--batches N] [--buckets N] [--only CLAUSE] [--speculate] [--follow] [--quick] [--latency SECONDS]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scan
from stream_clauses import CLAUSES

from rewrites.dialect.sites import find_sites

SCHEMA = "key INT, ts TIMESTAMP, type STRING, price BIGINT"
STEP = 1_000
"""Microseconds of event time from row to row."""
DISORDER = 5_000_000
BEYOND = 1_000_000_000
"""Microseconds to the row that ends the stream: more than any window."""
EMPTY = 5
"""Micro-batches without rows that are measured."""
RATE, PERIOD = 10_000, 0.1
"""Of ``--latency``: events a second, and seconds from file to file."""
WARM = 30.0
"""Seconds of ``--latency`` that do not count."""
WORK = Path(tempfile.gettempdir()) / f"sparkcep-benchmark-stream-{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of steady micro-batches; ``cpu``, ``jvm``: processor seconds, all and the JVM's; ``counts``: the observed metrics of all."""

    ms: float
    cpu: float
    jvm: float
    rows: int
    counts: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """Of the printed line."""
        return f"{self.ms:.0f} ms a micro-batch, {self.rows * 1000 / self.ms:,.0f} events/s, processor time {self.cpu:.2f} s (JVM {self.jvm:.2f})"


def main() -> None:
    """Some lines for each clause."""
    options = _options()
    spark = scan.session("stream")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    if options.speculate:
        spark.conf.set("sparkcep.stream.mode", "speculative")
    if options.buckets:
        spark.conf.set("sparkcep.stream.buckets", str(options.buckets))
    print(f"{options.rows:,} events a micro-batch, {options.batches} of them; {scan.surroundings()}", flush=True)
    try:
        for name in CLAUSES if options.only is None else [options.only]:
            if options.latency:
                _latency(spark, name, options.latency)
            else:
                _throughput(spark, name, options.rows, options.batches, options.follow)
    finally:
        spark.stop()
        shutil.rmtree(WORK, ignore_errors=True)
    print(scan.surroundings())


def _throughput(spark: Any, name: str, rows: int, batches: int, follow: bool) -> None:
    clause, folder = CLAUSES[name], WORK / name
    write_files(folder, rows, batches, clause.keys)
    moving = _moving(spark, folder / "in", "10 seconds", 1)
    source = measured(moving, folder / "source", rows, batches)
    moving.createOrReplaceTempView("moving")
    text = clause.text.format("moving")
    found = checked(spark.sql(by_name(spark, text) if follow else text))
    run = measured(found, folder / "clause", rows, batches)
    ratio = run.cpu / source.cpu
    print(f"\n{name}, source: {source.text}\n{name}, clause: {run.text}, {ratio:.2f} x the source's (at most 4)")
    print(f"  at least {clause.least:,} events/s are wanted")
    middle = run.counts[batches * 3 // 4]
    state = middle["state_bytes"] / max(middle["rows_kept"] * clause.width, 1)
    print(
        f"  turns of all buckets: {statistics.median(one['engine_ms'] for one in run.counts[batches * 2 // 3 : batches]):.0f} ms"
    )
    put = statistics.median(one["put_bytes"] for one in run.counts[batches * 2 // 3 : batches])
    print(
        f"  {put:,.0f} bytes put a micro-batch, {put / (rows * clause.width):.2f} x the values of its rows (at most 2)"
    )
    print(
        f"  {middle['rows_kept']:,} rows kept in {middle['state_bytes']:,} bytes, {state:.2f} x their values (at most 1.3)"
    )
    empty, counts = empty_batches(found, folder, rows * batches, clause.keys)
    print(f"  an empty micro-batch: {statistics.median(empty):.0f} ms, the median of {len(empty)} (at most 400)")
    if not clause.appends or spark.conf.get("sparkcep.stream.mode", "") == "speculative":
        return
    spark.read.schema(SCHEMA).parquet(str(folder / "in")).createOrReplaceTempView("still")
    still = spark.sql(clause.text.format("still"))
    wanted = tuple(still.selectExpr(*_sums(still)).first())
    total = tuple(sum(one[k] or 0 for one in (*run.counts, *counts)) for k in ("rows", "hashes"))
    print(f"  {total[0]:,} rows, {'as' if total == wanted else 'NOT as'} over a table: {wanted[0]:,}", flush=True)


def by_name(spark: Any, text: str) -> str:
    """The statement with its clause as a named pattern, whose changes it follows."""
    (site,) = find_sites(text)
    spark.sql(f"CREATE OR REPLACE PATTERN followed AS ({text[site.body.start : site.body.end]})")
    at = text.index("(", site.keyword.end)
    return f"{text[:at]}followed{text[site.span.end :]}"


def write_files(folder: Path, rows: int, batches: int, keys: int) -> None:
    """``in``: a file a micro-batch."""
    drawn = np.random.default_rng(scan.SEED)
    count = rows * batches
    time_of = np.arange(count) * STEP
    arrival = np.argsort(time_of + drawn.integers(0, DISORDER, count), kind="stable")
    key = drawn.permuted(np.arange(count) % keys)
    steps = drawn.integers(-scan.LARGEST_STEP, scan.LARGEST_STEP + 1, count)
    kinds = np.array(["A", "B", "C", "D"])[drawn.integers(0, 4, count)]
    for i in range(batches):
        part = arrival[i * rows : (i + 1) * rows]
        write(folder / "in" / f"{i:05}.parquet", key[part], time_of[part], kinds[part], steps[part] + 1_000, i)


def write(path: Path, key: Any, time_of: Any, kinds: Any, prices: Any, number: int) -> None:
    """A file that appears whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = {"key": pa.array(key, pa.int32()), "ts": pa.array(time_of, pa.timestamp("us", "UTC"))}
    table = pa.table(names | {"type": pa.array(kinds), "price": pa.array(prices, pa.int64())})
    unfinished = path.with_name(f".{path.name}")
    pq.write_table(table, unfinished)
    dated(unfinished, number)
    unfinished.rename(path)


def dated(path: Path, number: int) -> None:
    """Give the file its place: Spark reads files in the order of their times."""
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _moving(spark: Any, folder: Path, delay: str, files: int) -> Any:
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder))
    return stream.withWatermark("ts", delay)


def _sums(frame: Any) -> tuple[str, str]:
    """SQL of the number of rows and the sum of their hashes."""
    return "COUNT(*) AS rows", f"COALESCE(SUM(XXHASH64({', '.join(frame.columns)}) % 1000000007), 0) AS hashes"


def checked(frame: Any) -> Any:
    """``frame``, whose rows are counted and hashed on their way."""
    from pyspark.sql.functions import expr

    return frame.observe("checked", *map(expr, _sums(frame)))


def measured(frame: Any, folder: Path, rows: int, batches: int) -> Measured:
    """Run ``frame`` over all files there are; the last third of its micro-batches counts."""
    first = batches * 2 // 3
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder))
    query = writer.trigger(availableNow=True).start()
    marks: dict[int, Any] = {}
    while query.isActive:
        if last := query.lastProgress:
            marks.setdefault(last["batchId"], processor_seconds())
        time.sleep(0.02)
    query.awaitTermination()
    done = query.recentProgress
    steady = [one["durationMs"]["triggerExecution"] for one in done if first <= one["batchId"] < batches]
    at = sorted(number for number in marks if first - 1 <= number < batches)
    cpu = (marks[at[-1]] - marks[at[0]]) / (at[-1] - at[0])
    return Measured(statistics.median(steady), *cpu, rows, [_counts(one) for one in done])


def empty_batches(frame: Any, folder: Path, count: int, keys: int) -> tuple[list[float], list[dict[str, Any]]]:
    """Milliseconds of micro-batches without rows, each behind a file with a row a key, which ends its matches; and the metrics of all."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder / "clause"))
    query = writer.trigger(processingTime="0 seconds").start()
    for i in range(EMPTY):
        number = 100_000 + i
        at = np.arange(keys) * STEP + count * STEP + (i + 1) * BEYOND
        write(folder / "in" / f"{number}.parquet", np.arange(keys), at, ["Z"] * keys, [None] * keys, number)
        query.processAllAvailable()
    done = query.recentProgress
    query.stop()
    empty = [
        one["durationMs"]["triggerExecution"]
        for one in done
        if not one["numInputRows"] and "addBatch" in one["durationMs"]
    ]
    return empty, [_counts(one) for one in done]


def _counts(progress: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"rows": 0, "hashes": 0}
    for row in progress["observedMetrics"].values():
        found |= row.asDict()
    return found


def processor_seconds() -> Any:
    """[2]: of this process and all below it, those that have ended included; of the JVM."""
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, _, text = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue
            fields = text.split()
            parents[int(entry.name)] = int(fields[1])
            seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            used[int(entry.name)] = np.array([seconds, seconds * name.endswith("(java")])
    mine = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return np.sum([used[process] for process in mine if process in used], axis=0)


def _latency(spark: Any, name: str, seconds: float) -> None:
    clause, folder = CLAUSES[name], WORK / f"{name}-latency"
    (folder / "in").mkdir(parents=True)
    _moving(spark, folder / "in", "0 seconds", 1_000).createOrReplaceTempView("moving")
    found, took = spark.sql(clause.text.format("moving")), []

    def emit(batch: Any, number: int) -> None:
        ended = batch.selectExpr("UNIX_MICROS(ended) AS ended").toArrow().column(0).to_numpy()
        took.append((time.time(), ended))

    began = time.time()
    writer = threading.Thread(target=_write_for, args=(folder / "in", seconds, clause.keys))
    query = found.writeStream.foreachBatch(emit).option("checkpointLocation", str(folder / "check")).start()
    writer.start()
    writer.join()
    query.stop()
    steady = [now - ended / 1e6 for now, ended in took if now > began + WARM]
    latency = np.concatenate(steady) if steady else np.empty(0)
    p50, p99 = np.percentile(latency, [50, 99])
    ms = statistics.median(one["durationMs"]["triggerExecution"] for one in query.recentProgress[-20:])
    print(
        f"\n{name}: {len(latency):,} matches at {RATE:,} events/s: p50 {p50:.2f} s, p99 {p99:.2f} s; a micro-batch {ms:.0f} ms"
    )


def _write_for(folder: Path, seconds: float, keys: int) -> None:
    drawn = np.random.default_rng(scan.SEED)
    began, number, each = time.time(), 0, int(RATE * PERIOD)
    while (now := time.time()) < began + seconds:
        at = int(now * 1e6) - np.arange(each)[::-1] * int(PERIOD * 1e6 / each)
        kinds = np.array(["A", "B", "C", "D"])[drawn.integers(0, 4, each)]
        write(
            folder / f"{number:06}.parquet",
            drawn.integers(0, keys, each),
            at,
            kinds,
            drawn.integers(0, 1000, each),
            number,
        )
        number += 1
        time.sleep(max(began + number * PERIOD - time.time(), 0))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=120)
    parser.add_argument("--buckets", type=int)
    parser.add_argument("--only", choices=list(CLAUSES))
    parser.add_argument("--speculate", action="store_true", help="in the mode speculative")
    parser.add_argument("--follow", action="store_true", help="as named patterns, whose changes would reach the stream")
    parser.add_argument("--quick", action="store_true", help="six micro-batches of 20,000 events")
    parser.add_argument("--latency", type=float, metavar="SECONDS")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.batches = 20_000, 6
    return options


if __name__ == "__main__":
    main()
