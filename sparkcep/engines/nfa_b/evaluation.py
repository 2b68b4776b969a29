"""The two steps of the engine: plan a clause once, evaluate it over tables of whole partitions.

In: an ``EventPatternSpec``; Arrow tables as its module describes them. Out: Arrow tables of matches. Spark is unknown
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern.output.compressed import PartWriter
from sparkcep.engines.event_pattern.output.enumerated import parts as enumerated_parts
from sparkcep.engines.event_pattern.output.output import OUTPUT_ROWS, Matches, Writer
from sparkcep.engines.event_pattern.output.overlap import non_overlapping
from sparkcep.engines.nfa_b import negation
from sparkcep.engines.nfa_b.compilation import Automaton, automata
from sparkcep.engines.nfa_b.events import Stream, load
from sparkcep.engines.nfa_b.matches import matches, parts
from sparkcep.engines.nfa_b.search import MAX_NODES, Algorithm, Resumption, Search
from sparkcep.engines.nfa_b.slow import ROW, Calls
from sparkcep.engines.nfa_b.support import check
from sparkcep.engines.nfa_b.vector import Program, conjunct_columns, program, read_directly
from sparkcep.engines.row_match import values
from sparkcep.engines.row_match.values import Pool
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.pattern.event import elements
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.expression import slow_parts

_ALGORITHMS: dict[str, Algorithm] = {"basic": "basic", "backtrack": "backtrack"}
"""What may be asked for; all else (settings for SKIP TILL ANY MATCH) is merging."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled clause. Holds no data; ``programs`` keeps what depends on the columns' types."""

    spec: EventPatternSpec
    automata: tuple[Automaton, ...]
    programs: dict[tuple[object, ...], tuple[Program, Pool]] = field(default_factory=dict, compare=False)


def plan(spec: EventPatternSpec) -> Plan:
    """The plan of a clause, made once per task. Raises what ``support.check`` raises."""
    check(spec)
    return Plan(spec, automata(spec))


def evaluate(
    compiled: Plan, table: pa.Table, *, output_rows: int = OUTPUT_ROWS, max_nodes: int = MAX_NODES
) -> Iterator[pa.Table]:
    """All matches in ``table`` as tables of ``spec.outputs`` with at most ``output_rows`` rows.

    ``table``: whole partitions, partition after partition, in ORDER BY order, with the columns the spec names. Order
    of the result: automaton by automaton, in each by the last event.

    Raises CepLimitError past ``max_nodes`` events in the match buffer, CepDataError for arithmetic errors in
    conditions, CepUnsupportedError for column types that a condition cannot compare.
    """
    spec = compiled.spec
    if not table.num_rows:
        return
    stream = load(table, spec)
    if spec.matches == "compressed":
        yield from _compressed(compiled, table, stream, max_nodes)
        return
    writer = Writer(spec, table)
    found: Iterator[Matches] = (
        part
        for at in range(len(compiled.automata))
        for part in found_by(compiled, at, table, stream, output_rows, max_nodes)
    )
    if spec.matches == "non_overlapping" and not chooses(compiled):
        place = np.arange(table.num_rows)
        found = non_overlapping(found, place, np.cumsum(stream.starts()), spec.variables)
    for part in found:
        yield writer.write(part)


def searches(compiled: Plan, table: pa.Table) -> Iterator[Search]:
    """The searches of ``evaluate``, one an automaton: for those who measure."""
    stream = load(table, compiled.spec)
    for at in range(len(compiled.automata)):
        yield search(compiled, at, table, stream)


def chooses(compiled: Plan) -> bool:
    """Whether matches that overlap are left out while runs are made: nothing decides on a match afterwards."""
    single = len(compiled.automata) == 1 and compiled.automata[0].line.branch.alternatives == ((),)
    return compiled.spec.matches == "non_overlapping" and single


def found_by(
    compiled: Plan,
    at: int,
    table: pa.Table,
    stream: Stream,
    output_rows: int = OUTPUT_ROWS,
    max_nodes: int = MAX_NODES,
) -> Iterator[Matches]:
    """The matches of the automaton ``at``, in order of their last events; the parameters and errors of ``evaluate``."""
    return found_in(compiled, at, table, search(compiled, at, table, stream, max_nodes), output_rows)


def found_in(
    compiled: Plan, at: int, table: pa.Table, searched: Search, output_rows: int = OUTPUT_ROWS
) -> Iterator[Matches]:
    """The matches of a search of the automaton ``at``; see ``found_by``."""
    line = compiled.automata[at].line
    negated = negation.prepare(line.branch, compiled.spec, table)
    for ends in searched.ends():
        for part in matches(ends, line, output_rows):
            kept = part if negated is None else negated.unrefuted(part)
            if len(kept):
                yield kept


def _compressed(compiled: Plan, table: pa.Table, stream: Stream, max_nodes: int) -> Iterator[pa.Table]:
    """A search leaves the buffer behind, where it alone finds matches and nothing strikes them out; else it is made of the matches."""
    spec, line = compiled.spec, compiled.automata[0].line
    if len(compiled.automata) == 1 and line.branch.alternatives == ((),) and spec.engine != "backtrack":
        writer = PartWriter(spec, [component.variable for component in line.components], table)
        for ends in search(compiled, 0, table, stream, max_nodes).ends():
            yield from map(writer.write, parts(ends))
        return
    names = [element.variable for element in elements(spec.pattern, negated=False)]
    writer = PartWriter(spec, names, table)
    found = (
        part
        for at in range(len(compiled.automata))
        for part in found_by(compiled, at, table, stream, OUTPUT_ROWS, max_nodes)
    )
    yield from map(writer.write, enumerated_parts(found, names))


def search(
    compiled: Plan,
    at: int,
    table: pa.Table,
    stream: Stream,
    max_nodes: int = MAX_NODES,
    before: Resumption | None = None,
) -> Search:
    """The search of the automaton ``at``."""
    spec, automaton = compiled.spec, compiled.automata[at]
    if any(slow_parts(c.condition) or c.each for edge in automaton.edges for c in edge.conjuncts):
        table = table.append_column(ROW, pa.array(np.arange(table.num_rows)))
    columns = Columns(table)
    read = conjunct_columns(automaton)
    columns, wide = values.shortened(columns, read, whole=read if before else ())
    kinds = {name: values.kind_of(columns.type(name)) for name in (*read, *_row_column(table))}
    key = (at, tuple(kinds.values()), tuple(wide.items()))
    if key not in compiled.programs:
        pool = Pool({}, {}, {})
        compiled.programs[key] = (program(automaton, kinds, pool, wide), pool)
    compiled_program, pool = compiled.programs[key]
    return Search(
        automaton,
        compiled_program,
        stream.events(automaton.components),
        values.load(columns, pool, (), checked=wide.keys() - read_directly(automaton)).words,
        ignores=spec.strategy == "next",
        algorithm=_ALGORITHMS.get(spec.engine, "merging"),
        chooses=chooses(compiled),
        max_nodes=max_nodes,
        calls=Calls(compiled_program.slow, table) if compiled_program.slow else None,
        before=before,
    )


def _row_column(table: pa.Table) -> tuple[str, ...]:
    return (ROW,) if ROW in table.column_names else ()
