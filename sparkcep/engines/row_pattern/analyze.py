"""Counts for EXPLAIN ANALYZE PATTERN over a MATCH_RECOGNIZE clause.

In: the engine of a clause (linear or with match-dependent conditions) and a table of whole partitions. Out: ``Counts``: rows,
partitions, and for each state of the automaton at how many rows a partial match came to it, and at how many it went on; then the matches.
A partial match may begin at every row, so a state that no row was taken in is one that no choice of start and path gets past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.engines.counts import Counts
from sparkcep.engines.row_pattern.columns import masks_of
from sparkcep.engines.row_pattern.graph import build_graph, row_nodes, state_names
from sparkcep.engines.row_pattern.program import Program
from sparkcep.spec.row import MatchNumber, Output, RowPatternSpec

MOST_STATES = 60
"""With more states than this, the states of a variable are counted together."""


def counting(spec: RowPatternSpec) -> RowPatternSpec:
    """The same clause with as little output as tells its matches: a row each."""
    return replace(spec, rows_per_match="one", outputs=(Output("number", MatchNumber()),))


def analyze(
    spec: RowPatternSpec, program: Program, table: pa.Table, matches: Callable[[pa.Table], Iterator[pa.Table]]
) -> Counts:
    """Counts of a clause whose conditions look at rows and their neighbours only; ``matches`` runs ``counting(spec)``."""
    counts = Counts()
    states(spec, program, table, counts)
    counts.add("matches", "", sum(part.num_rows for part in matches(table)))
    return counts


def states(spec: RowPatternSpec, program: Program, table: pa.Table, counts: Counts) -> None:
    """Add the input's rows and partitions, and what the mask bits let each state take."""
    from sparkcep.engines.row_pattern import reach_kernels

    masks = masks_of(table, spec.masks)
    counts.add("input", "", table.num_rows, int(np.count_nonzero(masks[0] & 1)))
    tried, taken = np.zeros(program.positions, np.int64), np.zeros(program.positions, np.int64)
    ends = np.zeros(1, np.int64)
    reach_kernels.reach(np.ascontiguousarray(masks), program.tests, program.targets, spec.initial, tried, taken, ends)
    for name, came, stayed in zip(position_names(spec), tried.tolist(), taken.tolist(), strict=True):
        counts.add("state", name, came, stayed)
    counts.add("complete", "", int(ends[0]))


def position_names(spec: RowPatternSpec) -> list[str]:
    """The states' names in the program's order, as the automaton shows them; the variables' where there are many."""
    graph = build_graph(spec.pattern, spec.variables)
    nodes = row_nodes(graph)
    if len(nodes) > MOST_STATES:
        return [spec.variables[graph.codes[node] >> 1] for node in nodes]
    names = state_names(graph, spec.variables)
    return [names[node] for node in nodes]
