"""sparkcep against what people would use instead: seconds and memory by rows, window, length and selectivity, in one run.

In: the events of ``questions.py``, from a file. Peers (``peers.py``): Spark SQL without patterns, Flink SQL, DuckDB, pandas, pandas-match-recognize,
Siddhi and BoboCEP, each a process of its own, with what it needs in an environment of its own, made once under the temporary directory.
Out: a line for each point and peer, and ``--out``, JSON, from which ``draw.py`` draws the plots of ``docs/comparison.md``.

All peers must give the same answer to a question before any time of it counts. They take turns: each is asked once, then all ``--repetitions`` times,
which count. A time is from the query's text and a file to one row of counts and sums; starting the process is no part of it. The
processes are new for each question. A peer that does not answer within ``--limit`` seconds is stopped, and not asked the harder points of the
series; one that takes more than half of it is asked once only.

``--only`` measures some series anew, and keeps the others of ``--out``.

    python benchmarks/comparison [--quick] [--only rows,window,length,selectivity] [--repetitions N] [--limit SECONDS] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import scan
from peers import ALL, PEERS, Peer
from process import START_LIMIT, Answered, Failed, Process, Stopped
from questions import Case, plain
from row_pattern_flink import UnavailableError

HERE = Path(__file__).resolve().parent
COLD = 10_000
"""Rows of the question that each new process is asked first: what it takes is its cold time, and no point."""

ONCE = 0.5
"""Of the limit: a peer whose first answer to a point takes longer is not asked again."""


def series(quick: bool) -> list[tuple[str, list[Case]]]:
    """What varies, and its cases, of one question and from easy to hard."""
    rows = (10_000, 100_000) if quick else (30_000, 300_000, 3_000_000)
    base = 30_000 if quick else 300_000
    windows = (30, 100) if quick else (10, 30, 100, 300)
    lengths = (2, 3) if quick else (2, 3, 4, 5)
    rises = (20, None) if quick else (40, 20, 0, None)
    return [
        *(("rows", [Case(question, count) for count in rows]) for question in ALL),
        ("window", [Case("sequence", base, window=seconds) for seconds in windows]),
        ("length", [Case("sequence", base, length=length) for length in lengths]),
        ("length", [Case("sequence", base, window=windows[-1], length=length, rise=None) for length in lengths]),
        ("selectivity", [Case("sequence", base, rise=rise) for rise in rises]),
    ]


@dataclass(slots=True)
class Run:
    """What has been measured; written after each point."""

    out: Path
    about: dict[str, Any]
    points: list[dict[str, Any]] = field(default_factory=list)

    def add(self, varies: str, case: Case, peer: str, status: str, **measured: Any) -> None:
        """A point of a peer, printed too."""
        self.points.append({"varies": varies, **asdict(case), "peer": peer, "status": status, **measured})
        self.write()
        took = (
            f"{statistics.median(measured['seconds']):9.3f} s {measured['megabytes']:8,.0f} MB"
            if "seconds" in measured
            else ""
        )
        found = f"{measured['answer'][0]:>12,} found" if "answer" in measured else ""
        print(f"{varies:12}{_named(case):52}{peer:24}{status:10}{took}{found}", flush=True)

    def write(self) -> None:
        """All so far."""
        self.out.write_text(json.dumps({"about": self.about, "points": self.points}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Every series; the surroundings before and after."""
    options = _options()
    only = options.only.split(",")
    run, this = resumed(options, only), {"series": only, "began": scan.surroundings()}
    run.about["runs"].append(this)
    print(f"{run.about['machine']}; {this['began']}", flush=True)
    for question in ALL:
        with ended() as processes:
            for varies, cases in series(options.quick):
                if varies in only and cases[0].question == question:
                    start(cases[0], processes, run)
                    for case in cases:
                        measure(varies, case, processes, run, options)
    this["ended"] = scan.surroundings()
    run.write()
    print(this["ended"])


def resumed(options: argparse.Namespace, only: Sequence[str]) -> Run:
    """What ``--out`` has of other series, if only some are measured."""
    run = Run(options.out, {"machine": _machine(), "limit": options.limit, "runs": []})
    if options.out.exists() and len(only) < len({varies for varies, _ in series(options.quick)}):
        kept = json.loads(options.out.read_text(encoding="utf-8"))
        run.points = [point for point in kept["points"] if point["varies"] not in only]
        run.about = kept["about"] | {"limit": max(options.limit, kept["about"]["limit"])}
    run.about["peers"] = {peer.name: list(peer.packages[:1]) for peer in PEERS}
    return run


@contextmanager
def ended() -> Iterator[dict[str, Process]]:
    """Processes by the names of their peers, all of which end with this."""
    processes: dict[str, Process] = {}
    try:
        yield processes
    finally:
        for process in processes.values():
            process.stop()


def start(case: Case, processes: dict[str, Process], run: Run) -> None:
    """A process for each peer that can be asked and can be had here; all are new if one has been stopped, so that all are equally warm. The first
    question to it is not counted; its seconds are kept, as cold."""
    asked = [peer for peer in PEERS if case.question in peer.asked]
    if any(peer.name not in processes for peer in asked):
        while processes:
            processes.popitem()[1].stop()
    for peer in asked:
        if peer.name not in processes:
            try:
                process = processes[peer.name] = Process(peer.command(), scan.CACHE / f"{peer.name}.log")
                cold = process.ask(_request(peer, replace(case, rows=COLD)), START_LIMIT).seconds
                run.about.setdefault("cold", {}).setdefault(case.question, {}).setdefault(peer.name, round(cold, 2))
            except (UnavailableError, Failed, Stopped) as error:
                run.about.setdefault("missing", {})[peer.name] = str(error)
                print(f"{peer.name} cannot be measured here: {error}", flush=True)


def measure(varies: str, case: Case, processes: dict[str, Process], run: Run, options: argparse.Namespace) -> None:
    """A point: answers first, which must agree, then turns. Who is stopped leaves ``processes``."""
    asks = {peer.name: _asking(peer, case, processes, options.limit) for peer in PEERS if peer.name in processes}
    answers: dict[str, list[Answered]] = {}
    for name, ask in asks.items():
        try:
            answers[name] = [ask()]
        except (Stopped, Failed) as error:
            processes.pop(name).stop()
            run.add(varies, case, name, "stopped" if isinstance(error, Stopped) else "failed", reason=str(error))
    rows = {name: first[0].row for name, first in answers.items()}
    if len(set(rows.values())) > 1:
        sys.exit(f"different answers to {_named(case)}: {rows}")
    again = [name for name, first in answers.items() if first[0].seconds < ONCE * options.limit]
    for _ in range(options.repetitions):
        for name in again:
            with suppress(Stopped, Failed):
                answers[name].append(asks[name]())
    for name, (first, *timed) in answers.items():
        times = [one.seconds for one in timed or [first]]
        most = max(one.megabytes for one in [first, *timed])
        run.add(varies, case, name, "answered", seconds=times, first=first.seconds, megabytes=most, answer=first.row)


def _asking(peer: Peer, case: Case, processes: dict[str, Process], limit: float) -> Callable[[], Answered]:
    request = _request(peer, case)
    return lambda: processes[peer.name].ask(request, limit)


def _request(peer: Peer, case: Case) -> dict[str, Any]:
    return case.request(scan.CACHE) | {"text": peer.text(case), "fallback": plain(case)}


def _named(case: Case) -> str:
    rise = "any price" if case.rise is None else f"rise {case.rise}"
    detail = {"vee": "", "funnel": f"{case.window} s, length {case.length}"}
    return f"{case.question} {case.rows:,} rows {detail.get(case.question, f'{case.window} s, length {case.length}, {rise}')}"


def _machine() -> str:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / (1 << 20)
    return f"{len(names)} x {names[0].partition(': ')[2]}, {memory:.0f} GB"


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small, few points, not for publication")
    parser.add_argument("--only", default="rows,window,length,selectivity")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    options.repetitions = options.repetitions or (1 if options.quick else 2)
    options.out = options.out or (scan.CACHE / "quick.json" if options.quick else HERE / "results.json")
    return options


if __name__ == "__main__":
    main()
