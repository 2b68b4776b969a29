"""Runs between two turns of a stream: what is kept of them, as arrays, and as the table in which a bucket has them.

A run's events are rows that the bucket keeps (``kept_rows``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.kept_rows import places, rows_by_place
from sparkcep.engines.nfa_b.structures import Bytes
from sparkcep.engines.row_match.structures import Ints


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """Runs of one automaton. Their part of the match buffer, each node behind those that stand before it: ``events``, ``components``, ``left``,
    ``right``; and of each run ``at``, ``taken``, ``tail``. See ``structures``."""

    events: Ints
    components: Bytes
    left: Ints
    right: Ints
    at: Ints
    taken: Ints
    tail: Ints

    @property
    def last(self) -> NDArray[np.int64]:
        """[runs]: the event that each took last."""
        return self.events[self.tail].astype(np.int64)


_NONE = np.zeros(0, np.int32)
NO_RUNS = OpenRuns(_NONE, np.zeros(0, np.int8), _NONE, _NONE, _NONE, _NONE, _NONE)


def as_table(runs: Sequence[OpenRuns], identity: NDArray[np.int64], keep: NDArray[np.bool_]) -> pa.Table | None:
    """The ``runs`` of each automaton, a row each; None: there are none. ``identity``, ``keep`` [rows of the turn]."""
    if not any(len(part.at) for part in runs):
        return None
    place = places(identity, keep)
    named = [replace(part, events=place[part.events]) for part in runs]
    return pa.table({field.name: _lists([getattr(part, field.name) for part in named]) for field in fields(OpenRuns)})


def of_table(table: pa.Table, identity: NDArray[np.int64], old: NDArray[np.bool_]) -> list[OpenRuns]:
    """The runs of each automaton, their events as rows of a turn. ``old`` [rows]: those that the last turn has kept."""
    row = rows_by_place(identity, old).astype(np.int32)
    found = []
    for at in range(table.num_rows):
        arrays = {name: table.column(name)[at].values.to_numpy() for name in table.column_names}
        found.append(OpenRuns(**(arrays | {"events": row[arrays["events"]]})))
    return found


def _lists(arrays: Sequence[NDArray[Any]]) -> pa.Array:
    offsets = np.cumsum([0, *map(len, arrays)])
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(np.concatenate(arrays)))
