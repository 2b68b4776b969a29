"""A query is followed while it runs: a line that says what it does, where it takes longer than a moment, and its end by Ctrl-C or a stop button."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from sparkcep.progress.status import Progress, status

AFTER = 2.0
"""Seconds before anything is shown."""
EACH = 0.5
"""Seconds between two looks."""

Show = Callable[[Progress | None], None]
"""Shows where a query is; None: it has ended, and nothing is left of what was shown."""


@contextmanager
def following(spark: SparkSession, show: Show) -> Iterator[None]:
    """What runs inside, in this thread, is shown; KeyboardInterrupt cancels its jobs, on the workers too. Over Spark Connect nothing is shown:
    the session has its own way (``registerProgressHandler``)."""
    if getattr(spark, "_jsparkSession", None) is None:
        yield
        return
    tag, ended = f"sparkcep-{uuid.uuid4().hex}", threading.Event()
    watch = threading.Thread(target=_watch, args=(spark, tag, show, ended), name="sparkcep-progress", daemon=True)
    spark.sparkContext.addJobTag(tag)
    watch.start()
    try:
        yield
    except KeyboardInterrupt:
        spark.sparkContext.cancelJobsWithTag(tag)
        raise
    finally:
        spark.sparkContext.removeJobTag(tag)
        ended.set()
        watch.join()


def _watch(spark: SparkSession, tag: str, show: Show, ended: threading.Event) -> None:
    began, shown = time.monotonic(), False
    pause = AFTER
    try:
        while not ended.wait(pause):
            pause = EACH
            found = status(spark, tag, time.monotonic() - began)
            if found is not None:
                shown = True
                show(found)
    except Py4JError:  # the session ends: there is nothing more to show
        pass
    finally:
        if shown:
            show(None)
