"""The states of an automaton, and the mistakes that a graph can have: states that nothing leads to, or that nothing leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.bind.names import same_name
from rewrites.bind.relation import suggestion
from rewrites.dialect.clause import Arc, MatchAutomatonClause, Name
from sparkcep.errors import CepAnalysisError, CepError


@dataclass(frozen=True, slots=True)
class States:
    """``names``: all of them, the start state first, as they were first spelled (names compare without case)."""

    names: tuple[str, ...]
    finals: tuple[str, ...]

    def spelling(self, name: Name) -> str:
        """A state as it was first spelled."""
        return next(known for known in self.names if known.lower() == name.value.lower())


def states_of(clause: MatchAutomatonClause) -> States:
    """The states. Raises CepAnalysisError at an arc from or to no state, at a final state that cannot be reached, at ON WINDOW END without WITHIN."""
    same_name(clause.finals, "the final state")
    same_name((arc.name for arc in clause.arcs if arc.name), "the arc")
    spelled: dict[str, str] = {}
    for name in (clause.start, *clause.finals, *(name for arc in clause.arcs for name in (arc.source, arc.target))):
        spelled.setdefault(name.value.lower(), name.value)
    for error in _mistakes(clause):
        raise error
    finals = tuple(spelled[name.value.lower()] for name in clause.finals)
    return States(tuple(spelled.values()), finals)


def _mistakes(clause: MatchAutomatonClause) -> Iterator[CepError]:
    start, finals = clause.start.value.lower(), {name.value.lower() for name in clause.finals}
    reached, left = _reached(clause.arcs, start), {arc.source.value.lower() for arc in clause.arcs}
    others = [clause.start.value, *(arc.target.value for arc in clause.arcs)]
    for arc in clause.arcs:
        if arc.source.value.lower() not in reached:
            yield CepAnalysisError(
                f"no arc leads to {arc.source.value}, and it is not the start state",
                code="NO_STATE",
                span=arc.source.span,
                hint=suggestion(arc.source.value, dict.fromkeys(name for name in others if name.lower() in reached)),
            )
        if arc.target.value.lower() not in left | finals:
            known = dict.fromkeys([*(one.source.value for one in clause.arcs), *(name.value for name in clause.finals)])
            yield CepAnalysisError(
                f"{arc.target.value} is not final, and no arc leaves it",
                code="NO_STATE",
                span=arc.target.span,
                hint=suggestion(arc.target.value, known),
            )
        if arc.kind == "window_end" and clause.within is None:
            yield CepAnalysisError(
                "ON WINDOW END needs WITHIN",
                code="WINDOW_END",
                span=arc.kind_span,
                hint="for example WITHIN INTERVAL 1 HOUR",
            )
    for name in clause.finals:
        if name.value.lower() not in reached:
            yield CepAnalysisError(
                f"no arcs lead from {clause.start.value} to the final state {name.value}",
                code="UNREACHABLE",
                span=name.span,
                hint=suggestion(name.value, dict.fromkeys(arc.target.value for arc in clause.arcs)),
            )


def _reached(arcs: tuple[Arc, ...], start: str) -> set[str]:
    """The states that arcs lead to from the start state, itself among them, in lower case."""
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for arc in arcs:
            target = arc.target.value.lower()
            if arc.source.value.lower() == here and target not in found:
                found.add(target)
                waiting.append(target)
    return found
