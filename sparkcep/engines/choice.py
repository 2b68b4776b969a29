"""Which engine runs a MatchSpec, and why. Imports no engine, because the driver asks too.

* ``row_pattern``: every DEFINE condition is a boolean of the row. Linear in the rows, whatever the pattern.
* ``row_match``: some condition looks at other rows of the match. Backtracking with memoisation of failures.
* ``chain``, ``tree``, ``eager``, ``stack``: the event pattern engines, as the user asked; by default ``chain``, in the order of least expected cost.
* ``nfa_b``: the NFA^b of SASE+, for the selection strategies other than skip till any match.
* ``aseq``: prefix counting, where only aggregates over the matches are wanted.
* ``automaton``: runs with registers, for MATCH AUTOMATON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkcep.spec import AggregateSpec, AutomatonSpec, EventPatternSpec, MatchSpec, RowPatternSpec
from sparkcep.spec.event import Engine
from sparkcep.spec.row import slow_functions
from sparkcep.spec.words import asked

EngineName = Literal["row_pattern", "row_match", "chain", "tree", "eager", "stack", "nfa_b", "aseq", "automaton"]

CHAIN = "lazy Chain NFA: in each batch the variable with the fewest events goes first"

REASONS: Mapping[Engine, tuple[EngineName, str]] = {
    "auto": ("chain", CHAIN),
    "chain": ("chain", f"{CHAIN} (asked for)"),
    "tree": ("tree", "lazy Tree NFA, asked for: in each block of time the variable with the fewest events goes first"),
    "eager": ("eager", "eager NFA, asked for: variables in pattern order, as events arrive"),
    "stack": (
        "stack",
        "active instance stacks, asked for: scanned forwards, constructed backwards from the last variable",
    ),
}

RUNS: Mapping[Engine, str] = {
    "basic": "NFA^b, asked for: every run by itself",
    "backtrack": "NFA^b, asked for: one run at a time, the others postponed",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine and the reason, as EXPLAIN PATTERN shows it."""

    engine: EngineName
    reason: str


def choose(spec: MatchSpec) -> Choice:
    """The engine for ``spec``."""
    if isinstance(spec, AggregateSpec):
        return Choice("aseq", "A-Seq: the query only aggregates the matches, so none is built")
    if isinstance(spec, AutomatonSpec):
        return Choice("automaton", _automaton(spec))
    if isinstance(spec, EventPatternSpec):
        if spec.strategy != "any":
            return Choice("nfa_b", RUNS.get(spec.engine, "NFA^b: runs with equal futures are merged"))
        return Choice(*REASONS.get(spec.engine, REASONS["auto"]))
    if not spec.defines:
        return Choice("row_pattern", "linear: every condition looks at its row and the row's neighbours only")
    return Choice("row_match", _search(spec))


def _automaton(spec: AutomatonSpec) -> str:
    reason = "automaton with registers: equal runs are merged, ignorable events cost nothing per run"
    arcs = (
        (str(arc), [*asked(arc.condition), *(n for one in arc.sets for n in slow_functions(one.value))])
        for arc in spec.arcs
    )
    slow = [(arc, tuple(dict.fromkeys(names))) for arc, names in arcs if names]
    return f"{reason}. {_slow_path(slow)}" if slow else reason


def _slow_path(slow: list[tuple[str, tuple[str, ...]]]) -> str:
    parts = "; ".join(f"{name}: {', '.join(found)}" for name, found in slow)
    return f"SLOW PATH: Python evaluates functions row by row that the engine has no operations for ({parts})"


def _search(spec: RowPatternSpec) -> str:
    within = spec.within
    if within is not None and all(define.condition == within.condition for define in spec.defines):
        return "linear: only WITHIN looks at other rows of the match; searched with memory where it turns a match away that could have been another"
    names = ", ".join(define.variable for define in spec.defines)
    reason = f"search with memory: the conditions of {names} look at other rows of the match"
    slow = [(define.variable, found) for define in spec.defines if (found := asked(define.condition, checked=True))]
    if not slow:
        return reason
    return f"{reason}. {_slow_path(slow)}"
