"""Sessions come and go (a Thrift server makes one for each connection): nothing of them stays."""

from __future__ import annotations

import gc
import time
from typing import Any

from pyspark.sql import SparkSession

QUERY = "SELECT COUNT(*) FROM e MATCH PATTERN (SEQ(A a, B b) ORDER BY ts)"


def test_a_session_that_is_let_go_is_collected(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    sessions, plain = ([jvm.java.lang.ref.WeakReference(use(spark)) for _ in range(4)] for use in (used, unused))
    used(spark)  # Spark keeps the session that was active last
    # a thread that Spark starts for a pool of its own inherits the session that is active then; and where py4j collects nothing any more, in a
    # process that has run many tests, a session that has seen no clause stays as well
    deadline = time.monotonic() + 30
    while held(sessions) > 1 and time.monotonic() < deadline:
        gc.collect()
        jvm.System.gc()
        time.sleep(0.2)
    assert held(sessions) <= max(1, held(plain))


def held(sessions: list[Any]) -> int:
    return sum(session.get() is not None for session in sessions)


def unused(spark: SparkSession) -> Any:
    session = spark.newSession()
    session.sql("SELECT 1").collect()
    return session._jsparkSession


def used(spark: SparkSession) -> Any:
    session = spark.newSession()
    session.sql("CREATE TEMP VIEW e AS SELECT * FROM VALUES (1, 'A'), (2, 'B') AS e(ts, event_type)")
    session.sql(QUERY)
    return session._jsparkSession
