"""A stream that runs for long must not grow: state, memory and throughput, over minutes, are flat to 10 %.

In: a file each second with ``--rate`` events. Keys come and go: each is alive for 20 seconds; one key has 5 % of all events; 1 % of the rows are late
(two minutes behind a watermark of five seconds) and dropped. The clause is SEQ(A, B) WITHIN 30 SECONDS. The files that are read are deleted.

Out: every few seconds a line with the bytes of state, the resident memory of the JVM and the own one of all Python workers, and events/s;
at the end, of what came after two windows, the medians of each third, their greatest distance from the median of all, and the verdict; and
``stream_soak.png`` of all four. The JVM's heap is resident from the start, so that only what is beside it can grow.

    python benchmarks/stream_soak.py [--minutes N] [--rate EVENTS_A_SECOND] [--picture FILE]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "key LONG, ts TIMESTAMP, type STRING, price BIGINT"
QUERY = """SELECT m.key, a.ts AS began, b.ts AS ended FROM soaked MATCH PATTERN (SEQ(A a, B b)
PARTITION BY key ORDER BY ts WHERE b.price > a.price + 900 WITHIN INTERVAL {} SECONDS) AS m"""
WINDOW = 30
"""Seconds of WITHIN."""
LIFE = 20
"""Seconds of a key."""
HOT, LATE = 0.05, 0.01
BEHIND = 120
"""Seconds of late rows."""
FLAT = 0.1
NAMES = ("state bytes", "JVM resident MB", "Python workers MB", "events/s")
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment; the last four are NAMES."""

    seconds: float
    state: float
    jvm: float
    workers: float
    rate: float


def main() -> None:
    """Soak, print, draw. Exits with 1 if something grows."""
    import scan

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--picture", type=Path, default=Path("stream_soak.png"))
    options = parser.parse_args()
    heap = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-Xms1g -XX:+AlwaysPreTouch"}
    spark = scan.session("stream_soak", **heap)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    folder = Path(tempfile.mkdtemp(prefix="sparkcep-soak-"))
    print(f"{options.rate:,} events/s for {options.minutes:g} minutes; {scan.surroundings()}", flush=True)
    try:
        samples = soak(spark, folder, options.minutes * 60, options.rate, every=5)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    draw(samples, options.picture)
    flat = verdict(samples, 2 * WINDOW)
    print(f"{'all flat' if flat else 'NOT FLAT'}; {scan.surroundings()}")
    raise SystemExit(not flat)


def soak(
    spark: Any, folder: Path, seconds: float, rate: int, every: float, window: int = WINDOW, period: float = 1.0
) -> list[Sample]:
    """Run the stream for so long from its second micro-batch on; a Sample ``every`` so many seconds. Raises what ends the query."""
    (folder / "in").mkdir(parents=True)
    reader = spark.readStream.schema(SCHEMA).option("cleanSource", "delete").option("maxFilesPerTrigger", 20)
    reader.parquet(str(folder / "in")).withWatermark("ts", "5 seconds").createOrReplaceTempView("soaked")
    found = spark.sql(QUERY.format(window))
    query = found.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint")).start()
    samples: list[Sample] = []
    try:
        with writing(folder / "in", rate, period):
            done = Progress(query)
            while sum(one["numInputRows"] > 0 for one in query.recentProgress) < 2 and not query.awaitTermination(0.1):
                pass
            began = time.time()
            while time.time() - began < seconds and not query.awaitTermination(every):
                samples.append(done.sample(time.time() - began))
                print(line(samples[-1]), flush=True)
    finally:
        query.stop()
        spark.catalog.dropTempView("soaked")
    return samples


@contextmanager
def writing(folder: Path, rate: int, period: float) -> Iterator[None]:
    """Write a file each ``period`` seconds meanwhile."""
    stop = threading.Event()

    def work() -> None:
        drawn, number, began = np.random.default_rng(5), 0, time.time()
        while not stop.wait(max(began + number * period - time.time(), 0)):
            write(folder, number, events(drawn, time.time(), int(rate * period), period))
            number += 1

    writer = threading.Thread(target=work, daemon=True)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def events(drawn: Any, now: float, count: int, period: float) -> pa.Table:
    """The events of the last ``period`` seconds."""
    at = now - np.sort(drawn.random(count))[::-1] * period
    key = (at // LIFE).astype(np.int64) * 1_000 + drawn.integers(1, 1_000, count)
    key = np.where(drawn.random(count) < HOT, 0, key)
    at = np.where(drawn.random(count) < LATE, at - BEHIND, at)
    return pa.table(
        {
            "key": key,
            "ts": pa.array((at * 1e6).astype(np.int64), pa.timestamp("us", "UTC")),
            "type": np.array(list("ABCD"))[drawn.integers(0, 4, count)],
            "price": drawn.integers(0, 1_000, count),
        }
    )


def write(folder: Path, number: int, table: pa.Table) -> None:
    """A file that appears whole."""
    unfinished = folder / f".{number:07}.parquet"
    pq.write_table(table, unfinished)
    unfinished.rename(folder / f"{number:07}.parquet")


class Progress:
    """What a query has done between two looks at it."""

    def __init__(self, query: Any) -> None:
        self._query, self._number, self._at = query, -1, time.time()

    def sample(self, seconds: float) -> Sample:
        """Now."""
        new = [one for one in self._query.recentProgress if one["batchId"] > self._number]
        took, self._at = time.time() - self._at, time.time()
        self._number = max([self._number, *(one["batchId"] for one in new)])
        states = [counts["state_bytes"] or 0 for one in new for counts in one["observedMetrics"].values()]
        rows = sum(one["numInputRows"] for one in new)
        return Sample(seconds, statistics.median(states) if states else 0, *memory(), rows / took)


def memory() -> tuple[float, float]:
    """Megabytes below this process: of the JVM (resident), of Python workers (their own: what they share counts once, files that they map,
    libraries above all, do not: others on the machine share these)."""
    names = family(os.getpid())
    jvm = sum(kilobytes(one, "Rss:") for one, name in names.items() if name == "java")
    workers = (one for one, name in names.items() if name.startswith("python"))
    return jvm / 1024, sum(kilobytes(one, "Pss_Anon:") for one in workers) / 1024


def family(root: int) -> dict[int, str]:
    """The processes below one, by their ids, and what they are called."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                name, _, text = (entry / "stat").read_text().rpartition(")")
                parents[int(entry.name)], names[int(entry.name)] = int(text.split()[1]), name.partition("(")[2]
    mine = {root}
    while more := {process for process, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return {one: names[one] for one in mine - {root} if one in names}


def kilobytes(process: int, name: str) -> int:
    """A line of the process's ``smaps_rollup``; 0 if it is gone."""
    with suppress(OSError):
        for text in (Path("/proc") / str(process) / "smaps_rollup").read_text().splitlines():
            if text.startswith(name):
                return int(text.split()[1])
    return 0


def line(sample: Sample) -> str:
    """Of a sample, for the terminal."""
    return (
        f"{sample.seconds:6.0f} s  {sample.state:12,.0f} bytes of state  JVM {sample.jvm:6,.0f} MB"
        f"  Python {sample.workers:6,.0f} MB  {sample.rate:8,.0f} events/s"
    )


def verdict(samples: list[Sample], since: float) -> bool:
    """Print a table of medians; whether all are flat."""
    steady = [astuple(one)[1:] for one in samples if one.seconds >= since]
    thirds = np.array_split(np.array(steady), 3)
    print("\n| | first third | second | last | apart | flat |\n|---|---|---|---|---|---|")
    flat = []
    for i, name in enumerate(NAMES):
        medians = [float(np.median(third[:, i])) for third in thirds]
        middle = statistics.median(one[i] for one in steady)
        apart = max(abs(one - middle) for one in medians) / max(middle, 1e-9)
        flat.append(apart <= FLAT)
        shown = " | ".join(f"{one:,.0f}" for one in medians)
        print(f"| {name} | {shown} | {apart:.1%} | {'yes' if flat[-1] else 'NO'} |")
    return all(flat)


def draw(samples: list[Sample], picture: Path) -> None:
    """A panel for each of NAMES."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    for i, (axes, name) in enumerate(zip(figure.subplots(2, 2, sharex=True).flat, NAMES, strict=True)):
        axes.plot([one.seconds / 60 for one in samples], [astuple(one)[i + 1] for one in samples], color=f"C{i}")
        axes.set_title(name, fontsize=10)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.supxlabel("minutes", fontsize=9)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
