"""Shapes of row patterns that people run: rows/s of each, and its ratio to ``lag()`` over the same rows.

In: synthetic relations, made once with a fixed seed, kept as Parquet in the temporary directory; ``shapes.py`` has the queries.
Out: a line for each shape. One that is refused, or that takes longer than ``--limit``, says so in its line.

Each shape and its baseline take turns in one session on two cores (``local[2]``); both end in an aggregate of one row. The
baseline reads, shuffles and sorts the same rows and looks at each and the one before it (``scan.lag_scan``). A ratio says
nothing for ``(A?){4000} A{4000}``, whose 4,000 rows cost both queries their fixed price. The numbers of matches are printed to
be compared between runs and commits; the suites of ``tests/`` prove the answers.

    python benchmarks/row_pattern_shapes.py [--only NAME] [--scale FRACTION] [--repetitions N] [--warmups N] [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import scan
from shapes import SHAPES, Shape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MILLION = 1_000_000
EVENTS = ("view", "view", "view", "search", "search", "cart", "pay", "help")
SMALL_ROWS = 4_000


def main() -> None:
    """Each shape: make its relation, run it and its baseline in turns, print a line."""
    options = _options()
    spark = scan.session("row_pattern_shapes")
    print(f"local[2], scale {options.scale:g}; {scan.surroundings()}")
    print(f"{'shape':32}{'rows':>12}{'found':>12}{'median s':>10}{'rows/s':>14}{'ratio min':>11}{'median':>8}")
    for shape in SHAPES:
        if options.only is None or options.only.lower() in shape.name.lower():
            print(f"{shape.name:32}{_result(spark, shape, options)}", flush=True)
    print(scan.surroundings())
    spark.stop()


def _result(spark: SparkSession, shape: Shape, options: argparse.Namespace) -> str:
    path = RELATIONS[shape.relation](options.scale)
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    spark.read.parquet(str(path)).createOrReplaceTempView(shape.relation)
    baseline = scan.lag_scan(shape.relation, order=shape.order, value=shape.value)
    try:
        found = scan.run(spark, shape.query, options.limit)[0]["found"]
        ratio = scan.against(spark, shape.query, baseline, options.repetitions, options.warmups, options.limit)
    except Exception as error:
        return f"{rows:12,}  {scan.refusal(error)}"
    middle = statistics.median(ratio.query)
    return f"{rows:12,}{found:12,}{middle:10.2f}{rows / middle:14,.0f}{ratio.smallest:11.2f}{ratio.median:8.2f}"


def _doubles(rows: int, keys: int) -> pl.DataFrame:
    return pl.read_parquet(scan.prices(rows, keys)).with_columns(pl.col("price").cast(pl.Float64))


def _visits(rows: int, keys: int) -> pl.DataFrame:
    """Any page after any other; nobody asks for a refund."""
    index = pl.int_range(rows, eager=True)
    pages = pl.Series(EVENTS).gather(scan.draws(rows, len(EVENTS)))
    return pl.DataFrame({"key": (index % keys).cast(pl.Int32), "ts": index // keys, "event": pages})


def _hits(rows: int, keys: int) -> pl.DataFrame:
    """Gaps of 1 … 100 within a session; one gap in twenty is longer."""
    index = pl.int_range(rows, eager=True)
    short, long = scan.draws(rows, 100) + 1, scan.draws(rows, 20, seed=scan.SEED + 1) == 0
    frame = pl.DataFrame({"key": (index % keys).cast(pl.Int32), "gap": short + long.cast(pl.Int64) * 1_000})
    return frame.select("key", ts=pl.col("gap").cum_sum().over("key"))


def _ranges(rows: int, keys: int) -> pl.DataFrame:
    """Starts about 10 apart; a length is 1 … 40, so that ranges overlap in chains, and the chains do end."""
    index = pl.int_range(rows, eager=True)
    gaps, lengths = scan.draws(rows, 20) + 1, scan.draws(rows, 40, seed=scan.SEED + 1) + 1
    frame = pl.DataFrame({"key": (index % keys).cast(pl.Int32), "gap": gaps, "length": lengths})
    starts = frame.select("key", "length", s=pl.col("gap").cum_sum().over("key"))
    return starts.select("key", "s", e=pl.col("s") + pl.col("length"))


def _items(rows: int, keys: int) -> pl.DataFrame:
    index = pl.int_range(rows, eager=True)
    return pl.DataFrame({"key": (index % keys).cast(pl.Int32), "ts": index // keys, "w": scan.draws(rows, 9) + 1})


def _relation(name: str, make: Callable[[int, int], pl.DataFrame], rows: int, keys: int, scale: float) -> Path:
    """``scale`` takes rows and keys away alike: partitions keep their length."""
    rows, keys = max(int(rows * scale), 1), max(int(keys * scale), 1)
    return scan.cached(f"{name}-{rows}-{keys}", lambda: make(rows, keys))


RELATIONS: dict[str, Callable[[float], Path]] = {
    "prices": lambda scale: scan.prices(int(2 * MILLION * scale), max(int(1_000 * scale), 1)),
    "short_prices": lambda scale: scan.prices(int(2 * MILLION * scale), max(int(20_000 * scale), 1)),
    "small": lambda scale: scan.prices(SMALL_ROWS, 1),
    "doubles": partial(_relation, "doubles", _doubles, 2 * MILLION, 1_000),
    "visits": partial(_relation, "visits", _visits, 2 * MILLION, 1_000),
    "visitors": partial(_relation, "visits", _visits, 4 * MILLION, MILLION),
    "hits": partial(_relation, "hits", _hits, 10 * MILLION, 100_000),
    "ranges": partial(_relation, "ranges", _ranges, 2 * MILLION, 1_000),
    "items": partial(_relation, "items", _items, 2 * MILLION, 1_000),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help="shapes whose name contains NAME")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the rows and of the keys")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--warmups", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a shape is ended")
    return parser.parse_args()


if __name__ == "__main__":
    main()
