"""The Python of Spark's workers: which interpreter they run, and what it has imported before a task waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

DAEMON = "spark.python.daemon.module"
MODULE = "sparkcep.daemon"


def prepare_worker_python() -> str:
    """Workers run the driver's interpreter unless PYSPARK_PYTHON says otherwise; returns the interpreter's path."""
    return os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def point_workers(context: Any) -> None:
    """Set the Python interpreter for new functions in a running SparkContext, if it was left at Spark's default."""
    if "PYSPARK_PYTHON" not in os.environ and context.pythonExec == "python3":
        context.pythonExec = context.getConf().get("spark.pyspark.python", sys.executable)


def preload_workers(context: Any) -> None:
    """Workers on this machine are forked by ``sparkcep.daemon``, unless the user has set another daemon.

    Not on a cluster: a package that Spark sends there is known to a worker, but not to the daemon before it. Spark reads the setting when a function
    is first called.
    """
    conf = context._jsc.sc().conf()
    local = context.master.startswith("local") and not context.master.startswith("local-cluster")
    if local and not conf.contains(DAEMON) and _finds_daemon(context.pythonExec):
        conf.set(DAEMON, MODULE)


@cache
def _finds_daemon(python: str) -> bool:
    """Whether this interpreter finds the package by itself, as it does where that is installed, and not where a program has added it to its path."""
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{MODULE.partition('.')[0]}') is None)"
    try:
        return subprocess.run([python, "-c", look], capture_output=True, check=False).returncode == 0
    except OSError:
        return False
