"""The numba types of what the kernels of match-dependent conditions are given: see ``structures``."""

from __future__ import annotations

import numba as nb

from sparkcep.engines.kernel_types import BOOL, BOOLX2, I16, I32, I32X2, I64, I64X2, structure, values
from sparkcep.engines.row_match.structures import (
    Changes,
    Code,
    Conditions,
    Inside,
    KeyParts,
    Limits,
    Memory,
    Stack,
    Start,
    Taken,
    Tested,
    Words,
    Workspace,
)

CODE = structure(Code, I32, I64X2)
TESTED = values(Tested, *[nb.int64] * 6)
TAKEN = values(Taken, I16, I64X2)
WORDS = structure(Words, I64X2, I32, BOOLX2, BOOLX2, BOOLX2, I64)
STACK = structure(Stack, I64, BOOL)
CHANGES = structure(Changes, I32, I64X2, I32, I64X2)
KEYS = structure(KeyParts, I32, I32, I32, I64X2)
MEMORY = structure(Memory, I64X2, I64, I64)
INSIDE = structure(Inside, I32, I32X2)
LIMITS = structure(Limits, nb.int64, nb.int64, nb.boolean)
CONDITIONS = structure(Conditions, CODE, CHANGES, KEYS)
WORKSPACE = structure(Workspace, I32X2, TAKEN, STACK, MEMORY)
START = values(Start, *[nb.int64] * 5, nb.boolean)
