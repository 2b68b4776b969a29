"""Registers that are read where no path has set them: without DEFAULT they are NULL there, and a condition on NULL does not hold.

In: a parsed MATCH AUTOMATON clause. Out: (register, the place that reads it).
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Arc, MatchAutomatonClause
from sparkcep.errors import Span

_ASKS_FOR_NULL = (exp.Is, exp.Coalesce, exp.NullSafeEQ)


def unset_reads(clause: MatchAutomatonClause) -> Iterator[tuple[str, Span]]:
    """The first such place of each register."""
    for register in clause.registers:
        name = register.name.value
        if register.default is not None:
            continue
        known = _states_behind(clause, name.lower())
        arcs = [arc for arc in clause.arcs if arc.source.value.lower() not in known]
        place = next((span for arc in arcs for span in _reads(arc, name.lower())), None)
        if place is not None:
            yield name, place


def _states_behind(clause: MatchAutomatonClause, register: str) -> set[str]:
    """The states that a run may stand in after an arc has set the register, in lower case."""
    found: set[str] = set()
    waiting = [arc.target for arc in clause.arcs if any(one.register.value.lower() == register for one in arc.sets)]
    while waiting:
        state = waiting.pop().value.lower()
        if state not in found:
            found.add(state)
            waiting += [arc.target for arc in clause.arcs if arc.source.value.lower() == state]
    return found


def _reads(arc: Arc, register: str) -> Iterator[Span]:
    """Where an arc's expressions read the register and do not ask whether it is NULL."""
    for expr in (arc.condition, *(one.value for one in arc.sets)):
        for node in expr.node.walk() if expr is not None else ():
            path = column_path(node)
            if (
                path
                and len(path) == 1
                and path[0].value.lower() == register
                and not isinstance(node.parent, _ASKS_FOR_NULL)
            ):
                yield span_of(node)
