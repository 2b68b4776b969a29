"""A query is followed while it runs: a line that says what it does, where it takes longer than a moment, and its end by Ctrl-C or a stop button."""

from __future__ import annotations

import queue
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.progress.status import Progress, of_server, status

AFTER = 2.0
"""Seconds before anything is shown."""
EACH = 0.5
"""Seconds between two looks."""

Show = Callable[[Progress | None], None]
"""Shows where a query is; None: it has ended, and nothing is left of what was shown."""


@contextmanager
def following(spark: SparkSession, show: Show) -> Iterator[None]:
    """What runs inside, in this thread, is shown; Ctrl-C and a stop button cancel its jobs, on the workers too, and end in KeyboardInterrupt. A
    Spark Connect server tells no number of rows."""
    if getattr(spark, "_jsparkSession", None) is None:
        with _following_server(spark, show):
            yield
        return
    tag, asked = f"sparkcep-{uuid.uuid4().hex}", queue.SimpleQueue[bool]()
    watch = threading.Thread(target=_watch, args=(spark, tag, show, asked), name="sparkcep-progress", daemon=True)
    spark.sparkContext.addJobTag(tag)
    watch.start()
    with _interrupts(lambda: asked.put(True)) as interrupted:
        try:
            yield
        except (PySparkException, Py4JJavaError):
            if interrupted():
                raise KeyboardInterrupt from None
            raise
        finally:
            spark.sparkContext.removeJobTag(tag)
            asked.put(False)
            watch.join()


@contextmanager
def _following_server(spark: Any, show: Show) -> Iterator[None]:
    """The same over Spark Connect, whose client calls back while it waits, and can be interrupted."""
    began, tag, shown = time.monotonic(), f"sparkcep-{uuid.uuid4().hex}", False

    def handler(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        nonlocal shown
        seconds = time.monotonic() - began
        found = None if done else of_server(list(stages), seconds)
        if found is not None and seconds >= AFTER:
            shown = True
            show(found)

    spark.registerProgressHandler(handler)
    spark.addTag(tag)
    try:
        yield
    except KeyboardInterrupt:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeTag(tag)
        spark.removeProgressHandler(handler)
        if shown:
            show(None)


@contextmanager
def _interrupts(cancel: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """The first SIGINT calls ``cancel`` and raises nothing, because this thread waits for Spark, on a connection that cancelling could not use; the
    second does what it did before. Gives whether there was one."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before, came = signal.getsignal(signal.SIGINT), threading.Event()

    def first(number: int, frame: Any) -> None:
        came.set()
        signal.signal(signal.SIGINT, before)
        cancel()

    signal.signal(signal.SIGINT, first)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _watch(spark: SparkSession, tag: str, show: Show, asked: queue.SimpleQueue[bool]) -> None:
    """Look, until ``asked`` says False: it has ended. True: cancel it, and what it begins after that."""
    began, shown, cancelled = time.monotonic(), False, False
    pause = AFTER
    try:
        while True:
            try:
                cancelled = asked.get(timeout=pause)
                if not cancelled:
                    return
            except queue.Empty:
                pass
            pause = EACH
            if cancelled:
                spark.sparkContext.cancelJobsWithTag(tag)
            found = status(spark, tag, time.monotonic() - began)
            if found is not None and not cancelled:
                shown = True
                show(found)
    except Py4JError:  # the session ends: there is nothing more to show
        pass
    finally:
        if shown:
            show(None)
