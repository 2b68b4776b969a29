"""Sessions that understand MATCH_RECOGNIZE and MATCH PATTERN.

``session`` creates one, ``install`` extends an existing one (classic or Spark Connect), ``rewrite`` shows what Spark gets, ``explain`` how a
statement is interpreted, ``explain_analyze`` what happens to its rows; ``match`` and ``match_recognize`` apply a clause to a DataFrame.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.session.config import DEFAULTS
from sparkcep.session.dataframes import match, match_automaton, match_recognize
from sparkcep.session.install import explain, explain_analyze, install, rewrite, timeline, uninstall
from sparkcep.session.workers import prepare_worker_python

__all__ = [
    "explain",
    "explain_analyze",
    "install",
    "match",
    "match_automaton",
    "match_recognize",
    "rewrite",
    "session",
    "timeline",
    "uninstall",
]


def session(app_name: str = "sparkcep", master: str | None = None, **config: Any) -> SparkSession:
    """A SparkSession with the extension installed.

    ``config``: Spark settings by their dotted names, ``session(**{"spark.sql.shuffle.partitions": 8})``. ``master`` defaults to that of Spark's
    environment, else ``local[*]``.
    """
    python = prepare_worker_python()
    builder = SparkSession.builder.appName(app_name).config("spark.pyspark.python", python)
    if master is not None:
        builder = builder.master(master)
    for name, value in {**DEFAULTS, **config}.items():
        builder = builder.config(name, value)
    return install(builder.getOrCreate())


class _Callable(ModuleType):
    """``sparkcep.session`` is the function and, once imported, this package: so the package is callable."""

    def __call__(self, *arguments: Any, **config: Any) -> SparkSession:
        return session(*arguments, **config)


sys.modules[__name__].__class__ = _Callable
