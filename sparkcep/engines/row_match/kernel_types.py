"""The numba types of what the kernels of match-dependent conditions are given: see ``structures``."""

from __future__ import annotations

import numba as nb
from numba import types

from sparkcep.engines.kernel import structure
from sparkcep.engines.row_match.structures import Changes, Code, KeyParts, Memory, Stack, Taken, Tested, Words

I8, I16, I32, I64, BOOL = (types.Array(t, 1, "C") for t in (nb.int8, nb.int16, nb.int32, nb.int64, nb.boolean))
I32X2, I64X2, BOOLX2 = (types.Array(t, 2, "C") for t in (nb.int32, nb.int64, nb.boolean))

CODE = structure(Code, I32, I64X2)
TESTED = structure(Tested, *[nb.int64] * 6)
TAKEN = structure(Taken, I16, I64X2)
WORDS = structure(Words, I64X2, I32, BOOLX2, BOOLX2, BOOLX2, I64)
STACK = structure(Stack, I64, BOOL)
CHANGES = structure(Changes, I32, I64X2, I32, I64X2)
KEYS = structure(KeyParts, I32, I32, I32, I64X2)
MEMORY = structure(Memory, I64X2, I64, I64)
