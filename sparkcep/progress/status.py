"""What Spark knows of the jobs of a running query, as plain data. Spark's listeners keep it; asking costs some milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_CLAUSE = "PythonUDTF"
_ROWS = "number of output rows"
_LATEST = 16
"""Queries among which that of a tag is looked for."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A running query.

    ``stage``: its number, from 1; with adaptive execution Spark knows later ones only when it comes to them. ``done`` of ``tasks``: those of the
    stages that run now, one for each of Spark's partitions. ``rows``: read so far from sources. ``matches``: rows that the pattern clauses have
    returned by Spark's last count (executors report every few seconds); None: there are no clauses.
    """

    seconds: float
    stage: int
    done: int
    tasks: int
    rows: int = 0
    matches: int | None = None

    def __str__(self) -> str:
        parts = [f"stage {self.stage}", f"{self.done} of {self.tasks} partitions done"]
        if self.rows:
            parts.append(f"{self.rows:,} rows read")
        if self.matches is not None:
            parts.append(f"{self.matches:,} matches so far")
        return ", ".join([*parts, f"{self.seconds:.0f} s"])


def status(spark: SparkSession, tag: str, seconds: float) -> Progress | None:
    """The jobs of a classic session with this tag; None: nothing runs. Raises Py4JError where the session is being stopped."""
    context = spark.sparkContext._jsc.sc()
    jobs = frozenset(context.statusTracker().getJobIdsForTag(tag))
    stages = [stage for job in jobs for stage in _stages(context, job)]
    states = [stage.status().toString() for stage in stages]
    running = [stage for stage, state in zip(stages, states, strict=True) if state == "ACTIVE"]
    if not running:
        return None
    return Progress(
        seconds,
        states.count("COMPLETE") + 1,
        sum(stage.numCompleteTasks() for stage in running),
        sum(stage.numTasks() for stage in running),
        sum(stage.inputRecords() for stage in stages),
        _matches(spark, jobs),
    )


def of_server(stages: Sequence[Any], seconds: float) -> Progress | None:
    """What a Spark Connect server says of an operation's ``stages``; None: nothing runs."""
    running = [stage for stage in stages if not stage.done and stage.num_tasks]
    if not running:
        return None
    return Progress(
        seconds,
        len(stages) - len(running) + 1,
        sum(stage.num_completed_tasks for stage in running),
        sum(stage.num_tasks for stage in running),
    )


def _stages(context: Any, job: int) -> Iterator[Any]:
    """The stages of a job that have begun."""
    info = context.statusTracker().getJobInfo(job)
    for number in info.get().stageIds() if info.isDefined() else ():
        with suppress(Py4JJavaError):  # one that has not begun
            yield context.statusStore().lastStageAttempt(number)


def _matches(spark: SparkSession, jobs: frozenset[int]) -> int | None:
    store = spark._jsparkSession.sharedState().statusStore()
    count = store.executionsCount()
    found: list[int] = []
    for execution in _items(store.executionsList(max(count - _LATEST, 0), _LATEST)):
        if not any(execution.jobs().contains(job) for job in jobs):
            continue
        known = store.executionMetrics(execution.executionId())
        for node in _items(store.planGraph(execution.executionId()).allNodes()):
            if _CLAUSE in node.name():
                found += _counted(node, known)
    return sum(found) if found else None


def _counted(node: Any, known: Any) -> Iterator[int]:
    for metric in _items(node.metrics()):
        if metric.name() == _ROWS:
            value = known.get(metric.accumulatorId())
            yield int(value.get().replace(",", "")) if value.isDefined() else 0


def _items(sequence: Any) -> Iterator[Any]:
    """A Scala collection."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()
