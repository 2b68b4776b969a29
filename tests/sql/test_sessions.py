"""Sessions come and go (a Thrift server makes one for each connection): nothing of them stays."""

from __future__ import annotations

import gc
import logging
import sys
import time
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from sparkcep.errors import CepAnalysisError
from sparkcep.session.classic import _parser_of

QUERY = "SELECT COUNT(*) FROM e MATCH PATTERN (SEQ(A a, B b) ORDER BY ts)"


def test_a_session_that_is_let_go_is_collected(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its clauses were rewritten or refused. Sessions that run a job with a shuffle or a broadcast stay for another minute: Spark's threads
    of these pools inherit the session that is active when they start, and end 60 s after their last use."""
    monkeypatch.setattr(
        logging.getLogger("py4j.clientserver"), "disabled", True
    )  # pytest keeps its records, with their tracebacks
    jvm: Any = spark._jvm
    sessions, errors, plain = (
        [jvm.java.lang.ref.WeakReference(use(spark, number)) for number in range(4)] for use in (used, refused, unused)
    )
    used(spark)  # Spark keeps the session that was active last
    # where py4j collects nothing any more, in a process that has run many tests, a session that has seen no clause stays as well
    deadline = time.monotonic() + 30
    while max(held(sessions), held(errors)) > 1 and time.monotonic() < deadline:
        gc.collect()
        jvm.System.gc()
        time.sleep(1)
    assert held(sessions) <= max(1, held(plain))
    assert held(errors) <= max(1, held(plain))


def test_spark_gets_its_parsers_own_exceptions(spark: SparkSession) -> None:
    """Of every method: Spark Connect parses a type as a schema first, and catches what that throws."""
    parser = _parser_of(spark.sparkContext, spark._jsparkSession)
    with pytest.raises(Py4JJavaError) as thrown:
        parser.parseTableSchema("string")
    assert thrown.value.java_exception.getClass().getSimpleName() == "ParseException"
    assert parser.parseDataType("string").json() == '"string"'


def held(sessions: list[Any]) -> int:
    """Asked without ``get()``: a session in Python's hands is held until py4j's own thread has said otherwise."""
    return sum(not session.refersTo(None) for session in sessions)


def unused(spark: SparkSession, _: int = 0) -> Any:
    session = spark.newSession()
    session.sql("SELECT 1").collect()
    return session._jsparkSession


def used(spark: SparkSession, _: int = 0) -> Any:
    session = spark.newSession()
    session.sql("CREATE TEMP VIEW e AS SELECT * FROM VALUES (1, 'A'), (2, 'B') AS e(ts, event_type)")
    session.sql(QUERY)
    return session._jsparkSession


def refused(spark: SparkSession, number: int) -> Any:
    """Each with an error of its own."""
    session = spark.newSession()
    session.sql("CREATE TEMP VIEW e AS SELECT * FROM VALUES (1, 'A'), (2, 'B') AS e(ts, event_type)")
    with pytest.raises(CepAnalysisError, match=f"no_{number}"):
        session.sql(QUERY.replace("ORDER BY ts", f"ORDER BY no_{number}"))
    return session._jsparkSession


def test_workers_are_forked_with_their_imports_done(spark: SparkSession) -> None:
    names = ("polars", "numba", "sql_functions.match_function")
    imported = udf(lambda _: [name in sys.modules for name in names], "array<boolean>")
    assert spark.range(1).select(imported("id")).head() == ([True, True, True],)
