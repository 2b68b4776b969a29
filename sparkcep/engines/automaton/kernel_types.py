"""The numba type of what the kernels of automata are given: see ``structures``."""

from __future__ import annotations

from sparkcep.engines.automaton.structures import Events, Found, Given, Graph, Memory, Outside, Resumed, Runs, Tally
from sparkcep.engines.kernel_types import BOOLX2, I16, I64, I64X2, structure
from sparkcep.engines.row_match.kernel_types import CODE, STACK, WORDS

GIVEN = structure(
    Given,
    structure(Graph, I64, I64, I64X2, I64X2, I64X2, I64X2, BOOLX2),
    structure(Events, I64X2, I64, I64),
    structure(Runs, I64, I64, I64, I64, I64, I64X2, I64X2),
    structure(Resumed, I64, I64, I64),
    structure(Found, I64, I64, I64, I64X2),
    structure(Memory, I64, I64),
    structure(Tally, I64, I64, I64, I64),
    structure(Outside, I64, I64),
    CODE,
    WORDS,
    STACK,
    I16,
    I64,
)
