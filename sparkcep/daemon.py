"""``python -m sparkcep.daemon``, Spark's setting ``spark.python.daemon.module``: PySpark's daemon with what clauses need already imported.

The daemon forks a worker for each task that finds none idle. PySpark's imports nothing before: each worker spends a second of processor time on
Arrow, Polars and numba, the first ones, those after a minute without queries, and each one after a task that failed. Nothing that is imported here
has begun to work: no pool of threads exists that a fork would lose (``OMP_NUM_THREADS`` is 1 in Spark's workers; Polars makes its own when it is
first used).
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

MODULES = (
    "pyspark.worker",
    "pandas",
    "sql_functions.match_function",
    "sql_functions.aggregate_function",
    "sql_functions.expand_function",
    "sparkcep.streaming.bucket",
)
"""Of workers that run functions. What the other workers of PySpark do (they plan data sources) needs none of it."""

ALLOCATOR = ("ARROW_DEFAULT_MEMORY_POOL", "system")
"""Arrow's own allocators keep what is freed, a tenth to a fifth of what a worker grows by over a long partition; the system's does not, and takes no
more time (``benchmarks/README.md``)."""


def prefer_folders() -> None:
    """Let PySpark, and py4j, be imported from folders, as far as the folder is that of this very PySpark (pip's, or that of a distribution).

    On a worker's path Spark puts their archives first, and Python compiles each module that it imports from an archive anew: 0.7 s for PySpark's own.
    """
    folders = [entry for entry in sys.path if not entry.endswith((".zip", ".jar"))]
    found = PathFinder.find_spec("pyspark", folders)
    if found is None or found.origin is None:
        return
    home = Path(found.origin).resolve().parent
    libraries = (home / "python" / "lib", home.parent / "lib")

    def is_needed(entry: str) -> bool:
        path = Path(entry).resolve()
        name = path.name.partition("-")[0].partition(".")[0]
        return path.suffix != ".zip" or path.parent not in libraries or PathFinder.find_spec(name, folders) is None

    sys.path[:] = filter(is_needed, sys.path)


def load() -> None:
    """Import what is there; a Python that lacks some of it fails in the worker, which says what it lacks."""
    for name in MODULES:
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    prefer_folders()
    os.environ.setdefault(*ALLOCATOR)
    if sys.argv[1:] == ["pyspark.worker"]:
        load()
    import_module("pyspark.daemon").manager()
