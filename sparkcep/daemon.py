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

MODULES = (
    "pyspark.worker",
    "pandas",
    "sql_functions.match_function",
    "sql_functions.aggregate_function",
    "sql_functions.expand_function",
    "sparkcep.streaming.bucket",
)
"""Of workers that run functions. What the other workers of PySpark do (they plan data sources) needs none of it."""


def prefer_folders() -> None:
    """Let PySpark be imported from the folder in which it is installed.

    On a worker's path Spark puts the archive first that lies in this folder, and Python compiles each module that it imports from an archive anew:
    0.7 s for PySpark's own.
    """
    folders = [entry for entry in sys.path if not entry.endswith((".zip", ".jar"))]
    found = [PathFinder.find_spec(name, folders) for name in ("pyspark", "py4j")]
    if all(spec is not None and spec.origin is not None for spec in found):
        home = os.path.join(os.path.dirname(os.path.realpath(found[0].origin)), "")  # type: ignore[arg-type, union-attr]
        sys.path[:] = [entry for entry in sys.path if not os.path.realpath(entry).startswith(home)]


def load() -> None:
    """Import what is there; a Python that lacks some of it fails in the worker, which says what it lacks."""
    for name in MODULES:
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    prefer_folders()
    if sys.argv[1:] == ["pyspark.worker"]:
        load()
    import_module("pyspark.daemon").manager()
