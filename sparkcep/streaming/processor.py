"""The bucket as Spark runs it: a stateful processor whose state is what the fold keeps, as bytes of ours.

In: packets of rows (``packets``). Out: a packet of matches, and the counts of the turn. A bucket has a turn when rows come, and when the watermark
reaches the moment at which time alone decides more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from sparkcep.engines.keys import key_text
from sparkcep.errors import CepDataError, CepError
from sparkcep.spec import from_json
from sparkcep.spec.stream import StreamSpec, identity
from sparkcep.streaming import copies
from sparkcep.streaming.changing import compile
from sparkcep.streaming.fold import NEVER, Step
from sparkcep.streaming.packets import of_bytes, to_bytes
from sparkcep.streaming.speculation import step
from sparkcep.streaming.state import NO_TIMER, BucketState, Saved, Written
from sql_functions.worker import answer_at_once, settle

TURN = (
    "payload binary, late_rows binary, "
    "events long, late long, rows_kept long, matches long, state_bytes long, put_bytes long, engine_ms double, "
    "final_rows long, busiest_rows long, busiest_key string"
)
"""What a turn gives Spark: matches, late rows where they are wanted, and counts."""


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
        self.handle, self.state = handle, BucketState(handle, self.clause, spec)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A turn with new rows, or changes of the pattern."""
        came = list(rows)
        new = [of_bytes(row.payload) for row in came if row.payload is not None]
        changes = [row.change for row in came if row.payload is None]
        yield from self._turn(key, new, timerValues.getCurrentWatermarkInMs(), changes)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A turn in which only time has passed."""
        yield from self._turn(key, [], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Spark's call behind the last bucket."""
        settle()

    def _turn(self, key: Any, new: list[pa.Table], watermark: int, changes: Sequence[str] = ()) -> Iterator[Row]:
        began = time.perf_counter()
        saved = self.state.read()
        until, before = watermark * 1000 if watermark > 0 else NEVER, self._foreseen(key, saved)
        try:
            done = step(self.spec, self.decide, saved.bucket, new, until, changes, before)
            self._refuse_late(done)
        except CepError as error:
            code = error.code[len(error.kind) + 1 :]
            raise type(error)(f"{error.message}\nin {self.spec.text}", code=code, hint=error.hint) from error
        written = self._save(saved, done)
        if self.spec.sigma != 0:
            copies.write(self._name(key), written.digest, pa.concat_tables(done.foreseen or [pa.table({})]))
        late = done.late.num_rows if done.late is not None else 0
        busiest = done.busiest
        yield Row(
            payload=to_bytes(pa.concat_tables(done.found)) if done.found else None,
            late_rows=to_bytes(done.late.select([self.spec.row])) if done.late is not None and self.spec.row else None,
            events=sum(rows.num_rows for rows in new),
            late=late,
            rows_kept=done.bucket.rows.num_rows if done.bucket.rows is not None else 0,
            matches=sum(rows.num_rows for rows in done.found),
            state_bytes=written.size,
            put_bytes=written.put,
            engine_ms=(time.perf_counter() - began) * 1000,
            final_rows=busiest.of if busiest else 0,
            busiest_rows=busiest.rows if busiest else 0,
            busiest_key=key_text(busiest.keys) if busiest else None,
        )

    def _foreseen(self, key: Any, saved: Saved) -> tuple[pa.Table, ...] | None:
        """What the last turn has foreseen; None: no worker of the host knows."""
        known = copies.read(self._name(key), saved.digest) if self.spec.sigma != 0 else None
        return None if known is None else (known,)

    def _name(self, key: Any) -> str:
        """Of what is foreseen of a bucket: a spec of the same clause with other registers has other columns."""
        return f"{self.clause}-{identity(self.spec_json)}-{key[0]}"

    def _save(self, saved: Saved, done: Step) -> Written:
        """Keep the bucket and set its one timer.

        The timer lies beyond the watermark: Spark removes a timer that has fired after its turn, with one that the turn has set for the same moment.
        """
        if saved.timer != NO_TIMER:
            self.handle.deleteTimer(saved.timer)  # it would fire behind the rows, in the same batch
        due = NO_TIMER if done.due is None else max(done.due - 1, 0) // 1000 + 1
        written = self.state.write(saved, done.bucket, due)
        if due != NO_TIMER:
            self.handle.registerTimer(due)
        return written

    def _refuse_late(self, done: Step) -> None:
        if done.late is None or self.spec.late_rows != "fail":
            return
        again = "" if self.spec.sequence is None else ", or have a sequence number that has come before"
        raise CepDataError(
            f"{done.late.num_rows} rows are later than the watermark allows{again}",
            code="STREAM_LATE",
            hint="a longer WATERMARK … DELAY OF, or SET sparkcep.stream.lateRows = drop, or keep",
        )
