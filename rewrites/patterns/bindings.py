"""A version of a named pattern, bound for the streams that follow it.

A running plan of Spark cannot take in new expressions, so a version is bound when it is recorded, against the columns of the stream's input, and the
workers compute what it asks. What the plan was made of, all versions have in common.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.types import StructType

from rewrites.bind.automaton import BoundAutomaton, bind_automaton
from rewrites.bind.event_pattern import BoundEventPattern, bind_event_pattern
from rewrites.bind.partitions import Key
from rewrites.bind.relation import Describe, Relation, no_stream
from rewrites.bind.row_pattern import bind_row_pattern
from rewrites.bind.stream import IDENTITY, Streamed, bind_event_stream, bind_row_stream
from rewrites.bind.within import TIME
from rewrites.dialect.clause import ClauseKind, MatchPatternClause, MatchRecognizeClause, Measure
from rewrites.dialect.match_automaton import parse_match_automaton
from rewrites.dialect.match_pattern import parse_match_pattern
from rewrites.dialect.match_recognize import parse_match_recognize
from rewrites.dialect.pattern_names import inclusions
from rewrites.dialect.stored_bodies import body_site, clause_of
from rewrites.emit.aggregate_stream import aggregate_version
from rewrites.emit.automaton import automaton_spec
from rewrites.emit.event_pattern import event_pattern_spec
from rewrites.emit.event_stream import event_version
from rewrites.emit.projected import stand_in
from rewrites.emit.row_pattern import outputs_of, results
from rewrites.emit.row_stream import row_version
from rewrites.pushdown.measures import used_by_measures
from rewrites.pushdown.stream_measures import counted
from rewrites.rules.prune_fields import every_column
from rewrites.settings import StreamSettings
from rewrites.sql.builder import text_of
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.pattern import event as events
from sparkcep.spec import from_json, to_json
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.projection import ProjectedSpec
from sparkcep.spec.row import MatchNumber, RowPatternSpec, sources
from sparkcep.spec.stream import StreamSpec


@dataclass(frozen=True, slots=True)
class Binding:
    """A version of ``pattern``, a ``clause``, bound for the ``interface`` of a stream: its ``spec`` and the ``schema`` of the input, as JSON.
    ``common``: what all versions must have in common, as texts by their names; ``registers``: theirs, which keep their types and defaults."""

    pattern: str
    clause: ClauseKind
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


def automaton_binding(bound: BoundAutomaton) -> Binding:
    """MATCH AUTOMATON; as the others, without the pattern's name and the interface."""
    spec = replace(automaton_spec(bound), schema="", outputs=())
    common = {
        **_shared(bound.keys, bound.order),
        "WITHIN": _spaced(bound.window.length) if bound.window else "",
        "START": bound.states.names[0],
        "whether arcs are ON WINDOW END": _whether(any(arc.kind == "window_end" for arc in bound.arcs)),
    }
    registers = dict(_registers(bound))
    return Binding("", "MATCH AUTOMATON", "", to_json(spec), bound.relation.schema.json(), common, registers)


def row_binding(clause: MatchRecognizeClause, relation: Relation, source: Source) -> Binding:
    """MATCH_RECOGNIZE. Raises CepAnalysisError, and CepUnsupportedError where workers cannot compute it."""
    bound = bind_row_pattern(clause, replace(stand_in(relation), streaming=True), source)
    if bound.folds:
        raise no_stream("an aggregate that Spark computes from a match's rows", clause.site.keyword)
    version = row_version(bound, bind_row_stream(clause, bound, source, keep_null_time=True))
    assert isinstance(version.of, RowPatternSpec)
    types = [data_type.simpleString() for _, data_type in outputs_of(bound)]
    columns = [text_of(column) for column in results(bound)]
    numbered = any(isinstance(read, MatchNumber) for read in sources(version.of))
    common = {
        **_shared(bound.keys, bound.order),
        "ROWS PER MATCH": bound.rows_per_match,
        "MEASURES": _texts(clause.measures, source),
        "the types of the result's columns": f"{columns}{types}",
        "whether MATCH_NUMBER() is asked for": _whether(numbered),
    }
    return _projected("MATCH_RECOGNIZE", version, relation, common)


def event_binding(clause: MatchPatternClause, relation: Relation, source: Source) -> Binding:
    """MATCH PATTERN. Raises as ``row_binding``."""
    bound = bind_event_pattern(clause, replace(stand_in(relation), streaming=True), source)
    streamed = bind_event_stream(clause, bound, source, StreamSettings(), keep_null_time=True)
    if bound.measures:
        version = _measured(clause, bound, streamed, source)
    else:
        version = event_version(bound, every_column(bound, clause.site), streamed)
    columns = (output.name for output in version.of.outputs if not output.name.startswith("__cep_"))
    common = {
        **_shared(bound.keys, bound.order),
        "what equal attributes connect": ", ".join(bound.equivalences),
        "MATCHES": bound.matches,
        "MEASURES": _texts(clause.measures, source),
        "EMIT CHANGES": _whether(bound.emit_changes is not None),
        "the columns of the result": ", ".join(columns),
        "the types of the result's columns": repr(version.of.outputs),
        "STRICT CONTIGUITY": _whether(bound.strategy == "strict_contiguity"),
        "whether matches wait for events behind them": _whether(events.looks_ahead(bound.pattern)),
    }
    return _projected("MATCH PATTERN", version, relation, common)


def _measured(
    clause: MatchPatternClause, bound: BoundEventPattern, streamed: Streamed, source: Source
) -> ProjectedSpec:
    found = counted(clause, bound, event_pattern_spec(bound, used_by_measures(bound)), source)
    return aggregate_version(found.bound, found.spec, streamed)


def _projected(clause: ClauseKind, version: ProjectedSpec, relation: Relation, common: Mapping[str, str]) -> Binding:
    return Binding("", clause, "", to_json(version), relation.schema.json(), common, {})


def rebound(known: Binding, body: str, describe: Describe) -> Binding:
    """Another version, bound for the same interface. Raises CepError where it is not for this interface."""
    clause = clause_of(body)
    if clause != known.clause:
        raise CepAnalysisError(f"it is a body of {clause}", code="PATTERN_CLAUSE")
    schema = StructType.fromJson(json.loads(known.schema))
    expression, columns = (getattr(describe, name, None) for name in ("expression", "columns"))
    relation = Relation("", schema, describe, expression=expression, columns=columns)
    bound = _BINDERS[clause](body, replace(relation, text=relation.stand_in))
    for what, text in known.common.items():
        if bound.common.get(what) != text:
            raise CepAnalysisError(_changed(what, text, bound.common.get(what)), code="PATTERN_STREAM")
    for name, text in bound.registers.items():
        if known.registers.get(name, text) != text:
            raise CepAnalysisError(_changed(f"the register {name}", known.registers[name], text), code="PATTERN_STREAM")
    _require_engine(bound.spec, getattr(describe, "check", None))
    return replace(known, spec=bound.spec, registers=bound.registers)


def _require_engine(spec: str, check: Callable[[StreamSpec], None] | None) -> None:
    """A version that workers project is one that an engine can run on a stream, else the stream would fail when it is told of it."""
    version: Any = from_json(spec)
    if check is not None and isinstance(version, ProjectedSpec):
        time = (OrderColumn(TIME),)
        check(StreamSpec(version.of, version.of.partition, time, TIME, IDENTITY, "", version.deadline))


def _of_automaton(body: str, relation: Relation) -> Binding:
    clause = parse_match_automaton(body, body_site(body))
    return automaton_binding(bind_automaton(clause, relation, Source(body), whole=True))


def _of_rows(body: str, relation: Relation) -> Binding:
    return row_binding(parse_match_recognize(body, body_site(body)), relation, Source(body))


def _of_events(body: str, relation: Relation) -> Binding:
    site = body_site(body)
    if any(inclusions(body, site)):
        raise CepUnsupportedError("a pattern in the pattern that a stream follows", code="PATTERN_STREAM")
    return event_binding(parse_match_pattern(body, site), relation, Source(body))


_BINDERS: dict[str, Callable[[str, Relation], Binding]] = {
    "MATCH AUTOMATON": _of_automaton,
    "MATCH_RECOGNIZE": _of_rows,
    "MATCH PATTERN": _of_events,
}


def _changed(what: str, before: str, now: str | None) -> str:
    said = "" if what.startswith("the types") else f": {before or 'none'}, now {now or 'none'}"
    return f"{what} may not change{said}"


def _shared(keys: Iterable[Key], order: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {
        "PARTITION BY": ", ".join(_spaced(key.text) for key in keys),
        "ORDER BY": ", ".join(_spaced(f"{text} {direction}") for text, direction in order),
    }


def _texts(measures: Iterable[Measure], source: Source) -> str:
    return _spaced(", ".join(f"{source.text(one.expr.span)} AS {one.name.value}" for one in measures))


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _whether(holds: bool) -> str:
    return "yes" if holds else "no"


def _registers(bound: BoundAutomaton) -> Iterator[tuple[str, str]]:
    for register in bound.registers:
        default = "NULL" if register.default is None else str(register.default.value)
        yield register.name, f"{register.type} DEFAULT {default}"
