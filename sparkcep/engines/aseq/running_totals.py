"""The aggregates over all matches of a stream so far: those that the turns find, added up.

What decides a turn finds the aggregates over its own matches, and may carry a table of its own; the totals lie beside it in what the bucket carries.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sparkcep.engines.aseq.totals import added
from sparkcep.engines.turn import Answer, Decide, Turn
from sparkcep.spec.aggregate import AggregateSpec

_TOTALS, _OWN = "totals", "own"


def decide(spec: AggregateSpec, alone: Decide, turn: Turn) -> Answer:
    """The groups whose totals change, each once, with the totals before and now. ``alone``: decides a turn without those before."""
    totals, own = totals_of(turn.carried), _unpacked(turn.carried, _OWN)
    answer = alone(replace(turn, carried=own))
    every, changed = added(spec, totals, list(answer.found))
    return replace(answer, found=() if changed is None else (changed,), carried=_packed(every, answer.carried))


def totals_of(carried: pa.Table | None) -> pa.Table | None:
    """The totals so far; None: no match has been found."""
    return _unpacked(carried, _TOTALS)


def _packed(totals: pa.Table | None, own: pa.Table | None) -> pa.Table | None:
    """Two tables as one, of one row."""
    found = {name: _as_list(table) for name, table in ((_TOTALS, totals), (_OWN, own)) if table is not None}
    return pa.table(found) if found else None


def _as_list(table: pa.Table) -> pa.Array:
    rows = table.combine_chunks().to_struct_array()
    values = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _unpacked(packed: pa.Table | None, name: str) -> pa.Table | None:
    if packed is None or name not in packed.column_names:
        return None
    return pa.Table.from_struct_array(packed.column(name).combine_chunks().flatten())
