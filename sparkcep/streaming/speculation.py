"""Speculative turns: what rows beyond the watermark already say is emitted at once, and taken back where a later row proves it wrong.

A turn emits the difference of two answers (as multisets of rows): all that is known with what the bucket has now, less all that was known with what
it had before. Both are computed from the rows that the bucket keeps anyway, so the state has nothing of what has been emitted; a worker that still
knows what the last turn foresaw is not asked again. What the watermark has passed is final and is never taken back. Pure, as ``fold`` is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.turn import Decide
from sparkcep.errors import CepDataError
from sparkcep.spec.stream import DELETED, StreamSpec
from sparkcep.streaming import fold, speculated_totals
from sparkcep.streaming.fold import NEVER, Bucket, Step, foreseen, parted
from sparkcep.streaming.revisions import standing

Times = NDArray[np.int64]
_FOREVER = 1 << 62
_WEIGHT, _ROW = "__cep_weight", "__cep_row"


def step(
    spec: StreamSpec,
    decide: Decide,
    bucket: Bucket,
    new: list[pa.Table],
    until: int,
    changes: Sequence[str] = (),
    before: tuple[pa.Table, ...] | None = None,
) -> Step:
    """One turn. In the mode ``speculative`` the tables found have one more column, DELETED. ``before``: what the turn that left ``bucket`` has
    ``foreseen``; None: it is computed again. Raises what the engine raises."""
    done = fold.step(spec, decide, bucket, new, until, changes)
    if spec.sigma == 0:
        return done
    now = _foreseen(spec, decide, done.bucket)
    if before is None:
        before = _foreseen(spec, decide, bucket)
    times = [time for time in (done.due, _next_horizon(spec, done.bucket)) if time is not None]
    if spec.totals is None:
        found = difference([*done.found, *now], before)
    else:
        found = speculated_totals.difference(spec.totals, done.found, now, before)
    return replace(done, found=found, due=min(times, default=None), foreseen=now)


def _foreseen(spec: StreamSpec, decide: Decide, bucket: Bucket) -> tuple[pa.Table, ...]:
    """What a bucket knows, up to its horizon. An error in rows that the watermark has not passed is not one yet: nothing is foreseen of them."""
    try:
        return foreseen(spec, decide, bucket, horizon(spec, bucket))
    except CepDataError:
        return ()


def horizon(spec: StreamSpec, bucket: Bucket) -> int:
    """The rows before it are taken for all that will come: up to the bucket's greatest time, at most sigma beyond the watermark."""
    waiting = _waiting(spec, bucket)
    if waiting is None:
        return bucket.until
    return max(min(int(waiting.max()) + 1, _limit(spec, bucket)), bucket.until)


def _next_horizon(spec: StreamSpec, bucket: Bucket) -> int | None:
    """The least watermark at which a row comes within the horizon that is beyond it."""
    waiting = _waiting(spec, bucket)
    if waiting is None or spec.sigma is None:
        return None
    beyond = waiting[waiting >= _limit(spec, bucket)]
    return int(beyond.min()) + 1 - spec.sigma if len(beyond) else None


def _limit(spec: StreamSpec, bucket: Bucket) -> int:
    if spec.sigma is None:
        return _FOREVER
    return NEVER if bucket.until == NEVER else bucket.until + spec.sigma


def _waiting(spec: StreamSpec, bucket: Bucket) -> Times | None:
    """The times of rows that the watermark has not passed, and that stand."""
    if bucket.rows is None:
        return None
    times: Times = standing(spec, parted(bucket)[1], foreseen=True).column(spec.time).to_numpy()
    return times if len(times) else None


def difference(after: Iterable[pa.Table], before: Iterable[pa.Table]) -> tuple[pa.Table, ...]:
    """The rows of ``after`` that are not in ``before`` as often, and DELETED those of ``before`` that are not in ``after``; deleted ones first."""
    weighted = [_weighted(part, 1) for part in after if part.num_rows]
    taken_back = [_weighted(part, -1) for part in before if part.num_rows]
    if not weighted and not taken_back:
        return ()
    rows = pa.concat_tables([*weighted, *taken_back]).combine_chunks()
    values = rows.drop_columns([_WEIGHT])
    if not taken_back:
        return (values.append_column(DELETED, pa.array(np.zeros(rows.num_rows, np.bool_))),)
    numbered = pl.from_arrow(rows)
    assert isinstance(numbered, pl.DataFrame)
    net = (
        numbered.with_row_index(_ROW)
        .group_by(values.column_names, maintain_order=True)
        .agg(pl.col(_ROW).first(), pl.col(_WEIGHT).sum())
    )
    weight = net[_WEIGHT].to_numpy()
    order = np.argsort(weight > 0, kind="stable")
    order = np.repeat(order, np.abs(weight[order]))
    if not len(order):
        return ()
    changed = values.take(pa.array(net[_ROW].to_numpy()[order]))
    return (changed.append_column(DELETED, pa.array(weight[order] < 0)),)


def _weighted(rows: pa.Table, weight: int) -> pa.Table:
    return rows.append_column(_WEIGHT, pa.array(np.full(rows.num_rows, weight, np.int64)))
