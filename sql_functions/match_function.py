"""The Arrow UDTF behind every pattern clause: whole partitions in, matches out. Runs in Spark's Python workers.

In: Arrow batches of one Spark task, rows partition after partition, each in ORDER BY order. Out: Arrow tables with the columns of the
MatchSpec's outputs. One instance serves one task: it keeps only the partition that is still open, and passes all complete partitions to the engine at
once. It knows neither SQL nor a Spark session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

os.environ.setdefault("POLARS_MAX_THREADS", os.environ.get("SPARK_TASK_CPUS", "1"))

import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engines.derived import last_gap, sent_time
from sparkcep.engines.engine import Run, evaluation
from sparkcep.engines.parts import LONG, LongPartition, Parts, compile
from sparkcep.errors import CepError
from sparkcep.spec import (
    AggregateSpec,
    AnalyzeSpec,
    AutomatonSpec,
    EventPatternSpec,
    MatchSpec,
    RowPatternSpec,
    from_json,
)
from sparkcep.spec.event import WithinTime
from sql_functions.declared import check_declared
from sql_functions.memory import OpenPartition, to_sort
from sql_functions.worker import answer_at_once, said_of, settle

MIN_ROWS = 1 << 16
"""Complete partitions are buffered until they have this many rows, to amortise the fixed cost of an engine call."""


class MatchTableFunction:
    """Base of the UDTF classes made by ``table_function``, one for each MatchSpec."""

    spec_json: ClassVar[str] = ""

    def __init__(self) -> None:
        from sparkcep.engines.arrival import Arrival  # of workers: it imports Polars, and a driver ships this file

        answer_at_once()
        self._spec, self._run = _evaluation(self.spec_json)
        self._partition = OpenPartition(self._spec)
        self._arrival = Arrival(self._spec, to_sort())
        self._long: LongPartition | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._open: list[pa.RecordBatch] = []
        self._waiting_rows = self._open_rows = self._open_bytes = 0

    def eval(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Process one batch of the task's input; yields the matches of partitions that are now complete, and of the open one if it is long."""
        yield from self._answered(self._arrival.come(batch))

    def _met(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """The next rows in order."""
        if self._long is not None:
            start = self._first_partition_start(batch)
            own = batch.slice(0, start)
            self._partition.come(own, self._long.size + own.nbytes)
            yield from self._long.add(own)
            if start is None:
                return
            yield from self._long.end()
            self._long, batch = None, batch.slice(start)
            self._partition.begin()
        yield from self._eval(batch)
        if self._open_rows >= LONG and (parts := _parts(self.spec_json)) is not None and parts.suits(batch.schema):
            yield from self._drain()
            self._long, rows = LongPartition(parts), self._open
            self._open, self._open_rows, self._open_bytes = [], 0, 0
            for part in rows:
                yield from self._long.add(part)

    def _eval(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        border = self._last_partition_start(batch)
        if border is not None:
            self._wait(*self._open, batch.slice(0, border))
            self._open, self._open_rows, self._open_bytes = [], 0, 0
            if self._waiting_rows >= MIN_ROWS:
                yield from self._drain()
            self._partition.begin()
            batch = batch.slice(border)
        self._keep_open(batch)

    def terminate(self) -> Iterator[pa.Table]:
        """Process the end of the task's input: the open partition is now complete."""
        yield from self._answered(self._arrival.end(), last=True)
        settle()

    def _last_partition_start(self, batch: pa.RecordBatch) -> int | None:
        """The last row of ``batch`` before which all partitions are complete."""
        spec = self._spec
        if not isinstance(spec, EventPatternSpec | AggregateSpec) or not spec.line:
            return _last_partition_start(batch.column(spec.masks[0]))
        assert isinstance(spec.within, WithinTime)
        whole = self._open_rows + batch.num_rows >= MIN_ROWS
        return last_gap(batch.column(sent_time(spec)), spec.within.length) if whole else None

    def _first_partition_start(self, batch: pa.RecordBatch) -> int | None:
        """The first row of ``batch`` that is another partition's."""
        starts = _partition_starts(batch.column(self._spec.masks[0]))
        return starts[0].as_py() if len(starts) else None

    def _keep_open(self, batch: pa.RecordBatch) -> None:
        self._open.append(batch)
        self._open_rows += batch.num_rows
        self._open_bytes += batch.nbytes
        self._partition.come(batch, self._open_bytes)

    def _wait(self, *batches: pa.RecordBatch) -> None:
        self._waiting.extend(batch for batch in batches if batch.num_rows)
        self._waiting_rows += sum(batch.num_rows for batch in batches)

    def _drain(self) -> Iterator[pa.Table]:
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        yield from self._run(table)

    def _answered(self, arrived: Iterator[pa.RecordBatch], *, last: bool = False) -> Iterator[pa.Table]:
        """What comes of rows in order, and of the end if they are the ``last``; errors name the clause."""
        try:
            for ready in arrived:
                yield from self._declared(self._met(ready))
            if last:
                yield from self._declared(self._finished())
        except CepError as error:
            raise said_of(error, _clause(self._spec)) from error
        except MemoryError as error:
            raise said_of(self._partition.too_large("finds no more memory"), _clause(self._spec)) from error

    def _declared(self, found: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """What has the types that the statement was written for."""
        for table in found:
            if not isinstance(self._spec, AnalyzeSpec):
                check_declared(self._spec.schema, table)
            yield table

    def _finished(self) -> Iterator[pa.Table]:
        """The open partition is now complete."""
        self._wait(*self._open)
        self._open = []
        yield from self._drain()
        if self._long is not None:
            yield from self._long.end()


def table_function(spec_json: str) -> type[MatchTableFunction]:
    """The UDTF class that evaluates one MatchSpec; it pickles as its base's name and the JSON."""
    return type("CepMatch", (MatchTableFunction,), {"spec_json": spec_json})


@lru_cache(maxsize=64)
def _evaluation(spec_json: str) -> tuple[MatchSpec | AnalyzeSpec, Run]:
    """The compiled engine for a spec, cached for later tasks of a reused worker."""
    spec: Any = from_json(spec_json)
    return spec, evaluation(spec)


@lru_cache(maxsize=64)
def _parts(spec_json: str) -> Parts | None:
    """How a long partition is worked off, for the tasks that meet one."""
    spec: Any = from_json(spec_json)
    return compile(spec)


def _last_partition_start(mask: pa.Array) -> int | None:
    """The last row whose bit 0 is set: all partitions before it are complete."""
    starts = _partition_starts(mask)
    return starts[-1].as_py() if len(starts) else None


def _partition_starts(mask: pa.Array) -> pa.Array:
    return pc.indices_nonzero(pc.bit_wise_and(mask, pa.scalar(1, mask.type)))


def _clause(spec: MatchSpec | AnalyzeSpec) -> str:
    if isinstance(spec, AnalyzeSpec):
        return _clause(spec.of)
    if isinstance(spec, AutomatonSpec):
        return f"MATCH AUTOMATON ({spec.text})"
    keyword = "MATCH PATTERN"
    if isinstance(spec, RowPatternSpec):
        keyword = "MATCH_RECOGNIZE PATTERN" if spec.frame is None else "the window's PATTERN"
    return f"{keyword} ({spec.text or spec.pattern})"
