"""Parts of a match buffer: all matches that end with one event, equal ends of matches shared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]

UNION = -1
"""The component of a node that stands for two."""

NOTHING = -1
"""No node: a path ends."""


@dataclass(frozen=True, slots=True)
class Parts:
    """For each last event (``last``) a part of the buffer: ``sizes`` nodes of ``components`` (UNION: none), ``rows``,
    ``previous`` and ``others``: the nodes before it, counted in its part (NOTHING: none). The last node is the root."""

    last: IntArray
    sizes: IntArray
    components: NDArray[np.int8]
    rows: IntArray
    previous: IntArray
    others: IntArray

    def __len__(self) -> int:
        return len(self.last)
