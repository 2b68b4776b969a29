"""The numba types that kernels of several engines take."""

from __future__ import annotations

from typing import Any

import numba as nb
from numba import types

from sparkcep.engines.given import Given

I8, I16, I32, I64 = (types.Array(t, 1, "C") for t in (nb.int8, nb.int16, nb.int32, nb.int64))
U64, F64, BOOL = (types.Array(t, 1, "C") for t in (nb.uint64, nb.float64, nb.boolean))
I32X2, I64X2, U64X2, BOOLX2 = (types.Array(t, 2, "C") for t in (nb.int32, nb.int64, nb.uint64, nb.boolean))
MASKS = types.Array(nb.int64, 2, "C", readonly=True)
"""Mask columns [columns, rows] of a table."""


def structure(kind: type[Any], *fields: Any) -> Given:
    """The numba type of the NamedTuple ``kind`` whose fields have these types, as kernels are given it: by reference."""
    return Given(values(kind, *fields))


def values(kind: type[Any], *fields: Any) -> types.BaseNamedTuple:
    """The same by value, for those that kernels put together."""
    return types.BaseTuple.from_types(fields, kind)
