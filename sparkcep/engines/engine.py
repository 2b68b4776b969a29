"""The engine interface: compile a clause once, run it over tables of whole partitions.

In: a MatchSpec, from the driver. Out: the engine that ``choice.choose`` names, imported lazily. A new engine is a folder with a
``compile``, a reason in ``choice`` and a line in ``_room``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Protocol

import pyarrow as pa

from sparkcep.engines.choice import EngineName, choose
from sparkcep.engines.counts import Counts
from sparkcep.engines.derived import with_derived
from sparkcep.spec import AnalyzeSpec, MatchSpec

Run = Callable[[pa.Table], Iterator[pa.Table]]


class Engine(Protocol):
    """A compiled clause. It holds no data, so one instance serves all tables of a task, in any order.

    A table holds whole partitions, one after another, each in ORDER BY order, with the columns that the spec names.
    """

    def run(self, table: pa.Table) -> Iterator[pa.Table]:
        """The clause's rows over ``table``: tables of the spec's outputs. Raises CepError."""
        ...

    def analyze(self, table: pa.Table) -> Counts:
        """What EXPLAIN ANALYZE PATTERN counts while the clause runs over ``table``. Raises what ``run`` raises."""
        ...


def compile(spec: MatchSpec) -> Engine:
    """The engine for ``spec``. Raises CepError for a clause that the engine cannot run."""
    engine: Engine = _room(choose(spec).engine).compile(spec)
    return engine


def evaluation(spec: MatchSpec | AnalyzeSpec) -> Run:
    """What answers ``spec`` over tables as Spark sends them: the clause's rows, or for an AnalyzeSpec its counts as tables of ``counts.SCHEMA``."""
    if not isinstance(spec, AnalyzeSpec):
        run = compile(spec).run
        return lambda table: run(with_derived(spec, table))
    engine = compile(spec.of)
    return lambda table: iter([engine.analyze(with_derived(spec, table)).table()] if table.num_rows else [])


def _room(name: EngineName) -> ModuleType:
    """The module that compiles for an engine; only the engine that is needed is imported."""
    room: Any
    match name:
        case "row_pattern":
            from sparkcep.engines.row_pattern import engine as room
        case "row_match":
            from sparkcep.engines.row_match import engine as room
        case "nfa_b":
            from sparkcep.engines.nfa_b import engine as room
        case "automaton":
            from sparkcep.engines.automaton import engine as room
        case "aseq":
            from sparkcep.engines.aseq import engine as room
        case "chain" | "tree" | "eager" | "stack":
            from sparkcep.engines.event_pattern import engine as room
    module: ModuleType = room
    return module
