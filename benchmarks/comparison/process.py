"""A peer as a process: asked over pipes, watched, and stopped at a limit. In: the command. Out: answers, seconds, megabytes; Stopped, Failed.

Memory is what the process and its children own: proportional set sizes, so that what forked workers share counts once, sampled every SAMPLE
seconds while a request runs.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from serve import MARK
from stream_soak import family, kilobytes

SAMPLE = 0.5
START_LIMIT = 180.0


class Stopped(Exception):
    """A request was not answered within its limit; the process is gone."""


class Failed(Exception):
    """The peer said that it cannot answer, or ended."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The row, the seconds that the peer counted, and the most megabytes meanwhile."""

    row: tuple[int, ...]
    seconds: float
    megabytes: float


class Process:
    """A running peer. Has real state: the child and what it said."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        """Start it and wait until it is ready. Raises Failed, Stopped."""
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        with log.open("w") as errors:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )
        threading.Thread(target=self._listen, daemon=True).start()
        self._next(START_LIMIT)

    def ask(self, request: dict[str, Any], limit: float) -> Answered:
        """Raises Stopped, Failed."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError as error:
            raise Failed("the process ended") from error
        said, most = self._next(limit)
        if "error" in said:
            raise Failed(said["error"])
        return Answered(tuple(said["answer"]), said["seconds"], most)

    def stop(self) -> None:
        """End it and what it started."""
        for process in [*family(self._child.pid), self._child.pid]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._child.wait()

    def _listen(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if line.startswith(MARK):
                self._said.put(json.loads(line.removeprefix(MARK)))
        self._said.put(None)

    def _next(self, limit: float) -> tuple[dict[str, Any], float]:
        """What it says next, and the most megabytes until then."""
        until, most = time.monotonic() + limit, 0.0
        while time.monotonic() < until:
            try:
                said = self._said.get(timeout=SAMPLE)
            except queue.Empty:
                most = max(most, self._megabytes())
                continue
            if said is None:
                raise Failed("the process ended")
            return said, max(most, self._megabytes())
        self.stop()
        raise Stopped(f"stopped after {limit:g} s")

    def _megabytes(self) -> float:
        return sum(kilobytes(one, "Pss:") for one in {self._child.pid, *family(self._child.pid)}) / 1024
