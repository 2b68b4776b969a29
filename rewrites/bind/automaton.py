"""MatchAutomatonClause → BoundAutomaton: states, registers and arcs resolved, conditions divided between Spark and the engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql.types import BooleanType, DataType
from sqlglot import exp

from rewrites.bind.arcs import ArcTranslator, known_register, literal, storable, travels_as_it_is
from rewrites.bind.conditions import Columns, conjuncts
from rewrites.bind.many_rows import check_order
from rewrites.bind.names import same_name
from rewrites.bind.partitions import Key, Together, bind_keys, bind_order, check_key_names, event_time, plain_column
from rewrites.bind.relation import Relation, spark_message
from rewrites.bind.states import States, states_of
from rewrites.bind.within import Window, bind_window, end_of
from rewrites.dialect import span_of
from rewrites.dialect.clause import Arc, Assignment, Expr, MatchAutomatonClause
from rewrites.dialect.clause import Register as RegisterClause
from rewrites.sql.source import Source
from rewrites.sql.transport import carried
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.spec import automaton
from sparkcep.spec.expression import Call

RESULTS = ("match_start", "match_end", "lifetime_start", "lifetime_end", "final_state")
"""Columns of every result, between those of PARTITION BY and the registers."""


@dataclass(frozen=True, slots=True)
class BoundAutomaton:
    """A MATCH AUTOMATON clause ready to be emitted.

    ``order``: (SQL, direction) of each item. ``tests``: the SQL of each bit; ``columns``: SQL text → name of the columns that arcs and registers
    read, ``column_types`` their types. ``ends``: SQL of the time when the window of an event passes, ``ends_type`` its type.
    ``steps``: for each arc what Spark asks of an event. ``key_filters``: tests of partitions, found by a rule. ``whole``: Spark computes nothing for
    the arcs, so that others may take their places: the engine has all columns that it can read, ``whole`` by name.
    ``together``: how the events come where a rule has workers sort them.
    """

    relation: Relation
    keys: tuple[Key, ...]
    order: tuple[tuple[str, str], ...]
    time: str
    time_type: DataType
    time_column: str | None
    states: States
    registers: tuple[automaton.Register, ...]
    register_types: dict[str, DataType]
    arcs: tuple[automaton.Arc, ...]
    tests: tuple[str, ...]
    steps: dict[str, tuple[tuple[str, str], ...]]
    columns: dict[str, str]
    column_types: dict[str, DataType]
    window: Window | None
    ends: str
    ends_type: DataType
    text: str
    key_filters: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    together: Together | None = None


_CHARS = re.compile(r"\b(VAR)?CHAR(ACTER)?\s*\(", re.IGNORECASE)
"""CHAR(n) and VARCHAR(n), also as elements."""


def bind_automaton(
    clause: MatchAutomatonClause, relation: Relation, source: Source, *, whole: bool = False
) -> BoundAutomaton:
    """Resolve a MATCH AUTOMATON clause. ``whole``: the engine computes all that arcs ask. Raises CepAnalysisError and CepUnsupportedError with
    spans."""
    check_order(clause, source)
    keys = bind_keys(clause.partition_by, relation, source)
    check_key_names(keys, RESULTS)
    states = states_of(clause)
    first = event_time(clause.order_by)
    time = source.text(first.expr.span)
    (time_type,) = relation.types_of([(time, first.expr.span)])
    window = bind_window(clause.within, time, time_type, relation, source)
    ends = end_of(window, time, time_type) if window is not None else f"CAST(NULL AS {time_type.simpleString()})"
    (ends_type,) = relation.types_of([(ends, clause.within.span if clause.within else first.span)])
    binder = _Binder(
        clause, relation, source, _types(clause, keys, relation, source), Columns("__cep_a"), time, ends, {}, [], whole
    )
    registers = tuple(binder.register(register) for register in clause.registers)
    arcs = tuple(binder.arc(arc, states) for arc in clause.arcs)
    types = {field.name: field.dataType for field in relation.schema} | binder.columns.types
    return BoundAutomaton(
        relation=relation,
        keys=keys,
        order=bind_order(clause.order_by, relation, source),
        time=time,
        time_type=time_type,
        time_column=plain_column(first.expr.node, relation),
        states=states,
        registers=registers,
        register_types=dict(binder.registers.values()),
        arcs=arcs,
        tests=tuple(binder.tests),
        steps={str(arc): steps for arc, steps in zip(arcs, binder.steps, strict=True) if steps},
        columns=binder.columns.texts,
        column_types=types,
        window=window,
        ends=ends,
        ends_type=ends_type,
        text=" ".join(source.text(clause.site.body).split()),
        whole=tuple(field.name for field in relation.schema if travels_as_it_is(field.dataType)) if whole else (),
    )


def _types(
    clause: MatchAutomatonClause, keys: tuple[Key, ...], relation: Relation, source: Source
) -> dict[str, tuple[str, DataType]]:
    """The registers by their names in lower case: spelling and type."""
    same_name((register.name for register in clause.registers), "the register")
    taken = dict.fromkeys(RESULTS, "the result has a column of this name")
    taken |= {key.name.lower(): "a PARTITION BY column has this name" for key in keys}
    taken |= {name.lower(): "a column of the input has this name" for name in relation.schema.names}
    found = {}
    for register in clause.registers:
        name = register.name
        if name.value.lower() in taken:
            raise CepAnalysisError(
                f"the register {name.value}: {taken[name.value.lower()]}",
                code="REGISTER_NAME",
                span=name.span,
                hint="rename the register",
            )
        found[name.value.lower()] = name.value, _type(register, relation, source)
    return found


def _type(register: RegisterClause, relation: Relation, source: Source) -> DataType:
    text = source.text(register.data_type)
    try:
        (field,) = relation.describe(f"SELECT CAST(NULL AS {text}) AS `r`")
    except PySparkException as error:
        raise CepAnalysisError(spark_message(error), code="REGISTER_TYPE", span=register.data_type) from None
    data_type = field.dataType
    name = data_type.simpleString()
    if _CHARS.search(text):
        raise CepUnsupportedError(
            f"a register of the type {text}",
            code="REGISTER_TYPE",
            span=register.data_type,
            hint="write STRING: Spark pads and checks the length only where a value is stored in a table",
        )
    if carried(data_type) != data_type or name.startswith(("map", "variant", "time(")) or "collate" in name:
        raise CepUnsupportedError(
            f"a register of the type {name}",
            code="REGISTER_TYPE",
            span=register.data_type,
            hint="keep a number or a string in it",
        )
    return data_type


@dataclass(slots=True)
class _Binder:
    clause: MatchAutomatonClause
    relation: Relation
    source: Source
    registers: Mapping[str, tuple[str, DataType]]
    columns: Columns
    time: str
    ends: str
    tests: dict[str, int]
    """SQL → bit."""
    steps: list[tuple[tuple[str, str], ...]]
    whole: bool

    def register(self, register: RegisterClause) -> automaton.Register:
        """Its type and its value before the first event."""
        name, data_type = self.registers[register.name.value.lower()]
        found = automaton.Register(name, data_type.simpleString())
        if register.default is None:
            return found if _has_words(data_type) else self._held(found, "NULL", data_type)
        text, span = self.source.text(register.default.span), register.default.span
        (kind,) = self.relation.types_of([(text, span)])
        if any(True for part in register.default.node.walk() if plain_column(part, self.relation)):
            raise CepAnalysisError(
                f"the DEFAULT of {name} reads a column", code="REGISTER_DEFAULT", span=span, hint="write a constant"
            )
        if not storable(kind, data_type):
            raise CepAnalysisError(
                f"the DEFAULT of {name} is {kind.simpleString()}, the register {data_type.simpleString()}",
                code="REGISTER_DEFAULT",
                span=span,
                hint=f"write CAST(… AS {data_type.simpleString()})",
            )
        constant = literal(text, data_type)
        return replace(found, default=constant) if constant else self._held(found, text, data_type)

    def _held(self, register: automaton.Register, text: str, data_type: DataType) -> automaton.Register:
        """A value that travels as a column."""
        if self.whole:
            raise CepUnsupportedError(
                f"the register {register.name} {data_type.simpleString()} DEFAULT {text} of a pattern that a stream follows",
                code="REGISTER_DEFAULT",
                hint="give it a number, a string or a boolean, or none",
            )
        return replace(register, column=self.columns.name(f"CAST({text} AS {data_type.simpleString()})", data_type))

    def arc(self, arc: Arc, states: States) -> automaton.Arc:
        """The arc with what Spark asks of an event as a bit, and all else as data."""
        what = f"the arc {arc.source.value} -> {arc.target.value}"
        translator = ArcTranslator(
            self.source, self.relation, self.registers, self.columns, arc.kind == "event", what, whole=self.whole
        )
        parts = conjuncts(arc.condition.node) if arc.condition else []
        for expr in (arc.condition, *(one.value for one in arc.sets)):
            if expr is not None:
                translator.check(expr.node)
        if self.whole:
            return self._whole(arc, translator, parts, states)
        local = [node for node in parts if arc.kind == "event" and not translator.reads_registers(node)]
        tests = [*self._valid(arc), *((self.source.text(span_of(node)), span_of(node)) for node in local)]
        self._check_booleans(tests, what)
        guard = " AND ".join(f"({text})" for text, _ in tests) or None
        translator = replace(translator, guard=guard if local else None)
        engine = tuple(translator.condition(node) for node in parts if node not in local)
        self.steps.append(_guarded([text for text, _ in tests]))
        bit = None if guard is None else self.tests.setdefault(guard, len(self.tests))
        return replace(self._arc(arc, engine, translator, states), bit=bit)

    def _whole(self, arc: Arc, translator: ArcTranslator, parts: list[exp.Expression], states: States) -> automaton.Arc:
        """The arc with all that it asks as data."""
        valid = self._valid(arc)
        if valid and arc.kind == "window_end":
            raise CepUnsupportedError(
                "VALID of an arc ON WINDOW END of a pattern that a stream follows",
                code="ARC_VALID",
                span=valid[0][1],
                hint="ALTER PATTERN … ADD ARC … EFFECTIVE FROM …, and DROP ARC … EFFECTIVE FROM …",
            )
        local = [span_of(node) for node in parts if not translator.reads_registers(node)]
        self._check_booleans([*valid, *((self.source.text(span), span) for span in local)], translator.what)
        tests = (
            *(translator.test(text, span) for text, span in valid),
            *(translator.condition(node) for node in parts),
        )
        self.steps.append(())
        return self._arc(arc, tests, translator, states)

    def _arc(
        self, arc: Arc, tests: tuple[automaton.Value, ...], translator: ArcTranslator, states: States
    ) -> automaton.Arc:
        return automaton.Arc(
            name=arc.name.value if arc.name else "",
            source=states.spelling(arc.source),
            target=states.spelling(arc.target),
            kind=arc.kind,
            condition=tests[0] if len(tests) == 1 else Call("and", tests) if tests else None,
            sets=self._sets(arc.sets, translator),
            text=self.source.text(arc.condition.span) if arc.condition else "",
        )

    def _sets(self, sets: Iterable[Assignment], translator: ArcTranslator) -> tuple[automaton.Assignment, ...]:
        same_name((one.register for one in sets), "SET of")
        return tuple(self._assignment(one, translator) for one in sets)

    def _assignment(self, one: Assignment, translator: ArcTranslator) -> automaton.Assignment:
        found = self.registers.get(one.register.value.lower())
        if found is None:
            raise CepAnalysisError(
                f"there is no register {one.register.value}",
                code="UNKNOWN_REGISTER",
                span=one.register.span,
                hint=known_register(one.register.value, self.registers),
            )
        return translator.assignment(*found, one.value)

    def _valid(self, arc: Arc) -> list[tuple[str, Span]]:
        """VALID FROM … TO … as a test of the event's time; at the window's end, of that time."""
        time = self.ends if arc.kind == "window_end" else f"({self.time})"
        bounds: tuple[tuple[Expr | None, str], ...] = ((arc.valid_from, ">="), (arc.valid_to, "<"))
        return [(f"{time} {sign} ({self.source.text(bound.span)})", bound.span) for bound, sign in bounds if bound]

    def _check_booleans(self, tests: list[tuple[str, Span]], what: str) -> None:
        for (_, span), data_type in zip(tests, self.relation.types_of(tests), strict=True):
            if not isinstance(data_type, BooleanType):
                raise CepAnalysisError(
                    f"the condition of {what} is {data_type.simpleString()}, not boolean",
                    code="CONDITION",
                    span=span,
                    hint="write a comparison: WHEN x > 0",
                )


def _has_words(data_type: DataType) -> bool:
    """Whether the engine knows the type by its name."""
    name = data_type.simpleString()
    plain = (
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "boolean",
        "date",
        "timestamp",
        "timestamp_ntz",
        "string",
        "binary",
    )
    return name in plain or name.startswith(("decimal", "interval"))


def _guarded(texts: list[str]) -> tuple[tuple[str, str], ...]:
    """(what is tested, SQL of this part and all before it)."""
    return tuple((text, " AND ".join(f"({one})" for one in texts[: i + 1])) for i, text in enumerate(texts))
