"""WHERE of MATCH PATTERN, split: what Spark computes per event, what the engine evaluates, what Spark filters afterwards.

* A conjunct over one event of one variable (of a closure: ``b[i]``, each of them) is *local*: part of the variable's mask bit.
* A conjunct over several events is an engine *condition* if it consists of comparison, +, -, *, ABS and boolean logic between
  sub-expressions over one event each, and aggregates over closures, with types that need no conversion that only Spark can do
  (``rewrites.bind.operands``): the sub-expressions become input columns.
* A conjunct of numbers that needs more of Spark, such as a quotient of decimals, is one, too, if the engine computes it in words (``spec.words``).
* Any other conjunct over several variables that take one event each is *residual*: under skip-till-any-match WHERE filters
  matches, and Spark applies it to them.
* The rest (closures, negated events, other strategies) are engine conditions on the slow path, see ``bind.slow_event_conditions``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    StructType,
    VariantType,
)
from sqlglot import exp

from rewrites.bind.closures import Aggregate, aggregate
from rewrites.bind.conditions import Columns
from rewrites.bind.decimals import mean_type, sum_type
from rewrites.bind.literals import literal
from rewrites.bind.names import Variables, has_query, reference, references, row_text
from rewrites.bind.operand_builder import OperandBuilder
from rewrites.bind.operands import NotForTheEngine, Operand, reads_wide
from rewrites.bind.reached import where_reached
from rewrites.bind.relation import Relation
from rewrites.bind.slow_event_conditions import slow_event_condition
from rewrites.dialect import bare, span_of
from rewrites.dialect.clause import Expr
from rewrites.sql.source import Source
from rewrites.sql.transport import carried, encoded
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec import expression as ir
from sparkcep.spec.event import Fixed, Instant, Sum
from sparkcep.spec.words import WIDE_DIGITS, in_words

_OF_NUMBERS = (
    *(
        exp.Column,
        exp.Identifier,
        exp.Literal,
        exp.Boolean,
        exp.Null,
        exp.Paren,
        exp.Neg,
        exp.DataType,
        exp.DataTypeParam,
    ),
    *(
        exp.EQ,
        exp.NEQ,
        exp.LT,
        exp.LTE,
        exp.GT,
        exp.GTE,
        exp.NullSafeEQ,
        exp.Between,
        exp.In,
        exp.Is,
        exp.And,
        exp.Or,
        exp.Not,
    ),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Abs, exp.Sqrt, exp.Round, exp.Greatest, exp.Least),
    *(exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast),
)


@dataclass(frozen=True, slots=True)
class Made:
    """Columns that the engine makes itself, as they are found: ``sums`` by their text, ``instants`` by their column, and ``constants`` by name."""

    sums: dict[str, Sum] = field(default_factory=dict)
    instants: dict[str, Instant] = field(default_factory=dict)
    constants: dict[str, ir.Constant] = field(default_factory=dict)

    def among(self, read: Collection[str]) -> tuple[tuple[Sum, ...], tuple[Instant, ...], tuple[Fixed, ...]]:
        """Those whose columns are ``read``: a condition that was given up may have asked for more."""
        fixed = (Fixed(name, value) for name, value in self.constants.items())
        return _read(self.sums.values(), read), _read(self.instants.values(), read), _read(fixed, read)


_Made = TypeVar("_Made", Sum, Instant, Fixed)


def _read(made: Iterable[_Made], read: Collection[str]) -> tuple[_Made, ...]:
    return tuple(one for one in made if one.name in read)


@dataclass(frozen=True, slots=True)
class ConditionTranslator(OperandBuilder):
    """Turns conjuncts over several variables into engine conditions; ``columns`` collects the leaves, ``guards`` test which events a variable can
    take. ``made``: what the engine may make itself (None: nothing); ``summing``: sums too."""

    variables: Variables
    source: Source
    relation: Relation
    columns: Columns
    guards: dict[str, str]
    kleene: frozenset[str] = frozenset()
    slow: bool = False
    made: Made | None = None
    summing: bool = False
    narrow: bool = False
    """Whether the engine has words of 64 bits: it asks Python about conditions over decimals of which one has no room."""

    def translate(self, conjunct: Expr) -> ir.Expression | None:
        """The condition over input columns, or None if it is left to Spark."""
        ranged = isinstance(bare(conjunct.node), exp.LT | exp.LTE | exp.GT | exp.GTE)
        for translator in (replace(self, summing=True), self) if ranged else (self,):
            try:
                operand = translator.boolean(conjunct.node)
            except NotForTheEngine:
                continue
            return translator._emit(operand, self._seat_of(conjunct.node))
        return None

    def value(self, node: exp.Expression) -> Operand:
        """A value; that of a column plus a constant is the engine's, if its type is what it is compared with. Raises NotForTheEngine."""
        return self._sum(bare(node)) or OperandBuilder.value(self, node)

    def _sum(self, node: exp.Expression) -> Operand | None:
        sums = self.made.sums if self.made is not None and self.summing else None
        found = column_and_addend(node) if sums is not None else None
        read = reference(found[0], self.variables) if found is not None else None
        if sums is None or found is None or read is None or read.tail is not None or read.members[0] in self.kleene:
            return None
        column, text = self.relation.column(read.column.value), row_text(node, self.variables, self.source)
        kind = self.relation.schema[column].dataType if column is not None else None
        if column is None or not isinstance(kind, IntegerType | LongType) or not self.relation.is_ansi():
            return None
        name = f"__cep_s{len(sums)}"
        one = Sum(name, column, found[1], read.members[0], self.source.text(span_of(node)))
        one = sums.setdefault(f"{read.members[0]} {text}", one)
        return Operand(kind, source=ir.ColumnOf(one.variable, one.name))

    def since(self, operand: Operand) -> Operand:
        """As in ``OperandBuilder``; the engine reads a column itself where that is the same."""
        plain, (variable, place) = self.relation.plain_column(operand.text), cast(Seat, operand.at or ("", None))
        if self.made is None or plain is None or place is not None or not self.relation.has_steady_zone:
            return OperandBuilder.since(self, operand)
        instants = self.made.instants
        one = instants.setdefault(plain, Instant(f"__cep_i{len(instants)}", plain))
        return Operand(LongType(), source=ir.ColumnOf(variable, one.name))

    def translate_slowly(self, conjunct: Expr) -> ir.Expression:
        """The condition; parts without an engine operator take the slow path. Raises CepUnsupportedError for what cannot."""
        slow = replace(self, slow=True)
        return slow._emit(slow.boolean(conjunct.node), self._seat_of(conjunct.node))

    def translate_in_words(self, conjunct: Expr) -> ir.Expression | None:
        """The condition, if it is one of Spark's functions that the engine computes as fast as Spark, and so before there are matches; else None."""
        if self.relation.expression is None or not all(isinstance(part, _OF_NUMBERS) for part in conjunct.node.walk()):
            return None
        tried = replace(self, columns=self.columns.copy())
        try:
            found = tried.translate_slowly(conjunct)
        except (CepAnalysisError, CepUnsupportedError):
            return None
        if any(in_words(part, WIDE_DIGITS) is None for part in ir.slow_parts(found)):
            return None
        self.columns.take(tried.columns)
        return found

    def condition(self, comparison: Operand) -> ir.Expression:
        """A comparison of columns of events that is not the user's, over input columns."""
        return self._emit(comparison, next(_read_by(comparison)))

    def boolean(self, node: exp.Expression) -> Operand:
        """A condition. Raises NotForTheEngine, or with ``slow`` CepUnsupportedError."""
        try:
            found = OperandBuilder.boolean(self, node)
            if self.narrow and self.relation.expression is not None and reads_wide(found):
                raise NotForTheEngine
            return found
        except NotForTheEngine:
            if self.slow and seen_variables(node, self.variables):
                return slow_event_condition(node, self)
            raise

    def term(self, operand: Operand, condition: exp.Expression) -> ir.Term:
        """A leaf of a condition as an engine term."""
        return cast(ir.Term, self._emit(operand, self._seat_of(condition)))

    def _seat_of(self, node: exp.Expression) -> Seat:
        """The event whose row carries the constants: one that is bound whenever the condition is evaluated."""
        return self._seat(seen_variables(node, self.variables), seats(node, self.variables))

    def _seat(self, names: Sequence[str], read: Collection[Seat]) -> Seat:
        name = next((name for name in names if name not in self.kleene), names[0])
        if name not in self.kleene:
            return name, None
        return name, "each" if (name, "each") in read or (name, "previous") in read else "first"

    def is_leaf(self, node: exp.Expression) -> bool:
        """Whether ``node`` reads at most one event, or is an aggregate."""
        if self._aggregate(node) is not None:
            return True
        return len(seats(node, self.variables)) <= 1 and not _totals(node, self.variables)

    def leaf(self, node: exp.Expression) -> Operand:
        """An expression over at most one event, computed by Spark; or an aggregate, computed by the engine."""
        if has_query(node):
            raise NotForTheEngine
        total = self._aggregate(node)
        if total is not None:
            return self._total(total)
        text = row_text(node, self.variables, self.source)
        data_type = self.relation.types_of([(text, span_of(node))])[0]
        seat = next(iter(seats(node, self.variables)), None)
        return Operand(data_type, seat, where_reached(text, node, lambda other: self._over_event_at(seat, other)))

    def mean_of(self, node: exp.Expression) -> tuple[Operand, Operand, DecimalType] | None:
        """AVG of decimals: the sum, how many there are, and its type; None for anything else."""
        total = self._aggregate(node)
        if total is None or total.function != "avg" or total.argument is None:
            return None
        text = row_text(total.argument, self.variables, self.source)
        data_type = self.relation.types_of([(text, span_of(total.argument))])[0]
        if not isinstance(data_type, DecimalType):
            return None
        parts = [self._total(replace(total, function=function)) for function in ("sum", "count")]
        return parts[0], parts[1], mean_type(data_type)

    def _over_event_at(self, seat: Seat | None, node: exp.Expression) -> str | None:
        """A condition over the event at ``seat`` alone, as SQL over it."""
        alone = set(seats(node, self.variables)) == {seat} and not has_query(node)
        return row_text(node, self.variables, self.source) if alone and not _totals(node, self.variables) else None

    def _aggregate(self, node: exp.Expression) -> Aggregate | None:
        found = aggregate(node)
        members = None if found is None else self.variables.members(found.variable)
        return replace(found, variable=members[0]) if found is not None and members else None

    def _total(self, total: Aggregate) -> Operand:
        """COUNT is BIGINT, SUM is BIGINT, DOUBLE or an exact decimal, AVG is DOUBLE, MIN and MAX have the argument's type."""
        if total.argument is None:
            return Operand(LongType(), source=ir.AggregateOf("count", total.variable, None, total.prefix))
        text = row_text(total.argument, self.variables, self.source)
        data_type = self.relation.types_of([(text, span_of(total.argument))])[0]
        argument_type, result_type = _total_types(total.function, data_type)
        if argument_type != data_type:
            text = f"CAST({text} AS {argument_type.simpleString()})"
        column = self._column(total.variable, encoded(text, argument_type))
        return Operand(result_type, source=ir.AggregateOf(total.function, total.variable, column, total.prefix))

    def _column(self, variable: str, text: str) -> str:
        """The column with the value of ``text``: the input's own, which cannot fail and serves all variables, or one of the variable's events."""
        own = self.relation.plain_column(text)
        if own is not None and carried(self.relation.schema[own].dataType) == self.relation.schema[own].dataType:
            return own
        return self.columns.name(guarded(text, self.guards[variable]))

    def _emit(self, operand: Operand, some: Seat) -> ir.Expression:
        """The operand as data; constants become a column of the events at ``some`` seat of the condition."""
        compares = isinstance(operand.data_type, BooleanType) and operand.operator not in (None, "and", "or", "not")
        read = tuple(_read_by(operand)) if compares else ()
        if read:  # each comparison has constants of its own: another's event may be one that a match lacks
            some = self._seat([variable for variable, _ in read], read)
        if operand.operator is not None:
            return ir.Call(operand.operator, tuple(self._emit(part, some) for part in operand.arguments), operand.whole)
        if operand.source is not None:
            return cast(ir.Expression, operand.source)
        variable, place = cast(Seat, operand.at or some)
        column = self._column(variable, encoded(operand.text, operand.data_type))
        constant = literal(operand.text, operand.data_type) if operand.at is None and place is None else None
        if constant is not None and self.made is not None:
            self.made.constants[column] = constant
        return ir.ColumnOf(variable, column) if place is None else ir.ElementOf(variable, column, place)


def _read_by(operand: Operand) -> Iterator[Seat]:
    """The events that an operand reads."""
    if operand.at is not None:
        yield cast(Seat, operand.at)
    for term in ir.terms(operand.source):
        yield term.variable, term.place if isinstance(term, ir.ElementOf) else None
    for argument in operand.arguments:
        yield from _read_by(argument)


def column_and_addend(node: exp.Expression) -> tuple[exp.Expression, int] | None:
    """``x + 5``, ``5 + x``, ``x - 5``: what stands beside an INT literal, and that with its sign."""
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    sides = [(node.left, node.right)] + ([(node.right, node.left)] if isinstance(node, exp.Add) else [])
    for column, beside in sides:
        number = bare(beside)
        if isinstance(number, exp.Literal) and not number.is_string and number.name.isascii() and number.name.isdigit():
            addend = int(number.name)
            return (bare(column), -addend if isinstance(node, exp.Sub) else addend) if addend < 1 << 31 else None
    return None


def guarded(text: str, test: str) -> str:
    """``text`` in the events that a variable can take, NULL in others, on which it may fail."""
    return f"CASE WHEN {test} THEN {text} END"


def unguarded(text: str, test: str | None) -> str:
    """``text`` without its guard, if it has that of ``test``."""
    before, behind = guarded("\0", test or "true").split("\0")
    return text.removeprefix(before).removesuffix(behind) if text.startswith(before) else text


Seat = tuple[str, ir.Place | None]
"""An event of a match: a variable, and for a closure which of its events."""


def seats(node: exp.Expression, variables: Variables) -> tuple[Seat, ...]:
    """The events that an expression reads, each once, left to right."""
    return tuple(dict.fromkeys((ref.members[0], ref.place) for ref in references(node, variables)))


def check_closures(node: exp.Expression, variables: Variables, kleene: frozenset[str]) -> None:
    """Check that exactly the closures are indexed or aggregated. Raises CepAnalysisError, CepUnsupportedError."""
    total = aggregate(node)
    members = variables.members(total.variable) if total is not None else None
    if members is not None and members[0] in kleene:
        return
    found = reference(node, variables)
    if found is None and members is None:
        for child in node.iter_expressions():
            check_closures(child, variables, kleene)
        return
    name = members[0] if members is not None else found.members[0] if found is not None else ""
    closure = name in kleene
    if found is not None and closure == found.indexed and (not found.indexed or found.place is not None):
        return
    if found is not None and found.indexed and closure:
        raise CepUnsupportedError(
            f"this index of {name}",
            code="KLEENE_INDEX",
            span=found.span,
            hint=f"{name}[1], {name}[i], {name}[i-1] or {name}[LAST]",
        )
    what = (
        f"{name} is a Kleene closure: which of its events?"
        if closure
        else f"{name} takes one event: it has no index and no aggregate"
    )
    hint = f"write {name}[i].column, {name}[1], {name}[LAST] or an aggregate" if closure else f"write {name}.column"
    raise CepAnalysisError(what, code="KLEENE_REFERENCE", span=span_of(node), hint=hint)


def is_local(expr: Expr, variables: Variables) -> bool:
    """Whether a conjunct reads a single event; or, for a closure, each of its events separately."""
    found = seats(expr.node, variables)
    return not _totals(expr.node, variables) and len(found) == 1 and found[0][1] in (None, "each")


def seen_variables(node: exp.Expression, variables: Variables) -> tuple[str, ...]:
    """The variables that an expression reads, each once."""
    names = [ref.members[0] for ref in references(node, variables)]
    return tuple(dict.fromkeys([*names, *_totals(node, variables)]))


def _totals(node: exp.Expression, variables: Variables) -> list[str]:
    """The variables that aggregates outside subqueries range over."""
    if isinstance(node, exp.Query):
        return []
    found = aggregate(node)
    members = variables.members(found.variable) if found is not None else None
    if members is not None:
        return [members[0]]
    return [name for child in node.iter_expressions() for name in _totals(child, variables)]


def spans_variables(expr: Expr, variables: Variables) -> tuple[str, ...]:
    """The variables that a conjunct reads, each once, left to right."""
    return seen_variables(expr.node, variables)


def _total_types(function: ir.Function, data_type: DataType) -> tuple[DataType, DataType]:
    """The type to which the argument is cast for the engine, and the type of the result."""
    if function == "count":
        return data_type, LongType()
    if function in ("min", "max") and not isinstance(data_type, ArrayType | StructType | MapType | VariantType):
        wide = LongType() if isinstance(data_type, IntegralType) else data_type
        return wide, wide
    if isinstance(data_type, FloatType | DoubleType) or (function == "avg" and isinstance(data_type, IntegralType)):
        return DoubleType(), DoubleType()
    if isinstance(data_type, IntegralType):
        return LongType(), LongType()
    if function == "sum" and isinstance(data_type, DecimalType):
        return data_type, sum_type(data_type)
    raise NotForTheEngine
