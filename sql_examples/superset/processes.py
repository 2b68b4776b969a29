"""The two servers of the run, each a process on 127.0.0.1: Superset, and sparkcep's Thrift server."""

from __future__ import annotations

import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from environment import ROOT

ADMIN = ("admin", secrets.token_urlsafe(12))
START_SECONDS = 300
SETTINGS = {"spark.log.level": "ERROR", "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}


@contextmanager
def thrift_server(folder: Path) -> Iterator[int]:
    """``sparkcep thriftserver`` with an empty warehouse in ``folder``; gives its port."""
    settings = [f"--conf={name}={value}" for name, value in SETTINGS.items()]
    program = [sys.executable, "-c", "from sparkcep.cli import main; main()", "thriftserver"]
    command = [*program, "--port", "0", "--warehouse", str(folder / "warehouse"), *settings]
    variables = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    log = folder / "thriftserver.log"

    def port() -> int | None:
        ready = re.search(r"ready: jdbc:hive2://\S+:(\d+)\n", log.read_text())
        return int(ready[1]) if ready else None

    with _process(command, variables, log) as process:
        yield _awaited(process, log, port)


@contextmanager
def superset(programs: Path, folder: Path) -> Iterator[str]:
    """Superset with an empty database in ``folder``, and the user ADMIN; gives its address."""
    log = folder / "superset.log"
    variables = {
        "SUPERSET_CONFIG_PATH": str(Path(__file__).with_name("superset_config.py")),
        "SUPERSET_SECRET_KEY": secrets.token_urlsafe(42),
        "SUPERSET_HOME": str(folder),
        "FLASK_APP": "superset.app:create_app()",
    }
    program = str(programs / "superset")
    user = ["--username", ADMIN[0], "--password", ADMIN[1], "--firstname", "A", "--lastname", "B", "--email", "a@b.c"]
    for arguments in (["db", "upgrade"], ["fab", "create-admin", *user], ["init"]):
        with _process([program, *arguments], variables, log) as process:
            if process.wait(START_SECONDS):
                raise RuntimeError(f"superset {arguments[0]} failed:\n{log.read_text()[-4000:]}")
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    command = [program, "run", "--host", "127.0.0.1", "--port", str(port), "--with-threads"]
    with _process(command, variables, log) as process:
        _awaited(process, log, lambda: _answers(f"{address}/health"))
        yield address


@contextmanager
def _process(command: list[str], variables: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its output in ``log``; ended when the block ends."""
    with log.open("a") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **variables}, cwd=log.parent, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _awaited(process: subprocess.Popen[bytes], log: Path, ready: Callable[[], Any]) -> Any:
    """What ``ready`` gives, as soon as it gives something."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := ready():
            return found
        time.sleep(0.5)
    raise RuntimeError(f"{log.stem} did not start:\n{log.read_text()[-4000:]}")


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
