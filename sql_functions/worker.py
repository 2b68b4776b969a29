"""A PySpark worker process: its latency for tasks on few rows (Linux only; elsewhere Spark's defaults remain), and how an error leaves it."""

from __future__ import annotations

import gc
import os
import socket
import stat
import sys
from contextlib import suppress

from sparkcep.errors import CepError, CepInternalError

_DESCRIPTORS = "/proc/self/fd"


def answer_at_once() -> None:
    """Acknowledge received data on this process's TCP connections at once, and do not delay writes.

    Called before a task's first rows are read. Spark writes a task's header and its rows separately, and its socket holds the rows back until the
    header is acknowledged (Nagle's algorithm), which Linux delays by 40 ms; a task on ten rows takes 3.
    """
    quick = getattr(socket, "TCP_QUICKACK", None)
    if quick is None or not os.path.isdir(_DESCRIPTORS):
        return
    for name in os.listdir(_DESCRIPTORS):
        with suppress(OSError):  # closed in the meantime, or not a TCP connection
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                connection = socket.socket(fileno=int(name))
                try:
                    connection.setsockopt(socket.IPPROTO_TCP, quick, 1)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                finally:
                    connection.detach()


def said_of(error: CepError, clause: str = "") -> CepError:
    """``error``, with the ``clause`` that it is about, for a task to end with. Spark shows it without a traceback, but for faults of sparkcep."""
    if not isinstance(error, CepInternalError):
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # Spark's own; this process ends with the task
    code = error.code[len(error.kind) + 1 :]
    message = f"{error.message}\nin {clause}" if clause else error.message
    return type(error)(message, code=code, hint=error.hint)


def settle() -> None:
    """Exclude the objects of newly imported modules from garbage collection. Called when a task ends.

    A worker runs a full collection after each task (``pyspark/daemon.py``). Over the objects of numba and pyarrow this takes 60 ms or more; a task on
    little data takes 3.
    """
    global _settled
    if len(sys.modules) != _settled:
        gc.collect()
        gc.freeze()
        _settled = len(sys.modules)


_settled = 0
"""The number of modules when objects were last frozen."""
