"""CepError across the JVM: an error raised in Spark's parser callback reaches the Python caller as an equal one.

In the JVM it is an AnalysisException with the error's text (this is what Thrift clients see); ``SparkSession.sql`` in Python looks the text up and
raises the CepError.
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
"""The number of errors remembered: each is re-raised right after its creation, and only a few threads do so at a time."""

_errors: OrderedDict[str, CepError] = OrderedDict()


def remember(error: CepError) -> CepError:
    """Keep a copy of ``error`` for its Java counterpart's arrival in Python."""
    _errors[str(error)] = _untraced(error)
    while len(_errors) > _KEPT:
        _errors.popitem(last=False)
    return error


def translate_errors() -> None:
    """Make ``SparkSession.sql`` raise the CepError instead of its Java counterpart (idempotent)."""
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
    """The exception of Spark's parser, unwrapped if a Java proxy has wrapped it; any other exception unchanged."""
    wrapped = error.java_exception.getClass().getSimpleName() == "UndeclaredThrowableException"
    return spark_exception(error) if wrapped else error


def _original(error: PySparkException) -> CepError | None:
    text = str(error)
    if "[CEP_" not in text:
        return None
    return next((_untraced(kept) for message, kept in reversed(list(_errors.items())) if message in text), None)


def _untraced(error: CepError) -> CepError:
    """The same error, and what Spark said, without tracebacks: their frames would keep the session that it was raised in."""
    copy = error.at(error.sql, error.span, error.inside) if error.sql is not None else error.with_traceback(None)
    copy.__cause__ = error.__cause__
    cause: BaseException | None = copy.__cause__
    while isinstance(cause, (PySparkException, Py4JJavaError)):
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__
    return copy
