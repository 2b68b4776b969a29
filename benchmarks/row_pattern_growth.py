"""What a row costs as the rows become more, and as the matches become longer: straight lines, or not. And how much memory.

In: synthetic prices, in the temporary directory. Out: nanoseconds a row, and the ratio of the dearest to the cheapest size.

The time of the Python worker alone: what Spark sends it (sorted rows and mask bits) is fetched once as Arrow, then given
to the table function in batches of 10,000 rows, as Spark does. So Spark's scan, shuffle and sort, and the transfer, are not
in it; ``row_pattern_scan.py`` has them. The smallest of ``--repetitions`` runs counts. Two queries: conditions with PREV (one
linear pass), and the same matches with conditions that depend on the match.

* rows: 10^5 … 10^7 rows, 1,000 rows a key, short matches.
* match length: 1,000,000 rows of one key, cut into matches of 10 … 100,000 rows.
* WITHIN: 40,000 rows of one key, of which each may begin a match and every 5,000th ends one, WITHIN 100 … 1,000,000 rows' time.
* memory: 1,000,000 and 5,000,000 rows in one partition and in partitions of 1,000, in a process of its own: how much its resident set grows over
  what it was with the engine loaded, as a multiple of the Arrow size of the input; other clauses, too. ``one match``
  takes the whole partition, which is held until it ends.

    python benchmarks/row_pattern_growth.py [--largest ROWS] [--repetitions N] [--memory-rows ROWS]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import scan

from sparkcep.daemon import ALLOCATOR

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_ROWS = 10_000
ROWS_PER_KEY = 1_000
LENGTH_ROWS = 1_000_000
LENGTHS = (10, 100, 1_000, 10_000, 100_000)

CLAUSE = """
SELECT * FROM prices MATCH_RECOGNIZE (
  PARTITION BY key ORDER BY ts
  MEASURES FIRST(strt.price) AS first_price, LAST(down.price) AS lowest, SUM(down.price) AS total, COUNT(*) AS length
  PATTERN (strt down+) DEFINE {define}
)
"""
QUERIES = {
    "prev": CLAUSE.format(define="down AS price < PREV(price)"),
    "match-dependent": CLAUSE.format(
        define="down AS (LAST(down.price, 1) IS NULL AND down.price < strt.price) OR down.price < LAST(down.price, 1)"
    ),
}

WITHIN_ROWS = 40_000
LIMITS = (100, 1_000, 10_000, 100_000, 1_000_000)
LIMITED = """
SELECT * FROM prices MATCH_RECOGNIZE (
  PARTITION BY key ORDER BY ts MEASURES FIRST(ts) AS since, LAST(ts) AS until, COUNT(*) AS length
  AFTER MATCH SKIP {skip} PATTERN (strt other* rare) WITHIN {limit} DEFINE other AS ts % 5000 < 4999, rare AS ts % 5000 = 4999
)
"""

_TYPED = "SELECT {what} FROM (SELECT *, CASE ts % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END AS type FROM prices) "
_PATTERN = "MATCH PATTERN (SEQ(a x, b y, c z) PARTITION BY key ORDER BY ts {} WHERE x.price > y.price AND y.price > z.price WITHIN 10{})"
MEMORY = QUERIES | {
    "one match": CLAUSE.format(
        define="down AS LAST(down.price, 1) IS NULL OR down.price < LAST(down.price, 1) OR down.price >= LAST(down.price, 1)"
    ),
    "any match": _TYPED.format(what="x.price, z.ts") + _PATTERN.format("", ""),
    "any match, events": _TYPED.format(what="x.price, z.ts") + _PATTERN.format("", " EVENTS"),
    "next match": _TYPED.format(what="x.price, z.ts") + _PATTERN.format("SKIP TILL NEXT MATCH", ""),
    "count": _TYPED.format(what="*")
    + "MATCH PATTERN (SEQ(a x, b y, c z) PARTITION BY key ORDER BY ts WITHIN 10 MEASURES COUNT(*) AS n)",
    "greatest, no WITHIN": _TYPED.format(what="*")
    + "MATCH PATTERN (SEQ(a x, b y) PARTITION BY key ORDER BY ts MEASURES SUM(x.price) AS s, MAX(y.price) AS m)",
    "automaton": """SELECT key, low FROM prices MATCH AUTOMATON (PARTITION BY key ORDER BY ts REGISTERS (low DOUBLE) START s FINAL f
        ARC s -> m SET low = price ARC m -> m WHEN price < low SET low = price ARC m -> f WHEN price > low + 1 WITHIN 100)""",
}

Lines = dict[str, dict[int, tuple[str, Path]]]
"""By name and size a query and its table ``prices``."""


def main() -> None:
    """Four tables: rows, match length, WITHIN, memory."""
    options = _options()
    if options.child:
        print(json.dumps(_grown(Path(options.child))))
        return
    spark = scan.session("row_pattern_growth")
    print(scan.surroundings())
    sizes = {rows: scan.prices(rows, rows // ROWS_PER_KEY) for rows in _powers(100_000, options.largest)}
    _table(spark, "rows", _lines(sizes), options.repetitions)
    _table(spark, "match length", _lines({n: _sawtooth(LENGTH_ROWS, n) for n in LENGTHS}), options.repetitions)
    _table(spark, "WITHIN", _limited(scan.prices(WITHIN_ROWS, 1)), options.repetitions)
    for rows in (options.memory_rows // 5, options.memory_rows):
        for keys in (1, rows // ROWS_PER_KEY):
            _memory(spark, rows, keys)
    print(scan.surroundings())
    spark.stop()


def _lines(paths: dict[int, Path]) -> Lines:
    return {name: {size: (query, path) for size, path in paths.items()} for name, query in QUERIES.items()}


def _limited(path: Path) -> Lines:
    return {
        f"skip {skip}": {limit: (LIMITED.format(skip=skip.upper(), limit=limit), path) for limit in LIMITS}
        for skip in ("past last row", "to next row")
    }


def _table(spark: SparkSession, title: str, lines: Lines, repetitions: int) -> None:
    sizes = next(iter(lines.values()))
    print(f"{title:20}" + "".join(f"{size:>14,}" for size in sizes) + f"{'dearest/cheapest':>20}")
    for name, cases in lines.items():
        try:
            costs = [_cost(spark, query, path, repetitions) for query, path in cases.values()]
        except Exception as error:
            print(f"{name:20}  {scan.refusal(error)}", flush=True)
            continue
        line = "".join(f"{cost:11.1f} ns" for cost in costs)
        print(f"{name:20}{line}{max(costs) / min(costs):20.2f}", flush=True)


def _cost(spark: SparkSession, query: str, path: Path, repetitions: int) -> float:
    """Nanoseconds a row in the table function, at best."""
    spec, table = worker_input(spark, query, path)
    batches = table.to_batches(max_chunksize=BATCH_ROWS)
    seconds = scan.take_turns({"worker": lambda: _search(spec, iter(batches))}, repetitions, 1)["worker"]
    return min(seconds) / table.num_rows * 1e9


def worker_input(spark: SparkSession, query: str, path: Path) -> tuple[str, pa.Table]:
    """The MatchSpec of the rewritten ``query``, and the rows that Spark would send with it: whole keys, sorted."""
    import sparkcep

    spark.read.parquet(str(path)).createOrReplaceTempView("prices")
    sql = sparkcep.rewrite(query, spark)
    relation, _, rest = sql.partition("cep_match(TABLE(")[2].rpartition('), \'{"version"')
    literal = '\'{"version"' + rest[: rest.rindex("}'") + 2]
    spec = spark.sql(f"SELECT {literal} AS spec").collect()[0]["spec"]
    return spec, spark.sql(relation).toArrow().combine_chunks()


def _search(spec: str, batches: Iterator[pa.RecordBatch]) -> int:
    """Rows of output; each output table is dropped at once, as when Spark has taken it."""
    from sql_functions.match_function import table_function

    function = table_function(spec)()
    found = sum(table.num_rows for batch in batches for table in function.eval(batch))
    return found + sum(table.num_rows for table in function.terminate())


def _sawtooth(rows: int, length: int) -> Path:
    """One key whose price falls for ``length`` rows, then jumps."""
    index = pl.int_range(rows, eager=True)
    price = length - index % length
    key = pl.Series([1], dtype=pl.Int32).new_from_index(0, rows)
    return scan.cached(f"sawtooth-{rows}-{length}", lambda: pl.DataFrame({"key": key, "ts": index, "price": price}))


def _memory(spark: SparkSession, rows: int, keys: int) -> None:
    print(f"{rows:,} rows, {keys:,} {'partition' if keys == 1 else 'partitions'}")
    print(f"{'memory':20}{'input MB':>14}{'grown MB':>14}{'times':>14}{'Arrow peak MB':>16}{'output rows':>14}")
    for name, query in MEMORY.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                spec, table = worker_input(spark, query, scan.prices(rows, keys))
                _write(Path(folder), spec, table)
                result = _child(Path(folder))
            except Exception as error:
                print(f"{name:20}  {scan.refusal(error)}", flush=True)
                continue
        size = table.nbytes / 1e6
        grown, peak = result["grown"] / 1e6, result["arrow_peak"] / 1e6
        print(f"{name:20}{size:14,.0f}{grown:14,.0f}{grown / size:14.2f}{peak:16,.0f}{result['found']:14,}", flush=True)


def _write(folder: Path, spec: str, table: pa.Table) -> None:
    (folder / "spec.json").write_text(spec)
    with pa.ipc.new_stream(folder / "rows.arrows", table.schema) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)


def _child(folder: Path) -> dict[str, int]:
    command = [sys.executable, __file__, "--child", str(folder)]
    environment = dict([ALLOCATOR]) | os.environ  # that of workers
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip().splitlines()[-1])
    result: dict[str, int] = json.loads(answer.stdout.splitlines()[-1])
    return result


def _grown(folder: Path) -> dict[str, int]:
    """In a process of its own: search once a little, so that all code is loaded; then everything. Bytes of growth."""
    spec = (folder / "spec.json").read_text()
    with pa.OSFile(str(folder / "rows.arrows")) as source:
        _search(spec, iter([next(iter(pa.ipc.open_stream(source)))]))
    before = _resident()
    with pa.OSFile(str(folder / "rows.arrows")) as source:
        found = _search(spec, iter(pa.ipc.open_stream(source)))
    grown = _most() - before
    return {"found": found, "grown": grown, "arrow_peak": pa.default_memory_pool().max_memory() or 0}


def _resident() -> int:
    """Bytes of memory that the process has now."""
    return _status("VmRSS")


def _most() -> int:
    """The most that it has had (``ru_maxrss`` has that of the process it was forked from, too)."""
    return _status("VmHWM")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _powers(smallest: int, largest: int) -> list[int]:
    sizes = [smallest]
    while sizes[-1] * 10 <= largest:
        sizes.append(sizes[-1] * 10)
    return sizes


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=10_000_000, help="rows of the largest input")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--memory-rows", type=int, default=5_000_000)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
