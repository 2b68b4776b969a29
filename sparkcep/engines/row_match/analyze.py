"""Counts for EXPLAIN ANALYZE PATTERN where conditions look at other rows of the match.

As ``row_pattern.analyze``, and for each such condition: of how many rows the search asked it, and how many it turned away.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkcep.engines.counts import Counts
from sparkcep.engines.row_match.engine import compile_row_match
from sparkcep.engines.row_pattern.analyze import counting, position_names, states
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.engines.row_pattern.program import FIRST_ROW_NODE
from sparkcep.spec.row import RowPatternSpec


def analyze(spec: RowPatternSpec, table: pa.Table) -> Counts:
    """Counts of a clause with ``defines``. Errors: as ``RowMatchEngine.run``."""
    counts = Counts()
    engine = compile_row_match(counting(spec))
    program = engine.search.program
    states(spec, program, table, counts)
    asked = np.zeros((2, program.nodes), np.int64)
    found = 0
    for part, masks, starts in engine.slices(table):
        found += sum(len(matches.first) for matches in engine.matches(Columns(part), masks, starts, asked))
    dependent = {define.variable for define in spec.defines}
    for position, name in enumerate(position_names(spec)):
        variable = spec.variables[program.codes[FIRST_ROW_NODE + position] >> 1]
        if variable in dependent:
            came, turned_away = (int(number) for number in asked[:, FIRST_ROW_NODE + position])
            counts.add("search", name, came, came - turned_away)
    counts.add("matches", "", found)
    return counts
