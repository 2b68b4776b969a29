"""Sessions that understand MATCH_RECOGNIZE and MATCH PATTERN.

``session`` makes one, ``install`` extends one that exists (classic or Spark Connect), ``rewrite`` shows what Spark gets.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sparkcep.session import classic, connect
from sparkcep.session.config import DEFAULTS, prepare_worker_python


def session(app_name: str = "sparkcep", master: str | None = None, **config: Any) -> SparkSession:
    """A SparkSession with the extension in it.

    ``config``: Spark settings by their dotted names, ``session(**{"spark.sql.shuffle.partitions": 8})``. ``master`` defaults to what
    Spark finds in its environment, else ``local[*]``.
    """
    python = prepare_worker_python()
    builder = SparkSession.builder.appName(app_name).config("spark.pyspark.python", python)
    if master is not None:
        builder = builder.master(master)
    for name, value in {**DEFAULTS, **config}.items():
        builder = builder.config(name, value)
    return install(builder.getOrCreate())


def install(spark: SparkSession) -> SparkSession:
    """Put the extension into ``spark`` (and its later ``newSession()``s) and return it. Doing it twice is harmless."""
    _side(spark).install(spark)
    return spark


def uninstall(spark: SparkSession) -> SparkSession:
    """Take the extension out of ``spark`` and return it."""
    _side(spark).uninstall(spark)
    return spark


def rewrite(text: str, spark: SparkSession) -> str:
    """The SQL that Spark gets for ``text``; a statement without a pattern clause comes back as it is."""
    return str(_side(spark).rewritten(spark, text))


def _side(spark: Any) -> Any:
    """The module for the session's kind."""
    return connect if type(spark).__module__.startswith("pyspark.sql.connect") else classic
