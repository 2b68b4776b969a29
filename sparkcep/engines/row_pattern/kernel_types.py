"""The numba types of what the kernels of row patterns are given: see ``structures``."""

from __future__ import annotations

import numba as nb
from numba import types

from sparkcep.engines.kernel_types import BOOL, I16, I32, I64, structure
from sparkcep.engines.row_pattern.structures import Forest, Found, Frames, Path, Progress, Rules, Targets, Tests

TESTS = structure(Tests, I32, I64)
TARGETS = structure(Targets, nb.int64, I32, I32, I16)
RULES = structure(Rules, nb.int64, BOOL, nb.boolean, nb.boolean)
PROGRESS = structure(Progress, I64, I64, I64, BOOL)
PATH = structure(Path, I32, I16, I32)
FOUND = structure(Found, I32, I32, I32, I32)
FOREST = structure(Forest, I32, I32, I16, I32)
NEAR = types.Array(nb.int64, 3, "C")
FRAMES = structure(Frames, nb.boolean, NEAR, I64, I64, BOOL, BOOL)
