"""Streams that follow a named pattern while it changes: what its table knows of them.

In: the rows of FOLLOWING, beside the versions of a pattern. Out: the versions bound for each stream, or the refusal of a change, by the name of the
stream. A running plan of Spark cannot take in new expressions, so a version is bound when it is recorded, against the columns of its input,
and the engine computes what its arcs ask.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.types import StructType

from rewrites.bind.automaton import BoundAutomaton, bind_automaton
from rewrites.bind.relation import Describe, Relation
from rewrites.dialect.match_automaton import parse_match_automaton
from rewrites.dialect.stored_bodies import body_site, clause_of
from rewrites.emit.automaton import automaton_spec
from rewrites.patterns.versions import BOUND, ENDED, STARTED, Version
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepError, Span
from sparkcep.spec import AutomatonSpec, to_json


@dataclass(frozen=True, slots=True)
class Binding:
    """A version of ``pattern`` bound for the ``interface`` of a stream: its ``spec`` and the ``schema`` of the input, as JSON. ``common``: what all
    versions must have in common, as texts by their names; ``registers``: theirs, which keep their types and defaults."""

    pattern: str
    interface: str
    spec: str
    schema: str
    common: Mapping[str, str]
    registers: Mapping[str, str]

    @property
    def body(self) -> str:
        """As the table keeps it."""
        told = {"spec": self.spec, "schema": self.schema, "common": dict(self.common)}
        return json.dumps({**told, "registers": dict(self.registers)})


@dataclass(frozen=True, slots=True)
class Follower:
    """What is known of an interface: a binding of it, with the registers of all, the numbers of the versions that are bound for it, and its running
    streams (id → name), with the ``columns`` that are registers."""

    binding: Binding
    numbers: frozenset[int]
    streams: Mapping[str, str]
    columns: frozenset[str]


def binding(pattern: str, interface: str, bound: BoundAutomaton) -> Binding:
    """The version that a clause over a stream was written with."""
    schema = bound.relation.schema.json()
    return Binding(
        pattern, interface, to_json(_without_schema(bound)), schema, dict(_common(bound)), dict(_registers(bound))
    )


def rebound(known: Binding, body: str, describe: Describe) -> Binding:
    """Another version, bound for the same interface. Raises CepError where it is not for this interface."""
    clause = clause_of(body)
    if clause != "MATCH AUTOMATON":
        raise CepAnalysisError(f"it is a body of {clause}", code="PATTERN_CLAUSE")
    schema = StructType.fromJson(json.loads(known.schema))
    relation = Relation("", schema, describe, expression=getattr(describe, "expression", None))
    relation = replace(relation, text=relation.stand_in)
    bound = bind_automaton(parse_match_automaton(body, body_site(body)), relation, Source(body), whole=True)
    own = dict(_common(bound))
    for what, text in known.common.items():
        if own.get(what) != text:
            raise CepAnalysisError(
                f"{what} may not change: {text or 'none'}, now {own.get(what) or 'none'}", code="PATTERN_STREAM"
            )
    registers = dict(_registers(bound))
    for name, text in registers.items():
        if known.registers.get(name, text) != text:
            raise CepAnalysisError(
                f"the register {name} may not change: {known.registers[name]}, now {text}", code="PATTERN_STREAM"
            )
    return replace(known, spec=to_json(_without_schema(bound)), registers=registers)


def followers(rows: Iterable[Version]) -> tuple[Follower, ...]:
    """Those of a pattern, from its rows of FOLLOWING."""
    groups: dict[str, list[Version]] = {}
    for row in sorted(rows, key=lambda row: row.recorded):
        groups.setdefault(row.comment or "", []).append(row)
    found = (_follower(interface, group) for interface, group in groups.items())
    return tuple(one for one in found if one is not None)


def _follower(interface: str, rows: list[Version]) -> Follower | None:
    bound = [row for row in rows if row.change == BOUND]
    if not bound:
        return None
    said, running = [json.loads(row.body) for row in bound], dict[str, Any]()
    for row in rows:
        if row.change == STARTED:
            told = json.loads(row.body)
            running[told["id"]] = told
        elif row.change == ENDED:
            running.pop(json.loads(row.body)["id"], None)
    registers = {name: text for one in said for name, text in one["registers"].items()}
    first = Binding(bound[0].pattern, interface, said[0]["spec"], said[0]["schema"], said[0]["common"], registers)
    columns = frozenset(name for told in running.values() for name in told["registers"])
    streams = {stream: told["name"] for stream, told in running.items()}
    return Follower(first, frozenset(row.version for row in bound), streams, columns)


def bindings(rows: Iterable[Version], body: str, describe: Describe, span: Span) -> tuple[Binding, ...]:
    """A new version bound for all that follow the pattern. Raises CepAnalysisError, with the stream's name, where a running one cannot."""
    found = []
    for one in followers(rows):
        try:
            found.append(rebound(one.binding, body, describe))
            if gone := sorted(one.columns - set(found[-1].registers)):
                raise CepAnalysisError(f"the register {gone[0]} is a column of it", code="PATTERN_STREAM")
        except CepError as error:
            if one.streams:  # what has ended may stay behind: started again, it is another stream
                raise refusal(one, error.message, span, error.hint) from None
    return tuple(found)


def refusal(follower: Follower, why: str, span: Span | None, hint: str | None = None) -> CepAnalysisError:
    """The refusal of a change, by the names of the streams that it would break."""
    names, pattern = sorted(follower.streams.values()), follower.binding.pattern
    streams = f"the stream {names[0]} follows" if len(names) == 1 else f"the streams {', '.join(names)} follow"
    forget = f"stop it; if it no longer runs, ALTER PATTERN {pattern} DROP STREAM {names[0]}"
    return CepAnalysisError(
        f"{streams} the pattern {pattern}: {why}", code="PATTERN_STREAM", span=span, hint=hint or forget
    )


def _without_schema(bound: BoundAutomaton) -> AutomatonSpec:
    return replace(automaton_spec(bound), schema="", outputs=())


def _common(bound: BoundAutomaton) -> Iterable[tuple[str, str]]:
    yield "PARTITION BY", ", ".join(_spaced(key.text) for key in bound.keys)
    yield "ORDER BY", ", ".join(_spaced(f"{text} {direction}") for text, direction in bound.order)
    yield "WITHIN", _spaced(bound.window.length) if bound.window else ""
    yield "START", bound.states.names[0]
    yield "whether arcs are ON WINDOW END", "yes" if any(arc.kind == "window_end" for arc in bound.arcs) else "no"


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _registers(bound: BoundAutomaton) -> Iterable[tuple[str, str]]:
    for register in bound.registers:
        default = "NULL" if register.default is None else str(register.default.value)
        yield register.name, f"{register.type} DEFAULT {default}"
