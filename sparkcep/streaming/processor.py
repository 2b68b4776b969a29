"""The bucket as Spark calls it: a stateful processor with one state for each bucket.

A bucket has a turn when rows come, and when the watermark reaches the moment at which time alone decides more. What a turn does is in ``bucket``:
each time that a stream starts, Spark starts a Python that asks for the state's variables alone, and need not import engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from sparkcep.streaming.variables import variables
from sql_functions.worker import answer_at_once, settle

if TYPE_CHECKING:
    from sparkcep.streaming.bucket import Turns

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
        self.handle, self.variables = handle, variables(handle)

    @cached_property
    def turns(self) -> Turns:
        """Made in a worker, for the first bucket."""
        from sparkcep.streaming.bucket import Turns

        return Turns(self.spec_json, self.clause, self.handle, self.variables)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A turn with new rows, or changes of the pattern."""
        came = list(rows)
        payloads = [row.payload for row in came if row.payload is not None]
        changes = [row.change for row in came if row.payload is None]
        yield from self._turn(key, payloads, timerValues.getCurrentWatermarkInMs(), changes)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A turn in which only time has passed."""
        yield from self._turn(key, (), timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Spark's call behind the last bucket."""
        settle()

    def _turn(self, key: Any, payloads: Sequence[bytes], watermark: int, changes: Sequence[str] = ()) -> Iterator[Row]:
        yield self.turns.turn(key, payloads, watermark, changes)
