"""Closures whose neighbouring events are compared: which sequences may have them, and what is compared as order keys.

In: sequences, comparisons, columns. Out: errors; per row the ranks of what is compared.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq.values import Column


def order_keys(one: Column, other: Column) -> tuple[NDArray, NDArray]:
    """The values of two columns as ranks among all of them; MAX for NULL."""
    both = Column(pa.concat_arrays([one.values, other.values]), np.concatenate([one.valid, other.valid]))
    keys, _ = both.order()
    return keys[: len(one.valid)], keys[len(one.valid) :]
