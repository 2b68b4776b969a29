"""The numba types of what the kernels of automata are given: see ``structures``."""

from __future__ import annotations

from sparkcep.engines.automaton.structures import Events, Found, Graph, Memory, Outside, Runs, Tally
from sparkcep.engines.kernel import structure
from sparkcep.engines.row_match.kernel_types import BOOLX2, CODE, I16, I64, I64X2, STACK, WORDS

__all__ = [
    "CODE",
    "EVENTS",
    "FOUND_TYPE",
    "GRAPH",
    "I16",
    "I64",
    "MEMORY",
    "OUTSIDE",
    "RUNS_TYPE",
    "STACK",
    "TALLY",
    "WORDS",
]

GRAPH = structure(Graph, I64X2, I64X2, I64X2, BOOLX2)
EVENTS = structure(Events, I64X2, I64, I64)
RUNS_TYPE = structure(Runs, I64, I64, I64, I64, I64, I64X2, I64X2)
FOUND_TYPE = structure(Found, I64, I64, I64, I64X2)
MEMORY = structure(Memory, I64, I64)
TALLY = structure(Tally, I64, I64, I64, I64)
OUTSIDE = structure(Outside, I64, I64)
