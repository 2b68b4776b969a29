"""Rows that a stream keeps, as a table that an engine carries to its next turn names them.

A row's name is its place among the kept ones in the order of their identities, which is the same whichever way the next turn comes by them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparkcep.errors import CepInternalError


def places(identity: NDArray[np.int64], keep: NDArray[np.bool_]) -> NDArray[np.int32]:
    """[rows of the turn]: the name of each row that is kept, else -1."""
    kept = np.flatnonzero(keep)
    order = np.argsort(identity[kept], kind="stable")
    if (np.diff(identity[kept][order]) == 0).any():
        raise CepInternalError("two rows of a stream have the same hash")
    found = np.full(len(keep), -1, np.int32)
    found[kept[order]] = np.arange(len(kept), dtype=np.int32)
    return found


def rows_by_place(identity: NDArray[np.int64], old: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[names]: the rows of the next turn; ``old`` [its rows]: those that were kept."""
    kept = np.flatnonzero(old)
    return kept[np.argsort(identity[kept], kind="stable")]
