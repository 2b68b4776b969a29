"""``sparkcep thriftserver`` as a process of its own, started and stopped by the tests."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pyhive import hive

from tests.shared_jvm import environment
from tests.spark_setup import SETTINGS

COMMAND = [sys.executable, "-c", "from sparkcep.cli import main; main()", "thriftserver"]
QUIET = SETTINGS | {"spark.log.level": "ERROR"}
START_SECONDS = 180


class Server:
    """One server process; ``folder`` gets its output."""

    def __init__(
        self, folder: Path, *arguments: str, settings: Mapping[str, str], variables: Mapping[str, str]
    ) -> None:
        conf = [f"--conf={name}={value}" for name, value in {**QUIET, **settings}.items()]
        self._output = folder / "server.out"
        self._errors = folder / "server.err"
        command = [*COMMAND, "--port", "0", "--master", "local[2]", *conf, *arguments]
        with self._output.open("w") as output, self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment() | variables, stdout=output, stderr=errors
            )
        self.port = self._ready_port()

    def _ready_port(self) -> int:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            ready = re.search(r"ready: jdbc:hive2://\S+:(\d+)\n", self._output.read_text())
            if ready:
                return int(ready[1])
            time.sleep(0.1)
        self.kill()
        raise AssertionError(f"no ready line:\n{self.output()}")

    def output(self) -> str:
        return self._output.read_text() + self._errors.read_text()[-4000:]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal; returns the exit code."""
        self.process.send_signal(number)
        try:
            return self.process.wait(60)
        finally:
            self.kill()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def connect(self, **configuration: str) -> hive.Connection:
        """A PyHive connection: a session of its own."""
        return hive.connect("127.0.0.1", self.port, username="analyst", configuration=configuration)


class Servers:
    """One warehouse and at most one server on it: Spark's embedded metastore serves one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: tuple[tuple[dict[str, str], dict[str, str]], Server] | None = None

    def ensure(self, settings: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None) -> Server:
        """The server with these settings and environment variables: the one that runs, or a new one in its place, on the same warehouse."""
        wanted = dict(settings or {}), dict(variables or {})
        if self._running is not None and self._running[0] == wanted:
            return self._running[1]
        self.stop()
        warehouse = str(self._folder / "warehouse")
        server = Server(self._folder, "--warehouse", warehouse, settings=wanted[0], variables=wanted[1])
        self._running = wanted, server
        return self._running[1]

    def stop(self) -> None:
        if self._running is not None:
            server, self._running = self._running[1], None
            assert server.stop() == 0, server.output()
            assert "has stopped" in server.output()


def rows(connection: hive.Connection, *statements: str) -> list[tuple[object, ...]]:
    """The rows of the last statement (none where it has no result)."""
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    found: list[tuple[object, ...]] = cursor.fetchall() if cursor.description else []
    cursor.close()
    return found
