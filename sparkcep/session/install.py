"""Put the extension into a session and take it out again, whatever kind of session it is."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sparkcep.session import classic, connect


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
