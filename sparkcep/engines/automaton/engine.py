"""Automata with registers: runs that events take from state to state, all at once.

In: an AutomatonSpec and Arrow tables of whole, sorted partitions. Out: Arrow tables of the spec's outputs: the set of (subsequence, final state,
register values) of definitions 1 and 2 of the AFA paper, in the order of the subsequences' ends, then of their starts.

Cost: for each event, a step for each run alive that it concerns; nothing for events that every state of a run ignores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.automaton import refusals
from sparkcep.engines.automaton.codes import OF_CONSTANT, OF_LABEL, T_LEFT, T_RIGHT
from sparkcep.engines.automaton.conditions import LABEL, Conditions, assemble
from sparkcep.engines.automaton.graph import build
from sparkcep.engines.automaton.log import MOST_RUNS, Log, Program, advance, tally
from sparkcep.engines.automaton.output import table as output_table
from sparkcep.engines.automaton.registers import Held, Inputs, hold, words
from sparkcep.engines.automaton.slow import Calls, Handles
from sparkcep.engines.automaton.structures import Events, Found, Graph, Runs, Tally
from sparkcep.engines.counts import Counts
from sparkcep.engines.functions.times import internal
from sparkcep.engines.row_match import codes as operations
from sparkcep.engines.row_match.constants import word_of
from sparkcep.engines.row_match.structures import Code, Stack
from sparkcep.engines.row_match.values import Data, Pool, load
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.engines.row_pattern.engine import masks_of
from sparkcep.engines.within import after
from sparkcep.errors import CepInternalError
from sparkcep.spec.automaton import AutomatonSpec, EventValue, leaves, values


@dataclass(frozen=True, slots=True)
class Plan:
    """An automaton compiled for the columns of one schema, and for those of them that have NULLs."""

    held: dict[str, Held]
    pool: Pool
    conditions: Conditions
    graph: Graph


@dataclass(frozen=True, slots=True)
class Machine:
    """A plan over one table, ready to run."""

    spec: AutomatonSpec
    plan: Plan
    columns: Columns
    data: Data
    handles: Handles
    calls: Calls
    program: Program
    log: Log
    events: Events
    masks: NDArray[np.int64]

    def advance(self, until: int) -> Iterator[Found]:
        """The matches that end before row ``until``; see ``log.advance``."""
        return advance(self.program, self.events, self.log, until, self._refusal, self._look)

    def output(self, found: Found) -> pa.Table:
        """The spec's outputs of some matches."""
        return output_table(self.spec, found, self.plan.held, self.columns, self.handles, self.data.strings)

    def _look(self, runs: Runs) -> None:
        self.calls.frame.registers = runs.registers

    def _refusal(self, status: int, log: Log) -> Exception:
        return refusals.refusal(self.spec, status, log, self.masks, self.calls.error, self.program.tally)


@dataclass(frozen=True, slots=True)
class AutomatonEngine:
    """A compiled AutomatonSpec; make it once a task with ``compile``, then ``run`` it on each table. ``read``: the columns whose values it reads."""

    spec: AutomatonSpec
    plans: dict[object, Plan] = field(default_factory=dict, compare=False)
    read: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "read", _columns(self.spec))

    def run(self, table: pa.Table) -> Iterator[pa.Table]:
        """The matches in ``table`` (whole partitions).

        Raises CepDataError for a condition or SET that overflows or divides by zero, CepLimitError for runs without bound and for ε-arcs
        without end, CepUnsupportedError for operators on types that they are not made for (known only when the first table comes).
        """
        yield from self._matches(table, lambda states: tally(states, 0), whole=False)

    def chosen(self, table: pa.Table, choose: Callable[[Found], NDArray[np.bool_]]) -> Iterator[pa.Table]:
        """The matches in ``table`` that are those of ``choose``. Errors: as ``run``."""
        yield from self._matches(table, lambda states: tally(states, 0), whole=False, choose=choose)

    def analyze(self, table: pa.Table) -> Counts:
        """How often each arc was asked and taken, and the most runs that were alive at one time. Errors: as ``run``."""
        counts, counted = Counts(), tally(len(self.spec.states), len(self.spec.arcs))
        counts.add("input", "", table.num_rows, 0)
        if table.num_rows:
            masks = masks_of(table, self.spec.masks)
            counts.add("input", "", 0, int(np.count_nonzero(masks[0] & 1)))
        found = sum(part.num_rows for part in self._matches(table, lambda _: counted, whole=True))
        for arc, asked, taken in zip(self.spec.arcs, counted.asked.tolist(), counted.taken.tolist(), strict=True):
            counts.add("arc", arc.title, asked, taken)
        counts.add("matches", "", found)
        return counts

    def _matches(
        self,
        table: pa.Table,
        counters: Callable[[int], Tally],
        *,
        whole: bool,
        choose: Callable[[Found], NDArray[np.bool_]] | None = None,
    ) -> Iterator[pa.Table]:
        if table.num_rows == 0:
            return
        machine = self.machine(table, counters(len(self.spec.states)), whole=whole)
        for found in machine.advance(table.num_rows + 1):
            if choose is not None:
                kept = choose(found)
                found = Found(*(part[kept] for part in found))
            yield machine.output(found)

    def machine(
        self, table: pa.Table, counted: Tally, *, whole: bool, first: int = 0, left: pa.Table | None = None
    ) -> Machine:
        """The engine over one table, from its row ``first`` on. ``left``: the registers of runs that go on, in the order of the spec's."""
        masks = masks_of(table, self.spec.masks)
        if masks[0, first] & 1 == 0:
            raise CepInternalError("the first row of the engine's input does not start a partition")
        columns = Columns(table)
        plan = self._plan(columns, whole, left)
        data = load(columns, plan.pool, plan.conditions.strings, () if left is None else left.columns)
        handles = Handles()
        calls = Calls(plan.conditions.slow, plan.held, handles, data.strings, columns)
        program = Program(
            _ranked(plan.graph, data),
            _code(plan.conditions, data, calls),
            data.words,
            Stack(np.zeros(plan.conditions.depth, np.int64), np.zeros(plan.conditions.depth, np.bool_)),
            calls.outside,
            counted,
        )
        rows = range(first, table.num_rows)
        log = Log.empty(_defaults(plan, columns, data, handles, first), self.spec.max_runs or MOST_RUNS, rows)
        return Machine(
            self.spec, plan, columns, data, handles, calls, program, log, self._events(masks, columns), masks
        )

    def _events(self, masks: NDArray[np.int64], columns: Columns) -> Events:
        parts = [masks, *self.times(columns)]
        return Events(*(np.require(part, requirements=["C", "W"]) for part in parts))  # Arrow's own are read-only

    def times(self, columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Time and deadline of each event as integers that compare alike, or nothing."""
        within, clock = self.spec.within, self.spec.clock
        if within is None:
            none = np.empty(0, np.int64)
            return none if clock is None else columns.order_keys(clock, False), none
        time = columns.order_keys(within.time, False)
        late = within.deadline
        return time, after(time, within.length) if late is None else columns.order_keys(late, False)

    def _plan(self, columns: Columns, whole: bool, left: pa.Table | None) -> Plan:
        inputs = Inputs(
            {name: columns.type(name) for name in self.read},
            frozenset(name for name in self.read if columns.column(name).null_count),
            frozenset()
            if left is None
            else frozenset(
                register.name
                for register, values in zip(self.spec.registers, left.columns, strict=True)
                if values.null_count
            ),
        )
        key = tuple(inputs.types.values()), inputs.nullable, inputs.missing, whole
        if key not in self.plans:
            self.plans[key] = _planned(self.spec, inputs, whole)
        return self.plans[key]


@lru_cache(maxsize=16)
def compile(spec: AutomatonSpec) -> AutomatonEngine:
    """The engine for ``spec``."""
    return AutomatonEngine(spec)


def _planned(spec: AutomatonSpec, inputs: Inputs, whole: bool) -> Plan:
    held, pool = hold(spec, inputs), Pool({}, {}, {})
    conditions = assemble(spec, held, inputs, pool)
    for register in spec.registers:
        if register.column is not None and not held[register.name].handle:
            pool.column(register.column)
    return Plan(held, pool, conditions, build(spec, conditions, whole=whole))


def _columns(spec: AutomatonSpec) -> tuple[str, ...]:
    """The columns whose values conditions, assignments and defaults read."""
    read = [
        leaf.column
        for arc in spec.arcs
        for value in values(arc)
        for leaf in leaves(value)
        if isinstance(leaf, EventValue)
    ]
    return tuple(dict.fromkeys([*read, *(one.column for one in spec.registers if one.column is not None)]))


def _defaults(plan: Plan, columns: Columns, data: Data, handles: Handles, first: int) -> NDArray[np.int64]:
    """The words of the registers before the ``first`` event."""
    found = np.zeros(words(plan.held), np.int64)
    for held in plan.held.values():
        word = _default(held, plan, columns, data, handles, first)
        found[held.word] = word or 0
        if held.flag >= 0:
            found[held.flag] = word is not None
    return found


def _default(held: Held, plan: Plan, columns: Columns, data: Data, handles: Handles, first: int) -> int | None:
    """The word of one register; None: NULL."""
    default, column = held.register.default, held.register.column
    if column is not None:
        value = columns.column(column)[first]
        if not value.is_valid:
            return None
        return (
            handles.number(internal(value.as_py()))
            if held.handle
            else int(data.words.values[plan.pool.columns[column], first])
        )
    if default is None or default.value is None:
        return None
    if held.handle:
        return handles.number(Decimal(default.value) if held.kind.name == "decimal" else default.value)
    if held.kind.name == "string":
        return int(data.words.labels[plan.conditions.strings.index(default.value)])
    return word_of(default)


def _code(conditions: Conditions, data: Data, calls: Calls) -> Code:
    """The bytecode with what only the data and Python know: ranks of constants, addresses."""
    found = conditions.code.operations.copy()
    labelled = (found[:, 0] == operations.CONSTANT) & (found[:, 3] == LABEL)
    found[labelled, 1] = data.words.labels[found[labelled, 1]]
    found[found[:, 0] == operations.APPLY, 2] = calls.address
    return conditions.code._replace(operations=found)


def _ranked(graph: Graph, data: Data) -> Graph:
    """The graph with ranks in place of the strings that tests compare with."""
    if not (graph.tests[:, [T_LEFT, T_RIGHT]] == OF_LABEL).any():
        return graph
    tests = graph.tests.copy()
    for side in (T_LEFT, T_RIGHT):
        labelled = tests[:, side] == OF_LABEL
        tests[labelled, side + 1] = data.words.labels[tests[labelled, side + 1]]
        tests[labelled, side] = OF_CONSTANT
    return graph._replace(tests=tests)
