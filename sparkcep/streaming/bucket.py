"""The turns of a bucket, whose state is what the fold keeps, as bytes of ours.

In: what has come since the last turn, and the watermark. Out: a packet of matches, and the counts of the turn. ``processor`` is what Spark calls.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

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
from sparkcep.streaming.variables import Variables
from sql_functions.worker import said_of


class Turns:
    """Of all buckets of a partition, one by one. ``handle``: Spark's, with the current bucket; ``clause``: as of ``BucketProcessor``."""

    def __init__(self, spec_json: str, clause: str, handle: Any, variables: Variables) -> None:
        spec: Any = from_json(spec_json)
        self.spec: StreamSpec = spec
        self.decide = compile(spec)
        self.state = BucketState(variables, clause, spec)
        self._handle, self._clause = handle, clause
        self._identity = f"{clause}-{identity(spec_json)}"

    def turn(self, key: Any, payloads: Sequence[bytes], watermark: int, changes: Sequence[str]) -> Row:
        """``payloads``: packets of rows; ``watermark``: milliseconds; ``changes``: of the pattern, as JSON. The row is one of ``processor.TURN``."""
        new = [of_bytes(payload) for payload in payloads]
        began = time.perf_counter()
        until = watermark * 1000 if watermark > 0 else NEVER
        try:
            saved = self.state.read()
        except CepError as error:  # about another clause
            raise said_of(error) from error
        try:
            before = self._foreseen(key, saved)
            done = step(self.spec, self.decide, saved.bucket, new, until, changes, before)
            self._refuse_late(done)
        except CepError as error:
            raise said_of(error, self.spec.text) from error
        written = self._save(saved, done)
        if self.spec.sigma != 0:
            copies.write(self._name(key), written.digest, pa.concat_tables(done.foreseen or [pa.table({})]))
        late = done.late.num_rows if done.late is not None else 0
        busiest = done.busiest
        return Row(
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
        return f"{self._identity}-{key[0]}"

    def _save(self, saved: Saved, done: Step) -> Written:
        """Keep the bucket and set its one timer.

        The timer lies beyond the watermark: Spark removes a timer that has fired after its turn, with one that the turn has set for the same moment.
        """
        if saved.timer != NO_TIMER:
            self._handle.deleteTimer(saved.timer)  # it would fire behind the rows, in the same batch
        due = NO_TIMER if done.due is None else max(done.due - 1, 0) // 1000 + 1
        written = self.state.write(saved, done.bucket, due)
        if due != NO_TIMER:
            self._handle.registerTimer(due)
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
