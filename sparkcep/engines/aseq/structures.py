"""What the kernel for neighbours in closures is given, named. Arrays only: no kernel is imported here, and no numba."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.aseq.values import Ints


class Groups(NamedTuple):
    """``code`` [rows]: what each row can do; ``first`` [groups + 1]: concurrent rows; ``part`` [groups]: their partition; ``low`` [groups]:
    the first group of their window, empty without WITHIN. See ``kernels``."""

    code: Ints
    first: Ints
    part: Ints
    low: Ints


class Positions(NamedTuple):
    """A sequence. ``gaps``: how a position follows the one before; ``weighted``: the one whose events weigh, from 1; ``inner``: those that go
    on with the closure of the one before; ``links``: the comparisons (bits) that hold between neighbours of each."""

    gaps: NDArray[np.int8]
    weighted: int
    inner: NDArray[np.int8]
    links: Ints


class Compared(NamedTuple):
    """``operators`` [comparisons]; their sides ``each`` and ``previous`` [comparisons, rows] as order keys; ``holds``: bits of pairs."""

    operators: Ints
    each: Ints
    previous: Ints
    holds: NDArray[np.uint8]


class Held(NamedTuple):
    """Per position the rows that it took last, and the aggregate over the matches so far that end there."""

    rows: Ints
    values: NDArray[Any]
