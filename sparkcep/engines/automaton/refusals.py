"""Why the kernel stopped, as errors that name the arc, the state or the cycle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.automaton import codes
from sparkcep.engines.automaton.log import Log
from sparkcep.engines.automaton.structures import Tally
from sparkcep.engines.row_match.codes import ZERO_DIVISION
from sparkcep.errors import CepDataError, CepError, CepLimitError
from sparkcep.spec.automaton import Arc, AutomatonSpec


def refusal(
    spec: AutomatonSpec, status: int, log: Log, masks: NDArray[np.int64], error: Exception | None, tally: Tally
) -> Exception:
    """The error for a status of the kernel; ``error``: what Python has raised on the slow path."""
    row = min(int(log.position[codes.P_ROW]), masks.shape[1] - 1)
    where = f"at row {row - _partition(masks, row) + 1} of its partition"
    if status == codes.RUNS:
        return _multiplied(spec, log, tally, where)
    arc = spec.arcs[int(log.position[codes.P_ARC])]
    if status == codes.LEAP:
        return _endless(spec, arc, where)
    text = f"the arc {arc.title} {where}"
    if error is not None:
        if not isinstance(error, CepError):
            return error
        code = error.code[len(error.kind) + 1 :]
        return type(error)(f"{text}: {error.message}", code=code, hint=error.hint)
    if status - codes.FAULT == ZERO_DIVISION:
        return CepDataError(f"{text} divides by zero", code="DIVIDE_BY_ZERO", hint="use NULLIF(divisor, 0)")
    return CepDataError(f"{text} overflows", code="OVERFLOW", hint="give the register a wider type")


def _partition(masks: NDArray[np.int64], row: int) -> int:
    """The first row of the partition of ``row``."""
    return int(np.flatnonzero(masks[0, : row + 1] & 1)[-1])


def _multiplied(spec: AutomatonSpec, log: Log, tally: Tally, where: str) -> CepLimitError:
    state = spec.states[int(np.argmax(tally.alive))]
    most, there = int(log.position[codes.P_MOST]), int(tally.alive.max())
    return CepLimitError(
        f"more than {most} runs are alive {where}, {there} of them in the state {state}",
        code="RUNS",
        hint=f"bound them with WITHIN, or make the conditions of the arcs that lead to and leave {state} exclusive",
    )


def _endless(spec: AutomatonSpec, arc: Arc, where: str) -> CepLimitError:
    cycles = [_cycle(spec, one) for one in (arc, *spec.arcs) if one.kind != "event"]
    cycle = next((found for found in cycles if any(one.sets for one in found)), [])
    path = " -> ".join([cycle[0].source, *(one.target for one in cycle)]) if cycle else str(arc)
    return CepLimitError(
        f"the ε-arcs {path} lead to more than {codes.MOST_LEAPS} descriptions {where}: a cycle that changes registers without end",
        code="EPSILON",
        hint="give an arc of the cycle a condition that ends it",
    )


def _cycle(spec: AutomatonSpec, arc: Arc) -> list[Arc]:
    """A shortest cycle of ε-arcs and arcs at the window's end through ``arc``; empty where there is none."""
    paths = {arc.target: [arc]}
    waiting = [arc.target]
    while waiting and arc.source not in paths:
        here = waiting.pop(0)
        for other in spec.arcs:
            if other.source == here and other.kind != "event" and other.target not in paths:
                paths[other.target] = [*paths[here], other]
                waiting.append(other.target)
    return paths.get(arc.source, [])
