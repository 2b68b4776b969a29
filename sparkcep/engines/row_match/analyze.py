"""Counts for EXPLAIN ANALYZE PATTERN where conditions look at other rows of the match.

As ``row_pattern.analyze``, and for each such condition: of how many rows the search asked it, and how many it turned away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.counts import Counts
from sparkcep.engines.row_pattern.analyze import position_names, states
from sparkcep.engines.row_pattern.matches import Matches
from sparkcep.engines.row_pattern.program import FIRST_ROW_NODE, Program
from sparkcep.spec.row import RowPatternSpec

Slice = tuple[pa.Table, NDArray[np.int64]]
"""Whole partitions, and where each starts (and the last ends)."""


def analyze(
    spec: RowPatternSpec,
    program: Program,
    table: pa.Table,
    slices: Iterable[Slice],
    matches: Callable[..., Iterator[Matches]],
) -> Counts:
    """Counts of a clause with ``defines``. ``matches(*slice, asked)``: the matches of one of the ``slices`` of ``table``, counted on the way."""
    counts = Counts()
    states(spec, program, table, counts)
    asked = np.zeros((2, program.nodes), np.int64)
    found = sum(len(part.first) for one in slices for part in matches(*one, asked))
    dependent = {define.variable for define in spec.defines}
    for position, name in enumerate(position_names(spec)):
        variable = spec.variables[program.codes[FIRST_ROW_NODE + position] >> 1]
        if variable in dependent:
            came, turned_away = (int(number) for number in asked[:, FIRST_ROW_NODE + position])
            counts.add("search", name, came, came - turned_away)
    counts.add("matches", "", found)
    return counts
