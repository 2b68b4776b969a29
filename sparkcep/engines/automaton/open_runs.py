"""Runs of automata between two turns of a stream: they go on as they stand, and meet each event once.

What is kept of a run: its first row, its state by name, and the values of its registers, as a table (START, STATE, and a column for each register).
Words mean something in one table only (see ``registers``), so values are kept, and words are made of them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.automaton.codes import NEVER
from sparkcep.engines.automaton.engine import AutomatonEngine, Machine
from sparkcep.engines.automaton.log import tally
from sparkcep.engines.automaton.output import state_names, values
from sparkcep.engines.automaton.registers import Held, Inputs, type_of, words
from sparkcep.engines.automaton.structures import Left
from sparkcep.engines.functions.times import internal
from sparkcep.engines.row_match.values import RANKED, words_of
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.spec.automaton import AutomatonSpec, Register

START, STATE = "start", "state"
REGISTER = "register_"
"""The prefix of the columns with registers."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """``found``: the matches; ``runs``: those that are open now."""

    found: tuple[pa.Table, ...]
    runs: pa.Table


def resume(
    engine: AutomatonEngine, rows: pa.Table, new: int, runs: pa.Table | None, goes_on: NDArray[np.int64]
) -> Resumed:
    """Let runs, and those that begin, meet the ``rows`` from ``new`` on (partitions, as ``AutomatonEngine.run`` reads them).

    ``runs``: those that were open, and their START a row before ``new``. ``goes_on`` [runs]: the row with which the run's partition begins among
    the new ones; NEVER: it has none there. Errors: as ``AutomatonEngine.run``.
    """
    if runs is not None:
        runs, goes_on = _conformed(engine.spec, runs, goes_on)
    registers = None if runs is None else runs.drop_columns([START, STATE])
    machine = engine.machine(rows, tally(len(engine.spec.states), 0), whole=False, first=new, left=registers)
    if runs is None:
        none = np.zeros(0, np.int64)
        left = Left(none, none, none, np.zeros((0, words(machine.plan.held)), np.int64))
    else:
        start, deadline = runs[START].to_numpy(), machine.events.deadline
        ends = deadline[start] if len(deadline) else np.full(len(start), NEVER)
        left = Left(start, ends, runs[STATE].to_numpy(), _words(machine, runs))
    machine.log.resume(left, goes_on)
    found = tuple(machine.output(found) for found in machine.advance(rows.num_rows))
    return Resumed(found, _open(machine))


def _conformed(spec: AutomatonSpec, runs: pa.Table, goes_on: NDArray[np.int64]) -> tuple[pa.Table, NDArray[np.int64]]:
    """The runs as the automaton knows them now: in states that it has, by their numbers, with the registers that it has."""
    kept = runs[STATE].combine_chunks()
    places = {name: number for number, name in enumerate(spec.states)}
    known = np.array([places.get(name, -1) for name in kept.dictionary.to_pylist()], np.int64)
    state = known[kept.indices.to_numpy()]
    columns = {START: runs[START], STATE: pa.array(state)}
    for register in spec.registers:
        name = REGISTER + register.name
        columns[name] = runs[name] if name in runs.column_names else _default(register, runs.num_rows)
    stays = state >= 0
    if stays.all():
        return pa.table(columns), goes_on
    return pa.table(columns).filter(pa.array(stays)), goes_on[stays]


def _default(register: Register, count: int) -> pa.Array:
    """A register that runs have not had so far."""
    kind = type_of(register, Inputs({}, frozenset()))
    value = None if register.default is None else register.default.value
    return pa.array([Decimal(value) if pa.types.is_decimal(kind) and value is not None else value] * count, kind)


def _open(machine: Machine) -> pa.Table:
    log = machine.log
    alive = log.alive
    registers = log.runs.registers[alive]
    kept = {
        REGISTER + name: values(held, registers, machine.handles, machine.data.strings)
        for name, held in machine.plan.held.items()
    }
    states = pa.DictionaryArray.from_arrays(pa.array(log.runs.state[alive]), state_names(machine.spec.states))
    return pa.table({START: pa.array(log.runs.start[alive]), STATE: states, **kept})


def _words(machine: Machine, runs: pa.Table) -> NDArray[np.int64]:
    """The registers of the runs as the machine has them [runs, words]."""
    found = np.zeros((runs.num_rows, words(machine.plan.held)), np.int64)
    columns = Columns(runs)
    for name, held in machine.plan.held.items():
        array = runs[REGISTER + name].combine_chunks()
        found[:, held.word] = _of_values(machine, columns, REGISTER + name, held, array)
        if held.flag >= 0:
            found[:, held.flag] = array.is_valid().to_numpy(zero_copy_only=False)
    return found


def _of_values(machine: Machine, columns: Columns, name: str, held: Held, array: pa.Array) -> NDArray[np.int64]:
    if held.handle:
        if pa.types.is_temporal(held.data_type):  # as the functions make them
            array = array.view(pa.int32() if held.data_type.bit_width == 32 else pa.int64())
        numbers = (0 if value is None else machine.handles.number(internal(value)) for value in array.to_pylist())
        return np.fromiter(numbers, np.int64, len(array))
    if held.kind.name in RANKED:
        known = machine.data.strings[held.kind.name]
        ranks: NDArray[np.int64] = pc.index_in(array.cast(known.type), known).fill_null(0).to_numpy()
        return ranks
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), words_of(columns, name, held.kind), 0)
