"""A PySpark worker process, told what a task on few rows would otherwise wait for. Linux; elsewhere Spark's own ways stay."""

from __future__ import annotations

import gc
import os
import socket
import stat
import sys
from contextlib import suppress

_DESCRIPTORS = "/proc/self/fd"


def answer_at_once() -> None:
    """Acknowledge what has arrived on this process's TCP connections, and hold back nothing that is written to them.

    Called before a task's first rows are read. Spark writes a task's header and its rows apart, and its socket keeps the rows back until the
    header is acknowledged (Nagle), which Linux puts off by 40 ms: where a task on ten rows takes 3.
    """
    quick = getattr(socket, "TCP_QUICKACK", None)
    if quick is None or not os.path.isdir(_DESCRIPTORS):
        return
    for name in os.listdir(_DESCRIPTORS):
        with suppress(OSError):  # closed meanwhile, or no TCP connection
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                connection = socket.socket(fileno=int(name))
                try:
                    connection.setsockopt(socket.IPPROTO_TCP, quick, 1)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                finally:
                    connection.detach()


def settle() -> None:
    """Keep what new modules hold out of garbage collections. Called when a task ends.

    A worker makes a full collection after each task (``pyspark/daemon.py``). Over the objects of numba and pyarrow it takes 60 ms and more,
    where a task on little data takes 3.
    """
    global _settled
    if len(sys.modules) != _settled:
        gc.collect()
        gc.freeze()
        _settled = len(sys.modules)


_settled = 0
"""The number of modules when the collector was last told to pass them over."""
