"""What the benchmarks share: data, taking turns, the processor's clock, ratios, and what the machine was doing meanwhile.

In: sizes and query texts. Out: Parquet files in the temporary directory, seconds, printed tables. It knows no benchmark.

Every ratio is against a query of the same run over the same rows: Spark's own ``lag()`` window (``lag_scan``), which reads,
shuffles and sorts what the pattern needs, looks at each row and the one before, and matches nothing. The two take turns, so
that a busy machine slows both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import polars as pl

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

T = TypeVar("T")
SEED = 20_130_101
CACHE = Path(tempfile.gettempdir()) / "sparkcep-benchmarks"
LARGEST_STEP = 5
LOG_LEVEL = "OFF"
"""Refusals and time-outs are rows of a table here; Spark would print each with its stack."""

REFUSAL_LENGTH = 120


class TookTooLongError(Exception):
    """A query was ended at its time limit."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Seconds of a query and of its baseline, run in turns."""

    query: tuple[float, ...]
    baseline: tuple[float, ...]

    @property
    def smallest(self) -> float:
        """Fastest query over fastest baseline."""
        return min(self.query) / min(self.baseline)

    @property
    def median(self) -> float:
        """Median query over median baseline."""
        return statistics.median(self.query) / statistics.median(self.baseline)


def cached(name: str, make: Callable[[], pl.DataFrame]) -> Path:
    """The Parquet file ``name`` of the frame that ``make`` returns; made once. ``name`` holds every parameter of it."""
    path = CACHE / f"{name}-{SEED}.parquet"
    if path.exists():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    frame = make()
    unfinished = path.with_suffix(f".unfinished{os.getpid()}")
    frame.write_parquet(unfinished, compression="zstd", row_group_size=max(frame.height // 8, 1))
    unfinished.rename(path)
    return path


def prices(rows: int, keys: int) -> Path:
    """A random walk of each key: key INT, ts BIGINT, price BIGINT. In time order, the keys interleaved."""
    return cached(f"prices-{rows}-{keys}", lambda: _prices(rows, keys))


def _prices(rows: int, keys: int) -> pl.DataFrame:
    index = pl.int_range(rows, eager=True)
    steps = draws(rows, 2 * LARGEST_STEP + 1) - LARGEST_STEP
    frame = pl.DataFrame({"key": (index % keys).cast(pl.Int32), "ts": index // keys, "step": steps})
    return frame.select("key", "ts", price=pl.col("step").cum_sum().over("key") + 1_000)


def draws(rows: int, values: int, *, seed: int = SEED) -> pl.Series:
    """``rows`` integers, uniform in 0 … values - 1."""
    return pl.int_range(values, eager=True).sample(rows, with_replacement=True, seed=seed)


def lag_scan(relation: str, *, order: str = "ts", value: str = "price") -> str:
    """The baseline: one window over the same keys and order, two comparisons, one row."""
    return f"""
    SELECT COUNT_IF({value} < previous) AS down, COUNT_IF({value} > previous) AS up
    FROM (SELECT {value}, LAG({value}) OVER (PARTITION BY key ORDER BY {order}) AS previous FROM {relation})
    """


def session(name: str, **settings: str) -> SparkSession:
    """A session with sparkcep in it on two cores; Spark's settings are its defaults, but for ``settings``."""
    import sparkcep

    spark: SparkSession = sparkcep.session(name, "local[2]", **{"spark.ui.showConsoleProgress": "false", **settings})
    spark.sparkContext.setLogLevel(LOG_LEVEL)
    return spark


def run(spark: SparkSession, query: str, limit: float | None = None) -> list[Row]:
    """Parse, plan and execute the query; its rows. TookTooLongError after ``limit`` seconds."""
    if limit is None:
        return spark.sql(query).collect()
    ended = threading.Event()

    def end() -> None:
        ended.set()
        spark.sparkContext.cancelAllJobs()

    timer = threading.Timer(limit, end)
    timer.start()
    try:
        return spark.sql(query).collect()
    except Exception as error:
        if ended.is_set():
            raise TookTooLongError(f"ended after {limit:g} s") from error
        raise
    finally:
        timer.cancel()


def take_turns(queries: Mapping[str, Callable[[], object]], repetitions: int, warmups: int) -> dict[str, list[float]]:
    """Seconds of every repetition of each call; the calls take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in queries}
    for turn in range(warmups + repetitions):
        for name, query in queries.items():
            start = time.perf_counter()
            query()
            if turn >= warmups:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def timed(run: Callable[[], T]) -> tuple[T, float]:
    """The answer, and the seconds that it took."""
    started = time.perf_counter()
    found = run()
    return found, time.perf_counter() - started


def fastest(run: Callable[[], T], repetitions: int) -> tuple[T, float]:
    """The answer, and the least seconds of CPU time."""
    best = float("inf")
    for _ in range(repetitions):
        started = time.process_time()
        found = run()
        best = min(best, time.process_time() - started)
    return found, best


def against(
    spark: SparkSession, query: str, baseline: str, repetitions: int, warmups: int, limit: float | None = None
) -> Ratio:
    """``query`` and ``baseline`` in turns."""
    calls = {"query": lambda: run(spark, query, limit), "baseline": lambda: run(spark, baseline)}
    seconds = take_turns(calls, repetitions, warmups)
    return Ratio(tuple(seconds["query"]), tuple(seconds["baseline"]))


def refusal(error: BaseException) -> str:
    """What sparkcep, or Spark for it, says first; a Python worker's error without the worker's stack."""
    text = str(error).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("sparkcep.errors."):
            return line.removeprefix("sparkcep.errors.")[:REFUSAL_LENGTH]
    first = lines[0] if lines else ""
    return f"{type(error).__name__}: {first.split('] ', 1)[-1].split(' element: ')[-1]}"[:REFUSAL_LENGTH]


def surroundings() -> str:
    """Date, commit, cores, load average: what a recorded result counts with."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {_commit()}, {os.cpu_count()} cores, load average {load}"


def _commit() -> str:
    import sparkcep

    source = Path(str(sparkcep.__file__)).parent
    answer = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=source, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() or "unknown"
