"""Kernels that are not compiled yet are compiled beside the session, in processes that no query waits for.

A query that comes first compiles the kernels that it needs itself; the others are there when it ends. On a cluster the workers' machines have
caches of their own (``sparkcep precompile --archive``).
"""

from __future__ import annotations

import os
import subprocess
import sys

from sparkcep.engines.kernel_cache import is_complete
from sparkcep.errors import CepAnalysisError

PRECOMPILE = "sparkcep.precompile"

_started: list[subprocess.Popen[bytes]] = []
"""The process that this one has started; it ends by itself."""


def compile_beside(setting: str, master: str) -> None:
    """Start compiling if the cache lacks kernels that this machine's workers need. ``setting``: PRECOMPILE's value."""
    if setting not in ("auto", "off"):
        raise CepAnalysisError(f"{PRECOMPILE} is {setting}", code="SETTING", hint="set it to auto or off")
    if setting == "off" or _started or not master.startswith("local") or is_complete():
        return
    jobs = max(len(os.sched_getaffinity(0)) // 4, 1)  # most of the machine is for the query that comes first
    command = [sys.executable, "-m", "sparkcep.engines.precompile", "--quiet", "--jobs", str(jobs)]
    _started.append(
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    )
