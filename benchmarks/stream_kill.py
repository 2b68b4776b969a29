"""Clauses over streams are killed with SIGKILL and started again from their checkpoint: the rows must be those of an undisturbed run.

Named points, each once: ``turn`` (the driver and all that it started, while a bucket has its turn: state changed, not committed), ``before`` and
``after`` (the driver, before and after foreachBatch has written a micro-batch), ``worker`` (a Python worker alone, in a bucket's turn; Spark tries
the task again), ``workers`` (that one also: the query fails), ``segments`` (the driver, in that micro-batch or a later one, while the rows of a large
bucket are written again: new segments are put, old ones not all removed). Then ``--times`` kills of the driver at random moments of running queries,
over all clauses and sinks: some time after so many micro-batches of a start. Buckets are large from a few rows on.

Sinks: ``file``; ``overwrite``, foreachBatch into a folder for each micro-batch; ``merge``, foreachBatch into SQLite with INSERT OR REPLACE. Of
the clause that speculates the rows count that are not taken back.

A start costs some 25 seconds of processor time, most of it the JVM's: ``--times 20`` takes a quarter of an hour on two quiet cores, the default half.

    python benchmarks/stream_kill.py [--times N] [--only CLAUSE …] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
DELAY = 20
"""Seconds: how far rows arrive out of order."""
QUERIES = {
    "rows": """SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES MATCH_NUMBER() AS n, FIRST(id) AS first, LAST(id) AS last, COUNT(*) AS length
        PATTERN (a b+ c) DEFINE a AS type = 'A', b AS x > PREV(x), c AS x < PREV(x)) AS m""",
    "events": """SELECT k, a.id AS first, c.id AS last, size(b) AS bs, match_id FROM {}
        MATCH PATTERN (SEQ(A a, B+ b[], NOT D d, C c) PARTITION BY k ORDER BY ts WHERE a.x <= c.x WITHIN INTERVAL 40 SECONDS)""",
    "next": """SELECT k, a.id AS first, c.id AS last, match_id FROM {} MATCH PATTERN (SEQ(A a, ANY+ b[], C c) PARTITION BY k ORDER BY ts
        SKIP TILL NEXT MATCH WHERE b[i].x > b[i-1].x AND c.x < a.x WITHIN INTERVAL 40 SECONDS)""",
    "strict": """SELECT k, a.id AS first, b.id AS last, match_id FROM {} MATCH PATTERN (SEQ(ANY a, ANY b) PARTITION BY k ORDER BY ts
        STRICT CONTIGUITY WITHIN INTERVAL 10 SECONDS NON OVERLAPPING MATCHES)""",
    "open": """SELECT k, a.id AS first, c.id AS last, match_id FROM {} MATCH PATTERN (SEQ(A a, ANY+ b[], NOT D d, C c) PARTITION BY k ORDER BY ts
        SKIP TILL NEXT MATCH WHERE b[i].x > b[i-1].x AND c.x < a.x)""",
    "speculative": """SELECT k, a.id AS first, c.id AS last, size(b) AS bs, match_id, _change_type FROM {}
        MATCH PATTERN (/*+ CEP_STREAM(speculative) */ SEQ(A a, B+ b[], NOT D d, C c) PARTITION BY k ORDER BY ts WHERE a.x <= c.x
        WITHIN INTERVAL 40 SECONDS)""",
    "automaton": """SELECT k, first, UNIX_MICROS(match_start) AS begun, UNIX_MICROS(match_end) AS ended, match_id FROM {}
        MATCH AUTOMATON (PARTITION BY k ORDER BY ts REGISTERS (first BIGINT)
        START s FINAL f ARC s -> m WHEN type = 'A' SET first = id ARC m -> m WHEN type <> 'C' ARC m -> f WHEN type = 'C')""",
    "following": """SELECT k, first, UNIX_MICROS(match_start) AS begun, UNIX_MICROS(match_end) AS ended, match_id FROM {}
        MATCH AUTOMATON changing""",
    "following_events": """SELECT k, a.id AS first, b.id AS middle, c.id AS last, match_id, _change_type FROM {}
        MATCH PATTERN changing""",
    "following_rows": "SELECT k, first, n, match_id FROM {} MATCH_RECOGNIZE changing",
    "revised": """SELECT k, a.id AS first, c.id AS last, size(b) AS bs, match_id, _change_type FROM (
        SELECT *, 'insert' AS _change_type FROM {0} UNION ALL SELECT *, 'delete' AS _change_type FROM {0} WHERE id % 7 = 3)
        MATCH PATTERN (/*+ CEP_STREAM(speculative) */ SEQ(A a, B+ b[], NOT D d, C c) PARTITION BY k ORDER BY ts WHERE a.x <= c.x
        WITHIN INTERVAL 40 SECONDS)""",
    "changes": """SELECT k, UNIX_MICROS(emit_time) AS at, n, s, match_id FROM {}
        MATCH PATTERN (SEQ(A a, NOT D d, C c) PARTITION BY k ORDER BY ts WITHIN INTERVAL 40 SECONDS
        MEASURES COUNT(*) AS n, SUM(c.x) AS s EMIT CHANGES)""",
    "totals": """SELECT * FROM {} MATCH PATTERNS (p AS SEQ(A a, NOT D d, C c), q AS SEQ(A a, B b, NOT C n) PARTITION BY k ORDER BY ts
        WITHIN INTERVAL 40 SECONDS MEASURES COUNT(*) AS n)""",
    "speculative_totals": """SELECT k, n, s, match_id, _change_type FROM {} MATCH PATTERN (/*+ CEP_STREAM(speculative) */ SEQ(A a, NOT D d, C c)
        PARTITION BY k ORDER BY ts WITHIN INTERVAL 40 SECONDS MEASURES COUNT(*) AS n, SUM(c.x) AS s)""",
    "following_totals": "SELECT k, n, s, match_id, _change_type FROM {} MATCH PATTERN changing",
    "counters": "SELECT * FROM {} MATCH PATTERN (SEQ(A a, B b, C c) PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS n, SUM(c.x) AS s)",
}
_ADDED = "ALTER PATTERN changing ADD ARC m -> f WHEN {} EFFECTIVE FROM TIMESTAMP_SECONDS({{}})"
_REPLACED = "ALTER PATTERN changing REPLACE AS ({}) EFFECTIVE FROM TIMESTAMP_SECONDS({{}})"
_EVENTS = "SEQ(A a, {}, C c) PARTITION BY k ORDER BY ts WHERE a.x <= c.x AND {} WITHIN INTERVAL {} SECONDS"
_TOTALS = """SEQ(A a, {}, C c) PARTITION BY k ORDER BY ts WHERE {} WITHIN INTERVAL {} SECONDS
    MEASURES COUNT(*) AS n, SUM(c.x) AS s"""
_ROWS = """PARTITION BY k ORDER BY ts MEASURES a.id AS first, COUNT(*) AS n PATTERN (a b+ c)
    DEFINE a AS type = 'A', b AS {}, c AS c.x < LAST(b.x)"""
FOLLOWED = {
    "following": (
        """CREATE PATTERN changing AS (PARTITION BY k ORDER BY ts REGISTERS (first BIGINT) START s FINAL f
            ARC s -> m WHEN type = 'A' SET first = id ARC m -> m WHEN type <> 'C' ARC m -> f WHEN type = 'C')""",
        _ADDED.format("type = 'D' AND x > 3"),
        _ADDED.format("upper(type) = 'B' AND x = 9"),
    ),
    "following_events": (
        f"CREATE PATTERN changing AS ({_EVENTS.format('B b', 'b.x > a.x', 40)})",
        _REPLACED.format(_EVENTS.format("B b, NOT D d", "d.x > a.x", 60)),
        _REPLACED.format(_EVENTS.format("B b", "upper(b.type) = 'B' AND b.x <> a.x", 30)),
    ),
    "following_totals": (
        f"CREATE PATTERN changing AS ({_TOTALS.format('B b', 'b.x > 3', 40)})",
        _REPLACED.format(_TOTALS.format("B b, NOT D d", "d.x > 5", 60)),
        _REPLACED.format(_TOTALS.format("B b", "upper(b.type) = 'B' AND c.x <> 4", 30)),
    ),
    "following_rows": (
        f"CREATE PATTERN changing AS ({_ROWS.format('b.x > a.x OR b.x > PREV(b.x)')})",
        _REPLACED.format(_ROWS.format("b.x >= a.x")),
        _REPLACED.format(_ROWS.format("b.x <> a.x AND upper(b.type) <> 'D'")),
    ),
}
"""The pattern that a query follows, and what becomes of it after a third and four fifths of the time; a query killed at named points is told of the
second change when it starts again."""
UPDATED = ("totals", "counters", "speculative_totals", "following_totals")
"""Those whose rows are updated by later ones with their match_id: the last ones count. How many come before depends on how often the watermark
moved alone, which a restart may change."""
SPARK = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a start lives too short for more
}
NAMED = (
    ("overwrite", "before:0,worker:1,turn:2,after:4,workers:5"),
    ("file", "worker:1,turn:3,workers:4,segments:5"),
    ("merge", "after:0,turn:2,workers:3,before:5"),
)
"""The sink, and the points with their micro-batches, in one query."""
SINKS = ("file", "overwrite", "merge")
IN_ORDER = ("speculative_totals",)
"""Those whose last rows only a sink that merges knows: a count may fall."""


def main() -> None:
    """A line for each query that was killed."""
    if sys.argv[1:2] == ["drive"]:
        folder, query, sink, points = sys.argv[2:]
        drive(Path(folder), query, sink, dict(_point(text) for text in points.split(",") if text))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(QUERIES), default=list(QUERIES), metavar="CLAUSE")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="stream_kill"))
    make(folder / "in", files=8, rows=400, keys=20)
    began = time.perf_counter()
    print(
        "| clause | sink | killed | kills | starts | rows | lost | twice | s |\n|---|---|---|---|---|---|---|---|---|"
    )
    wanted = {query: undisturbed(folder, query) for query in options.only}
    chosen = [(query, sink) for sink in SINKS for query in options.only if sink in sinks_of(query)]
    kills = sum(named(folder, i, wanted) for i in range(len(NAMED)))
    random_kills, run = 0, 0
    while random_kills < options.times:
        left = options.times - random_kills
        most = -(-left // max(len(chosen) - run, 1))  # so that each query has its share
        random_kills += at_random(folder, run, chosen[run % len(chosen)], most, wanted)
        run += 1
    minutes = (time.perf_counter() - began) / 60
    print(f"\n{kills} kills at named points, {random_kills} at random moments; {minutes:.0f} minutes")


def undisturbed(folder: Path, query: str) -> list[Any]:
    """The rows of a query that nobody kills."""
    began, sink = time.perf_counter(), sinks_of(query)[0]
    starts = play(folder / query, folder / "in", query, sink)
    found = rows(folder / query)
    report(folder / query, query, sink, "never", starts, found, began)
    return found


def sinks_of(query: str) -> Sequence[str]:
    """Those that tell what a query has answered in the end."""
    return SINKS[-1:] if query in IN_ORDER else SINKS


def named(folder: Path, number: int, wanted: dict[str, list[Any]]) -> int:
    """One of ``NAMED``, the clauses in turns; how many kills there were."""
    sink, points = NAMED[number]
    able = [query for query in wanted if sink in sinks_of(query)]
    if not able:
        return 0
    query = able[number % min(2, len(able))]
    own, began = folder / f"named{number}", time.perf_counter()
    starts = play(own, folder / "in", query, sink, points)
    return report(own, query, sink, points, starts, wanted[query], began)


def at_random(folder: Path, run: int, one: tuple[str, str], most: int, wanted: dict[str, list[Any]]) -> int:
    """A query, and its sink, that is killed at random moments until its input is used up; how often."""
    query, sink = one
    own, began = folder / f"random{run}", time.perf_counter()
    starts = play(own, folder / "in", query, sink, moments=random.Random(run), most=most)
    moments = (own / f"killed.{start}" for start in range(starts))
    what = ", ".join(moment.read_text() for moment in moments if moment.exists())
    return report(own, query, sink, what, starts, wanted[query], began)


def report(own: Path, query: str, sink: str, what: str, starts: int, wanted: list[Any], began: float) -> int:
    """Print the query's line; the kills are the marks that they left."""
    kills, found = len(list(own.glob("killed.*"))), rows(own)
    there, due = (Counter(map(tuple, lines)) for lines in (found, wanted))
    lost, twice, seconds = (due - there).total(), (there - due).total(), time.perf_counter() - began
    print(
        f"| {query} | {sink} | {what} | {kills} | {starts} | {len(found):,} | {lost} | {twice} | {seconds:.0f} |",
        flush=True,
    )
    return kills


def make(folder: Path, files: int, rows: int, keys: int) -> None:
    """Events out of order by less than the watermark's delay, a file a micro-batch; then two that let the watermark pass all others."""
    drawn = np.random.default_rng(11)
    folder.mkdir(parents=True)
    count = files * rows
    times = np.sort(drawn.choice(count, count, replace=False)) * 4 * 1_000_000 // keys
    columns = {
        "id": np.arange(count),
        "k": drawn.integers(0, keys, count),
        "type": np.array(list("AABCD"))[drawn.integers(0, 5, count)],
        "x": drawn.integers(0, 10, count),
        "ts": times,
    }
    arrival = np.argsort(times + drawn.integers(0, DELAY * 1_000_000, count), kind="stable")
    end = int(times[-1]) + 1_000_000_000
    parts = [{name: values[part] for name, values in columns.items()} for part in np.split(arrival, files)]
    parts += [{"id": [-1], "k": [-1], "type": ["Z"], "x": [0], "ts": [end + i]} for i in range(2)]
    for i, part in enumerate(parts):
        table = pa.table({**part, "ts": pa.array(part["ts"], pa.timestamp("us", "UTC"))})
        pq.write_table(table, folder / f"{i:03}.parquet")
        os.utime(folder / f"{i:03}.parquet", (1_000_000 + i, 1_000_000 + i))  # Spark reads the oldest first


def play(
    folder: Path,
    data: Path,
    query: str,
    sink: str,
    points: str = "",
    moments: random.Random | None = None,
    most: int = 0,
) -> int:
    """Start a driver until the query is done; how many starts there were. At ``moments`` it is killed from outside, ``most`` times."""
    folder.mkdir(parents=True)
    (folder / "in").symlink_to(data)
    command = [sys.executable, str(Path(__file__)), "drive", str(folder), query, sink, points]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for starts in range(100):
        driver = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, env=environment, text=True)
        try:
            if moments is not None and starts < most:
                _kill(driver, folder, starts, moments)
            errors = driver.communicate()[1]
        finally:
            with suppress(ProcessLookupError):  # whatever it has started ends with it
                os.killpg(driver.pid, signal.SIGKILL)
        print(f"{folder.name}: start {starts}, {_logged(folder, 'commits')} micro-batches", file=sys.stderr, flush=True)
        if (folder / "rows.json").exists():
            return starts + 1
        if len(list(folder.glob("killed.*"))) <= starts // 2:
            raise RuntimeError(errors[-3000:])
    raise RuntimeError(f"{folder} does not end")


def _kill(driver: subprocess.Popen[str], folder: Path, start: int, moments: random.Random) -> None:
    """Kill the driver and all that it started, some time after some micro-batches of its query; not if it was done before."""
    running = folder / f"running.{start}"
    (folder / "start").write_text(str(start))
    while driver.poll() is None and not running.exists():
        time.sleep(0.02)
    wanted = _logged(folder, "commits") + moments.randrange(4)
    while driver.poll() is None and _logged(folder, "commits") < wanted:
        time.sleep(0.02)
    time.sleep(moments.uniform(0, 2))
    if driver.poll() is None and not (folder / "rows.json").exists():
        os.killpg(driver.pid, signal.SIGKILL)
        planned, done = _logged(folder, "offsets"), _logged(folder, "commits")
        (folder / f"killed.{start}").write_text(f"in {done}" if planned > done else f"behind {done - 1}")


def _logged(folder: Path, log: str) -> int:
    """How many micro-batches a log of the checkpoint has."""
    return len(list((folder / "checkpoint" / log).glob("[0-9]*")))


def rows(folder: Path) -> list[Any]:
    """The rows in the sink of a query that is done, sorted."""
    return sorted(json.loads((folder / "rows.json").read_text()))


def drive(folder: Path, query: str, sink: str, points: dict[str, int]) -> None:
    """One start of the query, in this process; it writes ``rows.json`` when the input is used up."""
    import sparkcep
    import sparkcep.streaming.query as built

    spark = sparkcep.session("stream_kill", "local[2, 2]", **SPARK)
    built.BucketProcessor = killing(folder, points)
    schema = "id LONG, k LONG, type STRING, x LONG, ts TIMESTAMP"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    stream.withWatermark("ts", f"{DELAY} seconds").createOrReplaceTempView("moving")
    if query == "following_events":
        spark.conf.set("sparkcep.stream.mode", "speculative")
    if query in FOLLOWED:
        follow(spark, folder, FOLLOWED[query], told=2 if not points or list(folder.glob("killed.*")) else 1)
    frame = spark.sql(QUERIES[query].format("moving"))
    writer = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    if sink == "file":
        writer = writer.format("parquet").option("path", str(folder / "out"))
    else:
        write = {"overwrite": overwrite, "merge": merge}[sink]

        def each(batch: Any, number: int) -> None:
            _die(folder, points, "before", number)
            write(folder, batch, number)
            _die(folder, points, "after", number)

        writer = writer.foreachBatch(each)
    if (folder / "start").exists():
        (folder / f"running.{(folder / 'start').read_text()}").touch()
    writer.start().awaitTermination()
    found = spark.read.parquet(str(folder / "out" / ("" if sink == "file" else "*"))) if sink != "merge" else None
    lines = merged(folder) if found is None else net(found.select(*frame.columns).collect())
    if query in UPDATED:
        lines = latest(lines, frame.columns)
    (folder / "rows.part").write_text(json.dumps(lines))
    (folder / "rows.part").rename(folder / "rows.json")
    spark.stop()


def follow(spark: Any, folder: Path, texts: Sequence[str], told: int) -> None:
    """The pattern and what has become of it so far, in a table that stays when its driver is killed."""
    from rewrites.patterns.versions import COLUMNS

    columns = ", ".join(f"{name} {kind}" for name, kind, _ in COLUMNS)
    spark.sql(f"CREATE TABLE sparkcep_patterns ({columns}) USING parquet LOCATION '{folder}/patterns'")
    end = spark.read.parquet(str(folder / "in")).where("k >= 0").selectExpr("UNIX_SECONDS(MAX(ts))").head()[0]
    statements = [texts[0], *(text.format(end * part // 15) for text, part in zip(texts[1:], (5, 12), strict=True))]
    for text in statements[spark.table("sparkcep_patterns").where("change IN ('create', 'alter')").count() : told + 1]:
        spark.sql(text)


def overwrite(folder: Path, batch: Any, number: int) -> None:
    """A micro-batch has a folder of its own."""
    batch.write.mode("overwrite").parquet(str(folder / "out" / f"batch_{number}"))


def merge(folder: Path, batch: Any, number: int) -> None:
    """MERGE, as SQLite has it; in two transactions, which a kill may part."""
    found = sorted(batch.collect(), key=_deletes, reverse=True)
    with sqlite3.connect(folder / "matches.db") as table:
        table.execute(f"CREATE TABLE IF NOT EXISTS matches ({', '.join(batch.columns)}, PRIMARY KEY (match_id))")
        insert = f"INSERT OR REPLACE INTO matches VALUES ({', '.join('?' * len(batch.columns))})"
        for part in (found[: len(found) // 2], found[len(found) // 2 :]):
            table.executemany(
                "DELETE FROM matches WHERE match_id = ?", [(row.match_id,) for row in part if _deletes(row)]
            )
            table.executemany(insert, [tuple(row) for row in part if not _deletes(row)])
            table.commit()


def merged(folder: Path) -> list[Any]:
    """The rows of the table."""
    with sqlite3.connect(folder / "matches.db") as table:
        return [list(row) for row in table.execute("SELECT * FROM matches")]


def net(lines: Iterable[Any]) -> list[Any]:
    """The rows without those that are taken back."""
    counts = Counter[Any]()
    for row in lines:
        values = tuple("insert" if value == "delete" else value for value in row)
        counts[values] += -1 if _deletes(row) else 1
    assert min(counts.values()) >= 0
    return [list(row) for row in counts.elements()]


def latest(lines: list[Any], columns: list[str]) -> list[Any]:
    """The last row of each match_id: its count n never falls."""
    name, count, change = (columns.index(column) for column in ("match_id", "n", "_change_type"))
    found: dict[str, Any] = {}
    for row in sorted(lines, key=lambda row: row[count]):
        found[row[name]] = [*row[:change], *row[change + 1 :]]
    return list(found.values())


def _deletes(row: Any) -> bool:
    return "_change_type" in row and row._change_type == "delete"


def killing(folder: Path, points: dict[str, int]) -> type:
    """The processor of buckets, which ends itself or its driver in a turn. Workers get this class by value: it is of ``__main__``."""
    from sparkcep.streaming import segments, state
    from sparkcep.streaming.processor import BucketProcessor

    class Killing(BucketProcessor):
        def init(self, handle: Any) -> None:
            super().init(handle)
            state.LARGE, state.SMALL, segments.SMALLEST = 500, 100, 200  # bytes
            entries = self.variables.entries
            remove = entries.removeKey

            def removing(key: Any) -> None:
                remove(key)
                die_in_a_turn("segments")

            entries.removeKey = removing

        def _turn(
            self, key: Any, payloads: Sequence[bytes], watermark: int, changes: Sequence[str] = ()
        ) -> Iterator[Any]:
            for row in super()._turn(key, payloads, watermark, changes):
                die_in_a_turn("turn")
                yield row

    driver = os.getpgid(0)

    def die_in_a_turn(point: str) -> None:
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        number = int(task.getLocalProperty("streaming.sql.batchId"))
        due = points.get(point)
        reached = due is not None and (number == due or (point == "segments" and number > due))
        if reached and _first(folder, point):
            os.killpg(driver, signal.SIGKILL)
        if point != "turn":
            return
        if points.get("worker") == number and _first(folder, "worker"):
            os.kill(os.getpid(), signal.SIGKILL)
        if points.get("workers") == number and _first(folder, f"workers{task.attemptNumber()}"):
            os.kill(os.getpid(), signal.SIGKILL)

    return Killing


def _die(folder: Path, points: dict[str, int], point: str, number: int) -> None:
    if points.get(point) == number and _first(folder, point):
        os.killpg(0, signal.SIGKILL)


def _first(folder: Path, point: str) -> bool:
    """Whether nobody has been killed at this point; it is marked."""
    try:
        (folder / f"killed.{point}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _point(text: str) -> tuple[str, int]:
    point, _, number = text.partition(":")
    return point, int(number)


if __name__ == "__main__":
    main()
