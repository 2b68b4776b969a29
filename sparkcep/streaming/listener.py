"""Spark's listener of streaming queries: one a session, for all that look at the progress of its queries; and what a query with clauses needs.

Not in Spark Connect, where the listener cannot be in the driver.
"""

from __future__ import annotations

import atexit
import json
import logging
from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import SparkSession

LOGGER = logging.getLogger("sparkcep")
REUSE = "spark.sql.exchange.reuse"
"""Whether Spark computes equal exchanges once. It then never tells a stateful operator above the second one how far time is: two clauses over the
same columns of a stream, and the second emits nothing."""
WAIT = 2_000
"""Milliseconds that an ending process waits for events that are on their way."""


class Observer(Protocol):
    """Looks at streaming queries."""

    def progressed(self, progress: Mapping[str, Any]) -> None:
        """After a micro-batch; ``progress``: as Spark reports it."""

    def ended(self, run: str, query: str) -> None:
        """A run of a query has ended; both by their ids."""


class Listener:
    """org.apache.spark.sql.streaming.PythonStreamingQueryListener."""

    def __init__(self, session: Any) -> None:
        self.observers: list[Observer] = []
        self._session = session

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Spark's call after a micro-batch."""
        progress = json.loads(event.progress().json())
        for observer in self.observers:
            observer.progressed(progress)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Spark's call."""
        for observer in self.observers:
            observer.ended(str(event.runId()), str(event.id()))

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Spark's call before the first micro-batch is planned, in a session of the query's own."""
        try:
            query = self._session.streams().get(event.id()).streamingQuery()
            query.sparkSessionForStream().conf().set(REUSE, "false")
        except Exception as error:  # no reason to end the query: most have one clause
            LOGGER.warning("%s could not be set for the query %s: %s", REUSE, event.id(), error)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Spark's call: nothing to do."""

    class Java:
        implements = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]


_LISTENERS: dict[str, Listener] = {}
"""Those of sessions, by their ids."""


def observe(spark: SparkSession, observer: Observer) -> None:
    """Show ``observer`` all queries that the session starts from now on, which are planned without ``REUSE``; one of each class."""
    if not hasattr(spark, "_jsparkSession"):
        spark.conf.set(REUSE, "false")
        return
    session: Any = spark._jsparkSession
    name = str(session.sessionUUID())
    listener = _LISTENERS.get(name)
    if listener is None:
        listener = _LISTENERS[name] = Listener(session)
        wrapper = spark._jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper  # type: ignore[union-attr]
        session.streams().addListener(wrapper(listener))
        if len(_LISTENERS) == 1:
            atexit.register(heard, spark.sparkContext)
    if not any(type(one) is type(observer) for one in listener.observers):
        listener.observers.append(observer)


def heard(context: Any) -> None:
    """Before Python or Spark ends, events of queries that have ended arrive: there would be nobody to tell. No session is kept for that."""
    try:
        context._jsc.sc().listenerBus().waitUntilEmpty(WAIT)
    except Exception:  # Spark has ended before, or still has much to tell
        return
