"""CepError across the JVM: an error raised in Spark's parser callback comes back to the Python caller as itself.

The JVM carries an AnalysisException with the error's text (that is what Thrift clients see); ``SparkSession.sql`` in Python looks the
text up and raises the CepError it came from.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.errors import CepError
from sql_functions.catalog import spark_exception

_KEPT = 32
"""Errors remembered: each is raised right after it was made, a few threads may be at it at once."""

_errors: OrderedDict[str, CepError] = OrderedDict()


def remember(error: CepError) -> CepError:
    """Keep ``error`` until its Java twin arrives in Python."""
    _errors[str(error)] = error
    while len(_errors) > _KEPT:
        _errors.popitem(last=False)
    return error


def translate_errors() -> None:
    """Make ``SparkSession.sql`` raise the CepError instead of its Java twin (idempotent)."""
    original = SparkSession.sql
    if hasattr(original, "__sparkcep__"):
        return

    @functools.wraps(original)
    def sql(self: SparkSession, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except PySparkException as error:
            cep_error = _original(error)
            if cep_error is None:
                raise
            raise cep_error from cep_error.__cause__
        except Py4JJavaError as error:
            raise _declared(error) from None

    sql.__sparkcep__ = True  # type: ignore[attr-defined]
    SparkSession.sql = sql  # type: ignore[method-assign]


def _declared(error: Py4JJavaError) -> Exception:
    """What Spark's parser raised, and Java let through wrapped; any other exception as it is."""
    wrapped = error.java_exception.getClass().getSimpleName() == "UndeclaredThrowableException"
    return spark_exception(error) if wrapped else error


def _original(error: PySparkException) -> CepError | None:
    text = str(error)
    if "[CEP_" not in text:
        return None
    return next((kept for message, kept in reversed(list(_errors.items())) if message in text), None)
