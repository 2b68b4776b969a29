"""``sparkcep sql`` with a thread that kills a worker in the middle of the first pattern query.

Arguments: the process group of the worker, then the command's own. Prints what the command prints, and a line about the worker.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from pyspark.sql import SparkSession

from sparkcep.cli import main

SLICES = 12
"""Shuffle partitions: the stage with this many tasks is the one that matches patterns."""


LOOK = 0.05
"""Seconds between two looks at what Spark does; a task takes several times as long, and each look takes a part of its time."""


def kill_in_the_middle(process_group: int) -> None:
    """Kill when some tasks of the stage are done and others are not; then wait until Spark has noticed."""
    while (spark := SparkSession._instantiatedSession) is None:
        time.sleep(0.05)
    context = spark.sparkContext
    done = _wait_until_half_done(context.statusTracker())
    os.killpg(process_group, signal.SIGKILL)
    while context._jsc.sc().getExecutorMemoryStatus().size() > 2:  # the driver and the executor that is left
        time.sleep(LOOK)
    print(f"one worker lost after {done} of {SLICES} tasks", flush=True)


def _wait_until_half_done(status: object) -> int:
    while True:
        for stage in map(status.getStageInfo, status.getActiveStageIds()):  # type: ignore[attr-defined]
            if stage is not None and stage.numTasks == SLICES and 1 <= stage.numCompletedTasks < SLICES - 2:
                return int(stage.numCompletedTasks)
        time.sleep(LOOK)


if __name__ == "__main__":
    threading.Thread(target=kill_in_the_middle, args=(int(sys.argv.pop(1)),), daemon=True).start()
    main()
