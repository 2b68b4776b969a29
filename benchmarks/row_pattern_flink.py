"""The V-shape in sparkcep, in Flink SQL (PyFlink) and in ``pandas-match-recognize``: rows/s of each, on the same rows.

In: synthetic prices as CSV. PyFlink's wheel holds a CSV format but no Parquet one, so both engines read the CSV file.
Out: seconds, rows/s and matches of each engine, and their ratios.

The pattern is ``strt down+ up+ stop``: Flink refuses a greedy quantifier at the end, so ``stop`` is the first row that no
longer rises. Flink has no PREV; its conditions say the same with ``LAST(down.price, 1)``. sparkcep runs both texts. Every
engine must find the same matches.

PyFlink and pandas-match-recognize are installed from PyPI into environments of their own, under the temporary directory, and
run in processes of their own, one engine at a time, with the machine to itself. All run warm: the first runs do not count.
Flink: batch mode (the faster of its two modes here), parallelism 2, object reuse, a mini cluster inside the process; sparkcep:
``local[2]``. A Flink job in a mini cluster starts in some seconds, which is no part of a pattern's cost: ``scan`` is a
``COUNT(*), SUM(price)`` of the same file on each engine, and ``net`` throughput leaves its time out.
``pandas-match-recognize`` gets a frame in memory (no file is read), and a fraction of the rows.

    python benchmarks/row_pattern_flink.py [--rows N] [--keys N] [--pandas-rows N] [--repetitions N] [--warmups N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import scan

FLINK = "apache-flink==2.3.0"
PANDAS = "pandas-match-recognize==0.2.5"
TARGET = 6.0
COLUMNS = "key INT, ts_ms BIGINT, price BIGINT"

SELECT = "SELECT COUNT(*) AS found, SUM(last_price - first_price) AS gain, SUM(lowest) AS lowest"
MEASURES = "FIRST(strt.price) AS first_price, LAST(down.price) AS lowest, LAST(up.price) AS last_price"
CLAUSE = """
MATCH_RECOGNIZE (
  PARTITION BY key ORDER BY {order}
  MEASURES {measures}
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (strt down+ up+ stp)
  DEFINE {define})
"""
LAST_DEFINE = """
    down AS (LAST(down.price, 1) IS NULL AND down.price < strt.price) OR down.price < LAST(down.price, 1),
    up AS (LAST(up.price, 1) IS NULL AND up.price > LAST(down.price)) OR up.price > LAST(up.price, 1),
    stp AS stp.price <= LAST(up.price)
"""
PREV_DEFINE = "down AS price < PREV(price), up AS price > PREV(price), stp AS price <= PREV(price)"
SCAN = "SELECT COUNT(*) AS found, SUM(price) AS gain, MAX(price) AS lowest FROM prices"

FLINK_PROGRAM = """
import json, sys, time
from pyflink.table import EnvironmentSettings, TableEnvironment

request = json.loads(sys.argv[1])
tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
tables.get_config().set("parallelism.default", "2").set("pipeline.object-reuse", "true")
tables.execute_sql(request["table"])
answers = {}
for name, query in request["queries"].items():
    answers[name] = {"seconds": []}
    for turn in range(request["warmups"] + request["repetitions"]):
        start = time.perf_counter()
        row = list(tables.execute_sql(query).collect())[-1]
        if turn >= request["warmups"]:
            answers[name]["seconds"].append(time.perf_counter() - start)
    answers[name]["answer"] = list(row)
print(json.dumps(answers))
"""

PANDAS_PROGRAM = """
import json, sys, time
import pandas
from pandas_match_recognize import match_recognize

request = json.loads(sys.argv[1])
frame = pandas.read_csv(request["path"], names=["key", "ts_ms", "price"])
answers = {}
for name, query in request["queries"].items():
    answers[name] = {"seconds": []}
    for turn in range(request["warmups"] + request["repetitions"]):
        start = time.perf_counter()
        found = match_recognize(query, frame)
        if turn >= request["warmups"]:
            answers[name]["seconds"].append(time.perf_counter() - start)
    gain = int((found["last_price"] - found["first_price"]).sum())
    answers[name]["answer"] = [len(found), gain, int(found["lowest"].sum())]
print(json.dumps(answers))
"""


@dataclass(frozen=True, slots=True)
class Result:
    """What one engine did with one query: its seconds and its one row."""

    seconds: tuple[float, ...]
    answer: tuple[int, ...]

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)


class UnavailableError(Exception):
    """A package cannot be installed here, or does not run."""


def main() -> None:
    """Every engine that can be had here; an engine that cannot says why."""
    options = _options()
    print(f"{options.rows:,} rows, {options.keys:,} keys; {scan.surroundings()}", flush=True)
    path = _csv(options.rows, options.keys)
    ours = _sparkcep(path, options)
    _report("sparkcep", options.rows, ours)
    try:
        theirs = _peer("flink", FLINK, FLINK_PROGRAM, _flink_request(path, options))
        _report("Flink", options.rows, theirs)
        _compare(ours, theirs)
    except UnavailableError as error:
        print(f"Flink cannot be measured here: {error}")
    try:
        _report("pandas-match-recognize", options.pandas_rows, _pandas(options))
    except UnavailableError as error:
        print(f"pandas-match-recognize cannot be measured here: {error}")
    print(scan.surroundings())


def _sparkcep(path: Path, options: argparse.Namespace) -> dict[str, Result]:
    spark = scan.session("row_pattern_flink")
    spark.read.schema(COLUMNS).csv(str(path)).createOrReplaceTempView("prices")
    queries = {"scan": SCAN} | {
        name: f"{SELECT} FROM prices {CLAUSE.format(order='ts_ms', measures=MEASURES, define=define)}"
        for name, define in (("prev", PREV_DEFINE), ("last", LAST_DEFINE))
    }
    results = {}
    for name, query in queries.items():
        try:
            answer = tuple(scan.run(spark, query)[0])
            calls = {name: lambda query=query: scan.run(spark, query)}
            seconds = scan.take_turns(calls, options.repetitions, options.warmups)[name]
            results[name] = Result(tuple(seconds), answer)
        except Exception as error:
            print(f"sparkcep, {name}: {scan.refusal(error)}")
    spark.stop()
    return results


def _flink_request(path: Path, options: argparse.Namespace) -> dict[str, object]:
    table = f"""
    CREATE TABLE prices (key INT, ts_ms BIGINT, price BIGINT, ts AS TO_TIMESTAMP_LTZ(ts_ms, 3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
    """
    clause = CLAUSE.format(order="ts", measures=MEASURES, define=LAST_DEFINE)
    queries = {"scan": SCAN, "last": f"{SELECT} FROM prices {clause}"}
    return {"table": table, "queries": queries, **_turns(options)}


def _pandas(options: argparse.Namespace) -> dict[str, Result]:
    path = _csv(options.pandas_rows, max(options.keys * options.pandas_rows // options.rows, 1))
    clause = CLAUSE.format(order="ts_ms", measures=MEASURES, define=PREV_DEFINE)
    queries = {"prev": f"SELECT key, first_price, lowest, last_price FROM prices {clause}"}
    return _peer(
        "pandas", PANDAS, PANDAS_PROGRAM, {"path": str(path / "rows.csv"), "queries": queries, **_turns(options)}
    )


def _turns(options: argparse.Namespace) -> dict[str, int]:
    return {"repetitions": options.repetitions, "warmups": options.warmups}


def _peer(name: str, package: str, program: str, request: dict[str, object]) -> dict[str, Result]:
    """Run ``program`` in the environment that has ``package``. Raises UnavailableError with the reason."""
    python = environment(name, package)
    output = call([str(python), "-c", program, json.dumps(request)], f"{package} does not run")
    answers = json.loads(output.strip().splitlines()[-1])
    return {query: Result(tuple(found["seconds"]), tuple(found["answer"])) for query, found in answers.items()}


def environment(name: str, *packages: str) -> Path:
    """The interpreter of a virtual environment with ``packages`` in it; made once for each version."""
    folder = scan.CACHE / f"venv-{'-'.join(packages).replace('==', '-')}"
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        print(f"installing {' '.join(packages)} into {folder}", flush=True)
        call([sys.executable, "-m", "venv", "--clear", str(folder)], f"no environment for {name}")
        call([str(python), "-m", "pip", "install", "--quiet", *packages], f"pip does not install {' '.join(packages)}")
        ready.touch()
    return python


def call(command: Sequence[str], failure: str) -> str:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        lines = (answer.stderr or answer.stdout).strip().splitlines() or ["no output"]
        causes = [line for line in lines if "Caused by" in line] or lines
        raise UnavailableError(f"{failure}: {textwrap.shorten(causes[-1], 300)}")
    return answer.stdout


def _csv(rows: int, keys: int) -> Path:
    """A folder with the rows of ``scan.prices`` as one CSV file without a header: key, ts, price."""
    source = scan.prices(rows, keys)
    folder = source.with_suffix(".csv")
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        pl.read_parquet(source).select("key", "ts", "price").write_csv(unfinished / "rows.csv", include_header=False)
        unfinished.rename(folder)
    return folder


def _report(engine: str, rows: int, results: dict[str, Result]) -> None:
    for name, result in results.items():
        print(
            f"{engine:24}{name:6}{rows:12,} rows  min {min(result.seconds):7.2f} s  median {result.median:7.2f} s"
            f"{rows / result.median:14,.0f} rows/s  answer {result.answer}",
            flush=True,
        )


def _compare(ours: dict[str, Result], theirs: dict[str, Result]) -> None:
    flink = theirs["last"]
    for name in ("prev", "last"):
        if name not in ours:
            continue
        if ours[name].answer != flink.answer:
            sys.exit(f"different answers: sparkcep {ours[name].answer}, Flink {flink.answer}")
        net = (flink.median - theirs["scan"].median) / max(ours[name].median - ours["scan"].median, 1e-9)
        print(
            f"sparkcep ({name}) / Flink: {flink.median / ours[name].median:.1f} x its throughput"
            f" (min {min(flink.seconds) / min(ours[name].seconds):.1f}), {net:.1f} x net of the scan; target {TARGET:g}"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--pandas-rows", type=int, default=200_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--warmups", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
