"""The engine interface for streams: what the rows before ``until`` decide, and which of them later rows still need.

A stream is a fold of a pure function (``streaming.fold``): every turn passes the rows that are kept and those that have become final to the engine of
the clause, which is the batch engine with an open end. No engine has state of its own.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from sparkcep.engines.choice import choose
from sparkcep.engines.turn import Decide
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.stream import StreamSpec


def compile(spec: StreamSpec, *, closing: bool = False, alone: bool = False) -> Decide:
    """What decides the turns of ``spec``; ``closing`` (of row patterns): a turn that no row will follow; ``alone`` (of totals): without those of the
    turns before. Raises CepUnsupportedError, by name, for clauses that cannot be decided on a stream."""
    asked = {name: True for name, holds in (("closing", closing), ("alone", alone)) if holds}
    decide: Decide = _room(spec).compile(spec, **asked)
    return decide


def _room(spec: StreamSpec) -> ModuleType:
    room: Any
    match choose(spec.of).engine:
        case "row_pattern":
            from sparkcep.engines.row_pattern import stream as room
        case "row_match":
            from sparkcep.engines.row_match import stream as room
        case "chain" | "tree" | "eager" | "stack":
            from sparkcep.engines.event_pattern import stream as room
        case "nfa_b":
            from sparkcep.engines.nfa_b import stream as room
        case "aseq":
            from sparkcep.engines.aseq import stream as room
        case "automaton":
            from sparkcep.engines.automaton import stream as room
        case other:
            raise CepUnsupportedError(f"the engine {other} over a stream", code="STREAM")
    module: ModuleType = room
    return module
