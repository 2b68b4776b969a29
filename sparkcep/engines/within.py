"""Times and deadlines of events, as the spec has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.errors import CepDataError
from sparkcep.spec.event import WithinTime

_LATEST = np.iinfo(np.int64).max


def times(table: pa.Table, within: WithinTime) -> tuple[NDArray[Any], NDArray[Any]]:
    """Time and deadline of every row of ``table``. Raises CepDataError where time + length is beyond BIGINT."""
    time = table.column(within.time).to_numpy()
    return time, after(time, within.length) if within.deadline is None else table.column(within.deadline).to_numpy()


def after(time: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """``time + length``."""
    if len(time) and int(time.max()) > _LATEST - length:
        raise CepDataError(
            f"WITHIN: {int(time.max())} + {length} is beyond BIGINT", code="OVERFLOW", hint="filter such events"
        )
    return time + length
