"""AnalyzeSpec → the function that counts: the engine's own counters where it keeps any, else its input and output rows.

Imported by workers only when a query is analysed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from sparkcep.engines.choice import choose
from sparkcep.engines.counts import Counts

Run = Callable[[pa.Table], Iterator[pa.Table]]


def analysis(spec: Any, run: Run) -> Run:
    """The counts of the clause ``spec``, which ``run`` evaluates: for each table of whole partitions one table of ``counts.SCHEMA``."""
    count = _counter(spec, run)
    return lambda table: iter([count(table).table()] if table.num_rows else [])


def _counter(spec: Any, run: Run) -> Callable[[pa.Table], Counts]:
    match choose(spec).engine:
        case "row_pattern":
            from sparkcep.engines.row_pattern import analyze as row_pattern

            return lambda table: row_pattern.analyze(spec, table)
        case "row_match":
            from sparkcep.engines.row_match import analyze as row_match

            return lambda table: row_match.analyze(spec, table)
        case "chain" | "tree" | "eager" | "stack":
            from sparkcep.engines.event_pattern import analyze as event_pattern
            from sparkcep.engines.event_pattern import engine

            plan = engine.compile(spec)
            return lambda table: event_pattern.analyze(plan, table)
        case "nfa_b":
            from sparkcep.engines.nfa_b import analyze as nfa_b
            from sparkcep.engines.nfa_b import engine as nfa_b_engine

            runs = nfa_b_engine.compile(spec)
            return lambda table: nfa_b.analyze(runs, table)
        case "aseq":
            from sparkcep.engines.aseq import analyze as aseq
            from sparkcep.engines.aseq import engine as aseq_engine

            counter = aseq_engine.compile(spec)
            return lambda table: aseq.analyze(counter, table)
    return lambda table: _rows(run, table)


def _rows(run: Run, table: pa.Table) -> Counts:
    """For an engine that keeps no counters: rows in and rows out."""
    counts = Counts()
    counts.add("input", "", table.num_rows)
    counts.add("output", "", sum(part.num_rows for part in run(table)))
    return counts
