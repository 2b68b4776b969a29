"""Checks that a Spark Connect server can run patterns: its Python workers import packages that the client does not send."""

from __future__ import annotations

from typing import Any

from pyspark.sql.functions import udf

from sparkcep.errors import CepUnsupportedError

NEEDED = ("sparkcep", "rewrites", "sql_functions", "pyarrow", "polars", "numpy", "numba")
"""The packages that the workers import."""

_FOUND = "_sparkcep_server_has_packages"


def require_packages(spark: Any) -> None:
    """Check the server's Python once per session, by a job of one row. Raises CepUnsupportedError for missing packages."""
    if getattr(spark, _FOUND, False):
        return
    look = udf(_missing(list(NEEDED)), "string", useArrow=False)
    interpreter, _, missing = spark.range(0, 1, 1, 1).select(look("id")).first()[0].partition("\n")
    if missing:
        raise CepUnsupportedError(
            f"the Python of the Spark Connect server ({interpreter}) has no {missing}",
            code="SERVER_PACKAGES",
            hint="pip install sparkcep there, or start the server with PYSPARK_PYTHON set to a Python that has it",
        )
    setattr(spark, _FOUND, True)


def _missing(needed: list[str]) -> Any:
    """A function that Spark pickles by value, because it is nested: the server needs no package to load it."""

    def missing(_: Any) -> str:
        import sys
        from importlib.util import find_spec

        return f"{sys.executable}\n{', '.join(name for name in needed if find_spec(name) is None)}"

    return missing
