"""An automaton and what it becomes, version by version, as one automaton with periods.

States and registers are the same where their names are: a run goes on in its state when arcs change around it. A register that only some versions
have is there in all periods, with its default until an arc sets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sparkcep.engines.automaton.graph import ALWAYS
from sparkcep.spec.automaton import Arc, AutomatonSpec, Period


def merged(clause: AutomatonSpec, versions: Sequence[tuple[int, AutomatonSpec]]) -> AutomatonSpec:
    """The ``versions``, each since a time in microseconds, ascending, as one automaton; the first one holds before its time too. ``clause`` says what
    they have in common: outputs, masks, window, clock, limits."""
    numbers: dict[Arc, int] = {}
    states: dict[str, None] = dict.fromkeys(clause.states[:1])
    known, periods = {id(version): version for _, version in versions}, []
    arcs = {
        name: tuple(numbers.setdefault(arc, len(numbers)) for arc in version.arcs) for name, version in known.items()
    }
    for i, (since, version) in enumerate(versions):
        periods.append(Period(since if i else ALWAYS, arcs[id(version)], version.finals))
    for version in known.values():
        states |= dict.fromkeys(version.states)
    return replace(
        clause,
        states=tuple(states),
        finals=_each_once(state for version in known.values() for state in version.finals),
        arcs=tuple(numbers),
        registers=tuple({one.name: one for version in (clause, *known.values()) for one in version.registers}.values()),
        periods=tuple(periods),
        text=versions[-1][1].text,
    )


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
