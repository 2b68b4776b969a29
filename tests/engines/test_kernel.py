"""Kernels compile for the first call that a signature fits, and for nothing else."""

import numba as nb
import numpy as np
import pytest
from numba import types

from sparkcep.engines.kernel import kernel

INTEGERS, DOUBLES = (types.Array(kind, 1, "C", readonly=True) for kind in (nb.int64, nb.float64))


@kernel(nb.int64(INTEGERS), nb.float64(DOUBLES))
def total(values):
    """The sum."""
    found = values[0]
    for value in values[1:]:
        found += value
    return found


def test_each_signature_waits_for_a_call_that_it_fits():
    frozen = np.arange(4)
    frozen.flags.writeable = False
    assert total(np.arange(4)) == total(frozen) == 6
    assert len(total._dispatcher.signatures) == 1
    assert total(np.array([0.5, 1])) == 1.5
    assert len(total._dispatcher.signatures) == 2
    with pytest.raises(TypeError):
        total(np.arange(4, dtype=np.int32))
