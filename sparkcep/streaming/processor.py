"""The bucket as Spark runs it: a stateful processor whose state is what the fold keeps, as bytes of ours.

In: packets of rows (``packets``). Out: a packet of matches, and the counts of the turn. A bucket has a turn when rows come, and when the watermark
reaches the moment at which time alone decides more. The state has a version and knows its clause: that of another is refused by name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from sparkcep.engines.stream import compile
from sparkcep.errors import CepDataError, CepError
from sparkcep.spec import from_json
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.fold import NEVER, Bucket, Step, step
from sparkcep.streaming.packets import of_bytes, to_bytes
from sql_functions.worker import answer_at_once, settle

STATE_VERSION = 1
"""Incremented when the meaning of a bucket's bytes changes; the state of another version is refused, never misread."""
STATE = "version int, clause string, text string, until long, timer long, rows binary, numbers binary"
TURN = (
    "payload binary, late_rows binary, "
    "events long, late long, rows_kept long, matches long, state_bytes long, engine_ms double"
)
"""What a turn gives Spark: matches, late rows where they are wanted, and counts."""
NO_TIMER = -1


@dataclass(frozen=True, slots=True)
class Saved:
    """A bucket between turns, and the timer that is set for it (milliseconds)."""

    bucket: Bucket
    timer: int


class BucketProcessor(StatefulProcessor):
    """One instance serves all buckets of a partition. ``clause``: what identifies the clause, its input and its number of buckets."""

    def __init__(self, spec_json: str, clause: str) -> None:
        self.spec_json, self.clause = spec_json, clause

    def init(self, handle: Any) -> None:
        """Spark's call before the first bucket."""
        answer_at_once()
        spec: Any = from_json(self.spec_json)
        self.spec: StreamSpec = spec
        self.decide = compile(spec)
        self.handle, self.state = handle, handle.getValueState("bucket", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A turn with new rows."""
        new = [of_bytes(row.payload) for row in rows]
        yield from self._turn(key, new, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A turn in which only time has passed."""
        yield from self._turn(key, [], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Spark's call behind the last bucket."""
        settle()

    def _turn(self, key: Any, new: list[pa.Table], watermark: int) -> Iterator[Row]:
        began = time.perf_counter()
        saved = self._saved()
        try:
            done = step(self.spec, self.decide, saved.bucket, new, watermark * 1000 if watermark > 0 else NEVER)
            self._refuse_late(done)
        except CepError as error:
            code = error.code[len(error.kind) + 1 :]
            raise type(error)(f"{error.message}\nin {self.spec.text}", code=code, hint=error.hint) from error
        size = self._save(done, saved.timer)
        late = done.late.num_rows if done.late is not None else 0
        yield Row(
            payload=to_bytes(pa.concat_tables(done.found)) if done.found else None,
            late_rows=to_bytes(done.late.select([self.spec.row])) if done.late is not None and self.spec.row else None,
            events=sum(rows.num_rows for rows in new),
            late=late,
            rows_kept=done.bucket.rows.num_rows if done.bucket.rows is not None else 0,
            matches=sum(rows.num_rows for rows in done.found),
            state_bytes=size,
            engine_ms=(time.perf_counter() - began) * 1000,
        )

    def _saved(self) -> Saved:
        if not self.state.exists():
            return Saved(Bucket(), NO_TIMER)
        version, clause, text, until, timer, rows, numbers = self.state.get()
        if version != STATE_VERSION:
            raise CepDataError(
                f"the checkpoint has state of version {version}, and this sparkcep reads version {STATE_VERSION}",
                code="STREAM_CHECKPOINT",
                hint="continue with the sparkcep that wrote it, or start with a new checkpointLocation",
            )
        if clause != self.clause:
            raise CepDataError(
                f"the checkpoint is that of another clause: {text}",
                code="STREAM_CHECKPOINT",
                hint="start with a new checkpointLocation, or restore the clause, its input and sparkcep.stream.buckets",
            )
        kept, counted = (None if data is None else of_bytes(data) for data in (rows, numbers))
        return Saved(Bucket(kept, counted, until), timer)

    def _save(self, done: Step, timer: int) -> int:
        """Keep the bucket and set its one timer; the size of its rows in bytes.

        The timer lies beyond the watermark: Spark removes a timer that has fired after its turn, with one that the turn has set for the same moment.
        """
        if timer != NO_TIMER:
            self.handle.deleteTimer(timer)  # it would fire behind the rows, in the same batch
        due = NO_TIMER if done.due is None else max(done.due - 1, 0) // 1000 + 1
        bucket = done.bucket
        rows, numbers = (None if table is None else to_bytes(table) for table in (bucket.rows, bucket.numbers))
        self.state.update((STATE_VERSION, self.clause, self.spec.text, bucket.until, due, rows, numbers))
        if due != NO_TIMER:
            self.handle.registerTimer(due)
        return len(rows or b"") + len(numbers or b"")

    def _refuse_late(self, done: Step) -> None:
        if done.late is None or self.spec.late_rows != "fail":
            return
        raise CepDataError(
            f"{done.late.num_rows} rows are later than the watermark allows",
            code="STREAM_LATE",
            hint="a longer WATERMARK … DELAY OF, or SET sparkcep.stream.lateRows = drop, or keep",
        )
