"""What a bucket keeps, in Spark's state: a small bucket is one value, a large one a value and a map of segments.

In: the variables of the state, with the current bucket. Out: the Bucket of the fold, and what it keeps after a turn. The state has a version and
knows its clause: that of another is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

import pyarrow as pa

from sparkcep.errors import CepDataError
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming import copies, segments
from sparkcep.streaming.fold import Bucket
from sparkcep.streaming.marks import COPY, STORED, marked
from sparkcep.streaming.packets import of_bytes, to_state
from sparkcep.streaming.segments import TAIL, Layout
from sparkcep.streaming.variables import Variables
from sparkcep.streaming.versions import of_text, to_text

STATE_VERSION = 5
"""Incremented when the meaning of a bucket's bytes changes; the state of another version is refused, never misread."""
NO_TIMER = -1
LARGE = 1 << 18
"""Bytes of rows from which on a bucket has segments."""
SMALL = LARGE // 4
"""Bytes of rows at which it has none any more."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A bucket between turns, and the timer that is set for it (milliseconds). ``name``, ``layout``: of its copies and segments, if it has some.
    ``digest``: as in Written."""

    bucket: Bucket
    timer: int
    name: str | None = None
    layout: Layout = Layout()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes: ``size`` of what the bucket keeps, ``put`` of what this turn has written. ``digest``: names all of it (mode ``speculative``)."""

    size: int
    put: int
    digest: str = ""


class BucketState:
    """The state of the bucket that Spark has made current. ``clause``: what identifies the clause and its input; ``text``: its pattern."""

    def __init__(self, variables: Variables, clause: str, spec: StreamSpec) -> None:
        self._clause, self._spec = clause, spec
        self._value, self._segmented, self._entries = variables

    def read(self) -> Saved:
        """What the last turn has written. Raises CepDataError where that was another clause or version."""
        if not self._value.exists():
            return Saved(Bucket(), NO_TIMER)
        version, clause, text, *rest = self._value.get()
        _check(version, clause, text, self._clause)
        until, timer, rows, numbers, versions, known = rest
        counted, sequences = (None if part is None else of_bytes(part) for part in (numbers, known))
        bucket = Bucket(None, counted, until, () if versions is None else of_text(versions), sequences)
        if rows is not None or not self._segmented.exists():
            kept = None if rows is None else marked(of_bytes(rows))
            return Saved(replace(bucket, rows=kept), timer, digest=self._digest(until, rows, numbers, versions, known))
        name, token, text = self._segmented.get()
        found = segments.layout(text)
        kept = copies.read(name, token)
        if kept is None:
            numbered = (*(segment.number for segment in found.segments), TAIL)
            entries = {number: tuple(self._entries.getValue((number,))) for number in numbered}
            kept = segments.restored(self._spec, found, entries)
        return Saved(replace(bucket, rows=kept), timer, name, found, token)

    def write(self, saved: Saved, bucket: Bucket, timer: int) -> Written:
        """Keep ``bucket``, which was ``saved`` before."""
        numbers = None if bucket.numbers is None else to_state(bucket.numbers)
        data = 0 if bucket.rows is None else bucket.rows.nbytes
        rows, written = None, None
        if bucket.rows is not None and data > (LARGE if saved.name is None else SMALL):
            written = self._write_segments(saved, bucket.rows)
        else:
            rows = None if bucket.rows is None else to_state(_lean(bucket.rows))
            if saved.name is not None:
                self._segmented.clear()
                self._entries.clear()
                copies.remove(saved.name)
        versions = to_text(bucket.versions) if bucket.versions else None
        known = None if bucket.known is None else to_state(bucket.known)
        values = rows, numbers, versions, known
        self._value.update((STATE_VERSION, self._clause, self._spec.text, bucket.until, timer, *values))
        written = written or Written(0, 0, self._digest(bucket.until, *values))
        size = sum(len(value or b"") for value in values)
        return Written(written.size + size, written.put + size, written.digest)

    def _digest(
        self, until: int, rows: bytes | None, numbers: bytes | None, versions: str | None, known: bytes | None
    ) -> str:
        if self._spec.sigma == 0:
            return ""
        parts = rows, numbers, known
        found = sha256(repr((until, versions, *(part and len(part) for part in parts))).encode())
        for part in parts:
            found.update(part or b"")
        return found.hexdigest()

    def _write_segments(self, saved: Saved, rows: pa.Table) -> Written:
        change = segments.change(saved.layout, rows)
        name, token = saved.name or copies.token(), copies.token()
        copies.write(name, token, change.rows)  # before the state has its token
        for number, entry in change.put.items():
            self._entries.updateValue((number,), entry)
        for number in change.removed:
            self._entries.removeKey((number,))
        text = change.layout.text
        self._segmented.update((name, token, text))
        put = sum(len(part or b"") for entry in change.put.values() for part in entry)
        return Written(change.size, len(text) + put, token)


def _lean(rows: pa.Table) -> pa.Table:
    """``rows`` without the marks that ``marked`` would give them."""
    unused = [STORED] if rows.column(COPY).to_numpy().any() else [STORED, COPY]
    return rows.drop_columns(unused)


def _check(version: int, clause: str, text: str, own: str) -> None:
    if version != STATE_VERSION:
        raise CepDataError(
            f"the checkpoint has state of version {version}, and this sparkcep reads version {STATE_VERSION}",
            code="STREAM_CHECKPOINT",
            hint="continue with the sparkcep that wrote it, or start with a new checkpointLocation",
        )
    if clause != own:
        raise CepDataError(
            f"the checkpoint is that of another clause, or of one with other settings: {text}",
            code="STREAM_CHECKPOINT",
            hint="start with a new checkpointLocation, or restore the clause, its input, and the settings sparkcep.stream.* and "
            "sparkcep.rules.disable",
        )
