"""Arguments of aggregates: expressions over one event that Spark may compute for every event, before any match is known.

``SUM(a.x + 1)`` over the matches fails if ``a.x + 1`` does, but only for events of matches. So every event gets ``TRY_ADD(x, 1)``, and a flag for
where ``x + 1`` fails: the aggregate is an error if the flag is set in an event of a match. In: a syntax tree. Out: an ``EventValue``, or None if this
is not known to work (then the aggregate is computed from the matches).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from pyspark.sql.types import (
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
)
from sqlglot import exp

from rewrites.bind.relation import Relation
from rewrites.dialect import span_of
from rewrites.pushdown.operand_types import (
    Types,
    UnknownError,
    alike,
    anything,
    atomic,
    booleans,
    branches,
    fits,
    integers,
    moments,
    numbers,
    one_number,
    overflows,
    rounded,
    strings,
    substring,
)
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError

LONGEST = 4_000
"""The most characters of an expression with its failure test, which grows with the number of places that may fail."""
_ANSI = "1 + '1'"
"""An expression that is BIGINT in ANSI mode, otherwise DOUBLE."""


@dataclass(frozen=True, slots=True)
class EventValue:
    """``text``: SQL over the input that never fails and is NULL where the user's expression fails; ``fails``: SQL of where that is (None: nowhere).
    ``strict``: NULL if all columns are.
    """

    text: str
    data_type: DataType
    fails: str | None = None
    strict: bool = False


def event_value(
    node: exp.Expression, column: Callable[[exp.Expression], str | None], relation: Relation, source: Source
) -> EventValue | None:
    """The value of ``node``; ``column`` maps a reference to an input column (None: not a reference to the event)."""
    try:
        parts = list(_parts(node, column, source))
        written = partial(written_over, column=column, source=source)
        *types, mode = relation.types_of([*((written(part), span_of(part)) for part in parts), (_ANSI, span_of(node))])
        known = {id(part): data_type for part, data_type in zip(parts, types, strict=True)}
        value = _Reader(column, source, known, isinstance(mode, LongType)).read(node)
        texts = [value.text, *([value.fails] if value.fails else [])]
        if sum(map(len, texts)) > LONGEST:
            return None
        found = relation.types_of([(f"({text})", span_of(node)) for text in texts])
    except (UnknownError, CepAnalysisError):
        return None
    return value if found[0] == value.data_type else None


def written_over(node: exp.Expression, column: Callable[[exp.Expression], str | None], source: Source) -> str:
    """The expression with each reference to the event replaced according to ``column``."""
    edits = [(span_of(part), text) for part in _leaves(node, source) if (text := column(part)) is not None]
    return source.splice(span_of(node), edits)


def _parts(
    node: exp.Expression, column: Callable[[exp.Expression], str | None], source: Source
) -> Iterator[exp.Expression]:
    yield node
    if not (column(node) or _is_literal(node, source)):
        for child in _operands(node):
            yield from _parts(child, column, source)


def _leaves(node: exp.Expression, source: Source) -> Iterator[exp.Expression]:
    if isinstance(node, exp.Column | exp.Dot) or _is_literal(node, source):
        yield node
        return
    for child in _operands(node):
        yield from _leaves(child, source)


def _operands(node: exp.Expression) -> list[exp.Expression]:
    """The operands of a node. Raises UnknownError for nodes that this module does not know."""
    if type(node) not in _READ and _name(node) not in _NAMED:
        raise UnknownError
    children = [child for child in node.iter_expressions() if not isinstance(child, exp.DataType)]
    if isinstance(node, exp.Case):
        ifs = [part for one in node.args["ifs"] for part in (one.this, one.args["true"])]
        default = node.args.get("default")
        return [*ifs, *([default] if default is not None else [])]
    return children


def _is_literal(node: exp.Expression, source: Source) -> bool:
    """``1``, ``'a'``, ``1.5BD``, ``DATE'2020-01-01'``, ``NULL``, TRUE."""
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        text = source.text(span_of(node))
        return bool(re.fullmatch(r"[\d.]+(e[+-]?\d+)?(l|s|y|d|f|bd)|(date|timestamp\w*)\s*'[^']*'", text.lower()))
    number = node.this if isinstance(node, exp.Neg) else node
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null) or isinstance(number, exp.Literal)


def _name(node: exp.Expression) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


@dataclass(frozen=True, slots=True)
class _Reader:
    column: Callable[[exp.Expression], str | None]
    source: Source
    types: dict[int, DataType]
    ansi: bool

    def read(self, node: exp.Expression) -> EventValue:
        """Raises UnknownError."""
        data_type = self.types[id(node)]
        text = self.column(node)
        if text is not None:
            return EventValue(text, data_type, strict=True)
        if _is_literal(node, self.source):
            return EventValue(self.source.text(span_of(node)), data_type)
        operands = _operands(node)
        values = [self.read(operand) for operand in operands]
        text = self._spliced(node, operands, values)
        total = EventValue(text, data_type, strict=type(node) not in _LAZY and any(value.strict for value in values))
        if not _takes(node, values):
            raise UnknownError
        if not self.ansi:
            return total  # no part of this can fail
        if isinstance(node, exp.Case | exp.If | exp.Coalesce):
            return EventValue(text, data_type, _chosen(node, values))
        before = _before(node, values)
        tried = self._tried(node, data_type, values)
        if tried is None:
            return EventValue(text, data_type, before, total.strict)
        there = " AND ".join(f"{value.text} IS NOT NULL" for value in values)
        own = f"({there} AND {tried} IS NULL)"
        return EventValue(tried, data_type, f"({before} OR {own})" if before else own, total.strict)

    def _spliced(self, node: exp.Expression, operands: list[exp.Expression], values: list[EventValue]) -> str:
        edits = [(span_of(operand), value.text) for operand, value in zip(operands, values, strict=True)]
        text = self.source.splice(span_of(node), edits)
        return text if isinstance(node, exp.Paren) else f"({text})"

    def _tried(self, node: exp.Expression, data_type: DataType, values: list[EventValue]) -> str | None:
        """The variant of the operator that is NULL instead of failing; None: it cannot fail. Raises UnknownError."""
        texts = [value.text for value in values]
        if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
            if fits(values[0].data_type, data_type):
                return None
            if isinstance(data_type, DecimalType) and isinstance(values[0].data_type, FloatType | DoubleType):
                raise UnknownError  # NaN as a decimal is NULL and no error
            return f"TRY_CAST({texts[0]} AS {data_type.simpleString()})"
        if isinstance(node, exp.Div | exp.Mod | exp.IntDiv):
            divided = _not_zero(node.expression) and not overflows(data_type)
            if isinstance(node, exp.IntDiv) or divided or (isinstance(node, exp.Mod) and _not_zero(node.expression)):
                return None
            return f"{'TRY_MOD' if isinstance(node, exp.Mod) else 'TRY_DIVIDE'}({', '.join(texts)})"
        if type(node) in _ARITHMETIC and overflows(data_type):
            return f"{_ARITHMETIC[type(node)]}({', '.join(texts)})"
        if isinstance(node, exp.Neg | exp.Abs) and isinstance(data_type, IntegralType):
            negated = f"TRY_SUBTRACT(CAST(0 AS {data_type.simpleString()}), {texts[0]})"
            return negated if isinstance(node, exp.Neg) else f"IF({texts[0]} >= 0, {texts[0]}, {negated})"
        if isinstance(node, exp.Neg | exp.Abs) and isinstance(data_type, DecimalType) and overflows(data_type):
            raise UnknownError  # Spark rounds to 34 digits before it negates
        return None


def _before(node: exp.Expression, values: list[EventValue]) -> str | None:
    """Where an operand fails: Spark does not evaluate the second one if the first is NULL. Raises UnknownError."""
    failing = [value.fails for value in values if value.fails]
    if not failing:
        return None
    if isinstance(node, exp.Greatest | exp.Least | exp.NullSafeEQ):  # these evaluate all operands
        return f"({' OR '.join(failing)})"
    first, *more = reversed(values) if isinstance(node, exp.Div | exp.Mod) else values
    if not any(value.fails for value in more):
        return first.fails
    if len(more) > 1 or type(node) in _LAZY:
        raise UnknownError
    second = f"({first.text} IS NOT NULL AND {more[0].fails})"
    return f"({first.fails} OR {second})" if first.fails else second


def _chosen(node: exp.Expression, values: list[EventValue]) -> str | None:
    """Where the branch of CASE, IF or COALESCE that is evaluated fails."""
    if not any(value.fails for value in values):
        return None
    if isinstance(node, exp.Coalesce):
        steps = [(value, f"{value.text} IS NOT NULL", "FALSE") for value in values[:-1]]
    else:
        pairs = zip(values[0::2], values[1::2], strict=False)
        steps = [(condition, condition.text, result.fails or "FALSE") for condition, result in pairs]
    last = values[-1].fails if isinstance(node, exp.Coalesce) or len(values) % 2 else None
    whens = [f"WHEN {asked.fails} THEN TRUE " if asked.fails else "" for asked, _, _ in steps]
    cases = [f"{when}WHEN {test} THEN {then}" for when, (_, test, then) in zip(whens, steps, strict=True)]
    return f"(CASE {' '.join(cases)} ELSE {last or 'FALSE'} END)"


_ARITHMETIC = {exp.Add: "TRY_ADD", exp.Sub: "TRY_SUBTRACT", exp.Mul: "TRY_MULTIPLY"}
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In, exp.Nullif)
_READ: dict[type[exp.Expression], Callable[[Types], bool]] = {
    exp.Paren: anything,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow), numbers),
    **dict.fromkeys((exp.SafeAdd, exp.SafeSubtract, exp.SafeMultiply, exp.SafeDivide), numbers),
    exp.IntDiv: integers,
    **dict.fromkeys((exp.Neg, exp.Abs, exp.Sqrt, exp.Ln, exp.Exp, exp.Sign), one_number),
    exp.Round: rounded,
    **dict.fromkeys((exp.Cast, exp.TryCast), atomic),
    **dict.fromkeys((*_COMPARED, exp.Coalesce, exp.Greatest, exp.Least), alike),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), booleans),
    exp.Is: anything,
    **dict.fromkeys((exp.Case, exp.If), branches),
    **dict.fromkeys((exp.Length, exp.Upper, exp.Lower, exp.Trim, exp.Concat, exp.DPipe), strings),
    exp.Substring: substring,
    **dict.fromkeys((exp.Hour, exp.Minute, exp.Second), moments),
}
"""The known nodes, with the operand types for which they cannot fail, or fail only where ``_tried`` says."""
_NAMED = dict.fromkeys(("year", "month", "day", "quarter", "dayofweek", "dayofyear", "datediff"), moments)
_LAZY = (
    *(exp.Coalesce, exp.Case, exp.If, exp.Is, exp.And, exp.Or, exp.NullSafeEQ, exp.Greatest, exp.Least),
    *(exp.Between, exp.In),
)
"""Nodes that may be non-NULL if all operands are NULL, or that do not evaluate all of them."""


def _takes(node: exp.Expression, values: list[EventValue]) -> bool:
    types = [value.data_type for value in values]
    if isinstance(node, exp.Case) and node.this is not None:
        return False
    if isinstance(node, exp.In) and any(
        value for key, value in node.args.items() if key not in ("this", "expressions")
    ):
        return False
    if isinstance(node, exp.Is) and not isinstance(node.expression, exp.Null):
        return False
    if isinstance(node, exp.IntDiv) and not _not_zero(node.expression):
        return False
    return (_READ.get(type(node)) or _NAMED[_name(node)])(types)


def _not_zero(node: exp.Expression) -> bool:
    """Whether ``node`` is a constant that is neither zero nor negative."""
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) > 0
