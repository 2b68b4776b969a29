"""The numba types of what the kernels of NFA^b automata are given: see ``structures``."""

from __future__ import annotations

import numba as nb

from sparkcep.engines.kernel_types import BOOL, BOOLX2, I8, I16, I32, I32X2, I64, I64X2, structure
from sparkcep.engines.nfa_b.structures import (
    Events,
    Formulas,
    LastNodes,
    Machine,
    Merging,
    Mode,
    Nodes,
    PartArrays,
    Paths,
    Resumed,
    Runs,
    Saved,
    Walk,
    Written,
)
from sparkcep.engines.row_match.kernel_types import CODE, STACK, WORDS

MACHINE = structure(Machine, I64, I64, BOOL, I32, I32, I64X2, BOOLX2)
FORMULAS = structure(Formulas, CODE, WORDS, STACK, I16)
EVENTS = structure(Events, I64, I8, I32, I64, I64)
RUNS = structure(Runs, I32, I32, I32, I32, I32, I64X2)
RESUMED = structure(Resumed, I32, I32, RUNS)
SAVED = structure(Saved, I32, I32, I32)
NODES = structure(Nodes, I32, I8, I32, I32, I32)
ENDS = structure(LastNodes, I32, I32)
MERGING = structure(Merging, I32, I32)
PATHS = structure(Paths, I32, I32)
MODE = structure(Mode, *[nb.int64] * 3)
WALK = structure(Walk, I32, I32, I32, I8)
WRITTEN = structure(Written, I32, I32X2)
PARTS = structure(PartArrays, I32, I32, I8, I32, I32, I32)
