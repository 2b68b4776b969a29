"""``sparkcep thriftserver`` under many clients, and what a pattern costs over Thrift beside plain SQL.

In: nothing; the server is started here on 127.0.0.1 and stopped at the end. Out, on standard output:

* latency in one warm session, all queries in turn: two pattern queries, each beside plain SQL with the same answer (a
  self-join; ``lag()`` and groups), and EXPLAIN of each, which plans and runs nothing;
* CLIENTS × QUERIES pattern queries at once, each client with a temporary view of its own under the same name and its own
  answer, which a self-join gave before: errors, wrong answers, p50, p95; and the server's memory (JVM heap after a
  collection; resident size of JVM, driver and workers) at the start, after a quarter of the queries, and at the end.

    python benchmarks/thrift_clients.py [--clients 16] [--queries 50] [--quick]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from pyhive import hive

START_SECONDS = 180
EVENTS = """CREATE TABLE events USING parquet AS
SELECT u AS user_id, CAST(t AS INT) AS ts, CASE WHEN t % 3 = 0 THEN 'View' ELSE 'Buy' END AS event_type, CAST(t * u AS DECIMAL(6, 2)) AS amount
FROM (SELECT CAST(id % 32 AS INT) AS u, id DIV 32 AS t FROM range(32 * 12))"""
"""32 users with 12 events each, every third a View: 20 pairs of a View and a later Buy for each user, amounts of its own."""

PAIRS = """SELECT v.ts AS viewed, COUNT(b.amount) AS buys, MAX(b.amount) AS most FROM {table} MATCH PATTERN
(SEQ(View v, Buy b) EVENT TYPE event_type PARTITION BY user_id ORDER BY ts) WHERE user_id = {user} GROUP BY v.ts ORDER BY viewed"""
JOIN = """SELECT v.ts AS viewed, COUNT(b.amount) AS buys, MAX(b.amount) AS most FROM {table} v JOIN {table} b ON v.user_id = b.user_id AND v.ts < b.ts
WHERE v.event_type = 'View' AND b.event_type = 'Buy' AND v.user_id = {user} GROUP BY v.ts ORDER BY viewed"""
RISES = """SELECT since, steps, top FROM {table} MATCH_RECOGNIZE (PARTITION BY user_id ORDER BY ts
MEASURES FIRST(up.ts) AS since, COUNT(up.*) AS steps, LAST(up.amount) AS top PATTERN (up{{3,}}) DEFINE up AS amount > PREV(amount))
WHERE user_id = {user}"""
WINDOW = """SELECT MIN(ts) AS since, COUNT(*) AS steps, MAX_BY(amount, ts) AS top FROM (
  SELECT *, SUM(CASE WHEN up THEN 0 ELSE 1 END) OVER (PARTITION BY user_id ORDER BY ts) AS run FROM (
    SELECT *, amount > LAG(amount) OVER (PARTITION BY user_id ORDER BY ts) AS up FROM {table}))
WHERE up AND user_id = {user} GROUP BY user_id, run HAVING COUNT(*) >= 3"""
COMPARED = {"pairs": (PAIRS, JOIN), "rises": (RISES, WINDOW)}
"""Pattern queries and plain SQL with the same answer; the plain one reads one user only, which Spark sees by itself."""


class Server:
    """The server process; ``folder`` holds its warehouse and its output."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        program = [sys.executable, "-c", "from sparkcep.cli import main; main()", "thriftserver", "--port", "0"]
        conf = ["--conf=spark.log.level=ERROR", *arguments, "--warehouse", str(folder / "warehouse")]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen([*program, *conf], cwd=folder, env=_environment(), stdout=log, stderr=log)
        self.port = self._ready(folder / "log")

    def _ready(self, log: Path) -> int:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r"ready: jdbc:hive2://\S+:(\d+)\n", log.read_text()):
                return int(found[1])
            time.sleep(0.2)
        self.process.kill()
        raise SystemExit(log.read_text())

    def connect(self) -> hive.Connection:
        """A session of its own."""
        return hive.connect("127.0.0.1", self.port, username="benchmark")

    def stop(self) -> None:
        """As a service manager stops it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def cpu(self) -> float:
        """Seconds of processor time that the server has used, all its processes together: a measure that a busy machine changes less."""
        return sum(map(_cpu, (self.process.pid, *_descendants(self.process.pid))))

    def memory(self) -> str:
        """MB: live heap (where the JDK's jcmd is at hand), and resident sizes of the JVM, of the driver's Python, of all workers and their number."""
        java = next(pid for pid in _children(self.process.pid) if "java" in _command(pid))
        found = {}
        if shutil.which("jcmd"):
            subprocess.run(["jcmd", str(java), "GC.run"], check=True, capture_output=True)
            heap = subprocess.run(["jcmd", str(java), "GC.heap_info"], check=True, capture_output=True, text=True)
            found["live heap"] = int(re.search(r"used (\d+)K", heap.stdout)[1]) / 1024  # type: ignore[index]
        workers = _descendants(java)
        found |= {"JVM": _resident(java), "driver's Python": _resident(self.process.pid)}
        found[f"{max(0, len(workers) - 1)} workers"] = sum(map(_resident, workers))
        return ", ".join(f"{name} {size:.0f} MB" for name, size in found.items())


def _environment() -> dict[str, str]:
    """This environment, with this source tree in front."""
    paths = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _children(pid: int) -> list[int]:
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def _descendants(pid: int) -> list[int]:
    return [found for child in _children(pid) for found in (child, *_descendants(child))]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0", 1)[0].decode()


def _cpu(pid: int) -> float:
    try:
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it has ended
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def ask(connection: hive.Connection, statement: str) -> list[tuple[object, ...]]:
    """The rows of a statement, all fetched; none where it has no result."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def latencies(server: Server, connection: hive.Connection, warm_up: int, repeats: int) -> None:
    """One warm session, all queries in turn."""
    queries = {}
    for name, (clause, plain) in COMPARED.items():
        clause, plain = (query.format(table="events", user=7) for query in (clause, plain))
        assert ask(connection, clause) == ask(connection, plain) != []
        queries |= {f"{name}, pattern": clause, f"{name}, plain SQL": plain}
        queries |= {
            f"{name}, EXPLAIN of the pattern": f"EXPLAIN {clause}",
            f"{name}, EXPLAIN of plain SQL": f"EXPLAIN {plain}",
        }
    queries["SELECT 1"] = "SELECT 1"
    times: dict[str, list[float]] = {name: [] for name in queries}
    used = dict.fromkeys(queries, 0.0)
    for turn in range(warm_up + repeats):
        for name, query in queries.items():
            before = server.cpu()
            spent = timed(lambda query=query: ask(connection, query))  # type: ignore[misc]
            if turn >= warm_up:
                times[name].append(spent)
                used[name] += server.cpu() - before
    print(f"one session, warm ({warm_up} turns before), {repeats} turns, ms; load average {os.getloadavg()[0]:.1f}:")
    for name, values in times.items():
        spread = f"p50 {statistics.median(values):7.1f}   p95 {percentile(values, 95):7.1f}   least {min(values):7.1f}"
        print(f"  {name:30s} {spread}   CPU {used[name] * 1000 / repeats:7.1f}")
    for name in COMPARED:
        clause, plain = times[f"{name}, pattern"], times[f"{name}, plain SQL"]
        print(
            f"  {name}: pattern - plain SQL: p50 {statistics.median(clause) - statistics.median(plain):.1f}, least {min(clause) - min(plain):.1f}"
        )


def percentile(values: list[float], percent: int) -> float:
    """The value that ``percent`` of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def clients_at_once(server: Server, clients: int, queries: int) -> tuple[list[float], int]:
    """Each client asks about its own user, by a view of its own. Returns milliseconds of each query, and how many answers were wrong."""

    def client(number: int) -> tuple[list[float], int]:
        user, until = number % 31 + 1, 6 + number % 6
        times, wrong = [], 0
        with closing(server.connect()) as connection:
            ask(connection, f"CREATE TEMP VIEW mine AS SELECT * FROM events WHERE user_id = {user} AND ts <= {until}")
            expected = ask(connection, JOIN.format(table="mine", user=user))
            for _ in range(queries):
                answer: list[tuple[object, ...]] = []
                times.append(timed(lambda: answer.extend(ask(connection, PAIRS.format(table="mine", user=user)))))  # noqa: B023
                wrong += answer != expected or not expected
        return times, wrong

    with ThreadPoolExecutor(clients) as pool:
        done = list(pool.map(client, range(clients)))  # an error of a client is raised here
    return [value for own, _ in done for value in own], sum(wrong for _, wrong in done)


def many_clients(server: Server, clients: int, queries: int) -> None:
    """A quarter of the queries, then the rest, in new sessions; the memory between."""
    quarter = max(1, queries // 4)
    print(f"{clients} clients × {queries} queries; load average {os.getloadavg()[0]:.1f}")
    print(f"  at the start: {server.memory()}")
    for label, number in (("after a quarter", quarter), ("at the end", queries - quarter)):
        started, before = time.perf_counter(), server.cpu()
        times, wrong = clients_at_once(server, clients, number)
        seconds, used = time.perf_counter() - started, (server.cpu() - before) * 1000 / len(times)
        print(
            f"  {len(times)} queries in {seconds:.1f} s, {len(times) / seconds:.1f} queries/s, no error, {wrong} wrong answers, "
            f"p50 {statistics.median(times):.0f} ms, p95 {percentile(times, 95):.0f} ms, CPU {used:.0f} ms a query"
        )
        print(f"  {label}: {server.memory()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="few turns and 8 queries a client")
    parser.add_argument("--conf", action="append", default=[], help="a setting of the server, KEY=VALUE")
    chosen = parser.parse_args()
    queries, warm_up, repeats = (8, 8, 10) if chosen.quick else (chosen.queries, 40, 60)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), *(f"--conf={setting}" for setting in chosen.conf))
        try:
            with closing(server.connect()) as connection:
                ask(connection, EVENTS)
                latencies(server, connection, warm_up, repeats)
            many_clients(server, chosen.clients, queries)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
