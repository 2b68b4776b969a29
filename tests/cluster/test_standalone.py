"""A Spark standalone cluster on this machine: sparkcep is sent to its workers as one file, and examples run there while a worker is lost."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from tests.cluster.program import SLICES

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "sql_examples"
NAMES = ("late_three_days_running", "knock_on_delay")
"""One for each clause. The worker is killed in the first."""

LAUNCH = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
DEPLOY = "org.apache.spark.deploy"
SETTINGS = {
    "spark.executor.memory": "600m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": str(SLICES),
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster; ``workers`` are process groups, ``cache`` is where their Python unpacks sparkcep."""

    master: str
    workers: tuple[int, ...]
    cache: Path


@pytest.fixture
def bare_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An interpreter with the libraries of this one but without sparkcep (whose editable install is a .pth file, which is read only in its own
    folder)."""
    monkeypatch.delenv("PYTHONPATH", raising=False)  # set by xdist for this process; drivers must not inherit it
    folder = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    libraries = next(folder.glob("lib/python*/site-packages"))
    (libraries / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    assert subprocess.run([python, "-c", "import sparkcep"], cwd=tmp_path, capture_output=True, check=False).returncode
    return python


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers of one core each, on 127.0.0.1."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    with ExitStack() as stack:
        master = _start(stack, folder / "master", f"{DEPLOY}.master.Master", "--port", "0")
        url = _wait_for(folder / "master", r"Starting Spark master at (spark://\S+)", master)
        resources = ("--port", "0", "--cores", "1", "--memory", "700m")
        workers = [_start(stack, folder / f"worker{i}", f"{DEPLOY}.worker.Worker", *resources, url) for i in (0, 1)]
        for i, worker in enumerate(workers):
            _wait_for(folder / f"worker{i}", r"Successfully registered with master (\S+)", worker)
        yield Cluster(url, tuple(worker.pid for worker in workers), folder / "cache" / "sparkcep")


def _start(stack: ExitStack, folder: Path, main: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A Spark daemon and its children in a separate process group, which is killed at the end."""
    folder.mkdir()
    environment = {"PATH": os.environ["PATH"], "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder / "work")}
    environment |= {"XDG_CACHE_HOME": str(folder.parent / "cache")}
    environment |= {name: os.environ[name] for name in ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "HOME") if name in os.environ}
    command = [LAUNCH, main, "--host", "127.0.0.1", "--webui-port", "0", *arguments]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    stack.callback(_kill, process)
    return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait_for(folder: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(pattern, (folder / "log").read_text())
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError((folder / "log").read_text()[-3000:])


def test_examples_on_a_cluster_that_loses_a_worker(cluster: Cluster, bare_python: Path, tmp_path: Path) -> None:
    """The commands of docs/clients.md: both examples return their rows, the first although a worker dies with its shuffle files; workers compile
    nothing, as ``sparkcep precompile --archive`` has sent them the kernels."""
    environment = _environment(bare_python)
    archive = tmp_path / "sparkcep.zip"
    precompile = [
        sys.executable,
        "-c",
        "from sparkcep.cli import main; main()",
        "precompile",
        "--archive",
        str(archive),
    ]
    subprocess.run(precompile, cwd=ROOT, env=environment, check=True, timeout=300)
    sent = {name for name in zipfile.ZipFile(archive).namelist() if name.endswith((".nbi", ".nbc"))}
    script = tmp_path / "script.sql"
    texts = [EXAMPLES / "setup" / "flights.sql", *(EXAMPLES / f"{name}.sql" for name in NAMES)]
    script.write_text(f"SET data={EXAMPLES / 'data'};\n" + "\n".join(path.read_text() for path in texts))
    conf = [f"--conf={name}={value}" for name, value in ({"spark.submit.pyFiles": archive} | SETTINGS).items()]
    program = [sys.executable, "-m", "tests.cluster.program", str(cluster.workers[0])]
    command = [*program, "sql", "--master", cluster.master, *conf, "-f", str(script)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.search(rf"one worker lost after \d+ of {SLICES} tasks", done.stdout), done.stdout
    assert _tables(done.stdout)[-2:] == [_expected(name) for name in NAMES]
    (unpacked,) = (folder for folder in cluster.cache.glob("*") if len(folder.name) == 16)
    assert {str(file.relative_to(unpacked)) for file in unpacked.rglob("*.nb?")} == sent


def _environment(python: Path) -> dict[str, str]:
    """For a driver whose workers run ``python``."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return inherited | {"PYTHONWARNINGS": "ignore", "PYSPARK_PYTHON": str(python)}


def _tables(output: str) -> list[list[list[str]]]:
    """The cells of each table that the command printed."""
    return [
        [re.split(r"\s{2,}", line.strip()) for line in table.splitlines() if line.strip()]
        for table in re.findall(r"─\s*\n((?:.*\n)*?)\s*\d+ rows,", output)
    ]


def _expected(name: str) -> list[list[str]]:
    _, *rows = csv.reader((EXAMPLES / "expected" / f"{name}.csv").open(newline=""))
    return rows
