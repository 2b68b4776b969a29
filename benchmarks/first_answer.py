"""How long somebody waits who has just installed sparkcep: from ``python`` to the first answer, for each kind of query, with no kernel compiled.

In: nothing; the packages are copied to an empty folder for each run, so that the cache is empty, as after ``pip install``. Out: the seconds of each
query, and how many more than the plain statement over the same rows takes; the least of ``--repetitions`` runs. Every run is a process of its own;
the session's own compiling beside it is on (``--off``: it is not). Run it on a quiet machine.

    python benchmarks/first_answer.py [--repetitions N] [--only plain,count] [--off]
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sparkcep", "rewrites", "sql_functions")

EVENTS = """(SELECT id AS ts, CASE WHEN id % 3 = 0 THEN 'A' WHEN id % 3 = 1 THEN 'B' ELSE 'C' END AS kind,
CAST(id * 7 % 11 AS DOUBLE) AS x, id % 2 AS k FROM range(60))"""
ROWS = "SELECT * FROM {events} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(b.ts) AS last PATTERN (a b+) DEFINE b AS {define})"
SEQUENCE = "{events} MATCH PATTERN ({pattern} EVENT TYPE kind PARTITION BY k ORDER BY ts {options} WITHIN 9)"
QUERIES = {
    "plain": "SELECT k, COUNT(*) AS n FROM {events} GROUP BY k",
    "row pattern": ROWS.replace("{define}", "x > PREV(x)"),
    "match-dependent": ROWS.replace("{define}", "b.x > a.x"),
    "any match": f"SELECT * FROM {SEQUENCE}".replace("{pattern}", "SEQ(A a, B b)").replace(
        "{options}", "WHERE b.x > a.x"
    ),
    "next match": f"SELECT * FROM {SEQUENCE}".replace("{pattern}", "SEQ(A a, B+ b[], C c)").replace(
        "{options}", "SKIP TILL NEXT MATCH"
    ),
    "count": f"SELECT k, COUNT(*) AS n FROM {SEQUENCE} GROUP BY k".replace("{pattern}", "SEQ(A a, B b)").replace(
        "{options}", ""
    ),
    "sum": f"SELECT k, SUM(b.x) AS total FROM {SEQUENCE} GROUP BY k".replace("{pattern}", "SEQ(A a, B b)").replace(
        "{options}", ""
    ),
    "automaton": """SELECT * FROM {events} MATCH AUTOMATON (PARTITION BY k ORDER BY ts REGISTERS (seen DOUBLE) START s FINAL done
        ARC s -> waiting WHEN kind = 'A' SET seen = x ARC waiting -> waiting WHEN kind <> 'B' ARC waiting -> done WHEN kind = 'B' AND x > seen
        WITHIN 9)""",
}
PROGRAM = """
import sys, sparkcep
spark = sparkcep.session(master="local[2]", **{"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                         "spark.sql.shuffle.partitions": "2", "sparkcep.precompile": sys.argv[2]})
print(len(spark.sql(sys.argv[1]).collect()), flush=True)
"""


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", default=",".join(QUERIES))
    parser.add_argument("--off", action="store_true", help="without compiling beside the session")
    options = parser.parse_args()
    names = ["plain", *(name for name in options.only.split(",") if name != "plain")]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.repetitions):
        for name in names:
            seconds[name].append(first_answer(QUERIES[name].format(events=EVENTS), "off" if options.off else "auto"))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{'query':18}{'s':>6}{'beyond plain':>14}    {os.cpu_count()} cores, load average {load}")
    for name, found in seconds.items():
        print(f"{name:18}{min(found):6.1f}{min(found) - min(seconds['plain']):14.1f}")


def first_answer(query: str, precompile: str) -> float:
    """Seconds until the rows are there, in a new process, without a cache."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for package in PACKAGES:
            shutil.copytree(ROOT / package, Path(name, package), ignore=shutil.ignore_patterns("__pycache__"))
        kept = {key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "PYTHONPATH")}
        environment = kept | {"PYTHONPATH": name, "XDG_CACHE_HOME": name}
        started = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, query, precompile],
            env=environment,
            cwd=name,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            answer = process.stdout.readline()
            seconds = time.perf_counter() - started
            if not answer.strip().isdigit():
                raise RuntimeError(process.stderr.read()[-2000:])
        _end_compiling(Path(name))
    return seconds


def _end_compiling(folder: Path) -> None:
    """The processes that compile in the folder are not needed any more."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(folder):
                os.kill(int(entry.name), signal.SIGTERM)
        except OSError:
            continue


if __name__ == "__main__":
    main()
