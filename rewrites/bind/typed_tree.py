"""Spark's analysis of an expression, made of its types: for Spark Connect, which tells types but not what Spark has made of an expression.

In: an expression over columns, and what knows the types of expressions over these. Out: the tree that Spark's analysis gives (see
``Relation.expression``), casts included: of operators and of the functions in ``typed_functions``. What is not certain is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, LongType
from sqlglot import exp

from rewrites.bind.coercion import Coercion, Tree, is_number
from rewrites.bind.relation import ANSI, Describe
from rewrites.bind.typed_constants import constant_of
from rewrites.bind.typed_functions import CONSTANT, FUNCTIONS, Signature, taken_as
from rewrites.bind.typed_refusals import refused
from rewrites.dialect import bare, column_path, parse_expression, span_of
from rewrites.dialect.tokens import tokenize
from sparkcep.errors import Span
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import BITS, kind

_CHARS = re.compile(r"\b(?:var)?char(?:acter)?\s*\(", re.IGNORECASE)
_SIZE_OF_NULL = "SELECT SIZE(CAST(NULL AS ARRAY<INT>))"


_ARITHMETIC = {
    exp.Add: "Add",
    exp.Sub: "Subtract",
    exp.Mul: "Multiply",
    exp.Div: "Divide",
    exp.Mod: "Remainder",
    exp.IntDiv: "IntegralDivide",
}
_ARITHMETIC_CALLS = {
    "mod": ("Remainder", "mode"),
    "pmod": ("Pmod", "mode"),
    "try_add": ("Add", "TRY"),
    "try_subtract": ("Subtract", "TRY"),
    "try_multiply": ("Multiply", "TRY"),
    "try_divide": ("Divide", "TRY"),
    "try_mod": ("Remainder", "TRY"),
}
"""Spark's class, and its mode: that of the session, or none of its errors."""
_DAYS = {"Add": "DateAdd", "Subtract": "DateSub"}
_BITS = {exp.BitwiseAnd: "BitwiseAnd", exp.BitwiseOr: "BitwiseOr", exp.BitwiseXor: "BitwiseXor"}
_WITH_UNIT = {
    "timestampdiff": "TimestampDiff",
    "datediff": "TimestampDiff",
    "date_diff": "TimestampDiff",
    "timestampadd": "TimestampAdd",
    "dateadd": "TimestampAdd",
    "date_add": "TimestampAdd",
}
_COMPARISONS: dict[type[exp.Expression], tuple[str, bool]] = {
    exp.EQ: ("EqualTo", False),
    exp.NEQ: ("EqualTo", True),
    exp.NullSafeEQ: ("EqualNullSafe", False),
    exp.NullSafeNEQ: ("EqualNullSafe", True),
    exp.LT: ("LessThan", False),
    exp.LTE: ("LessThanOrEqual", False),
    exp.GT: ("GreaterThan", False),
    exp.GTE: ("GreaterThanOrEqual", False),
}
"""Spark's class, and whether its opposite is meant."""


def typed_tree(text: str, source: str, describe: Describe, value: Callable[[str], Any]) -> Tree:
    """The tree of ``text`` over the columns of ``source``. ``value``: the one column of the one row of a query.

    Raises CepUnsupportedError, without a span, for what the module does not know; Spark's exception if Spark's analysis fails.
    """
    (result,) = describe(f"SELECT {text}\n AS `r` FROM {source}")
    node = parse_expression(text, Span(0, len(text))).node
    builder = _Builder(text, source, describe, value)
    builder.learn(node, result.dataType)
    return builder.tree(node)


@dataclass(slots=True)
class _Builder:
    """``types``: of the parts of the expression, by their text."""

    text: str
    source: str
    describe: Describe
    value: Callable[[str], Any]
    types: dict[str, DataType] = field(default_factory=dict)
    coercion: Coercion = field(init=False)

    def learn(self, node: exp.Expression, result: DataType) -> None:
        """Asks Spark for the types of all parts; the whole is a ``result``."""
        parts = list(dict.fromkeys(self._of(part) for part in _values(node)))
        *known, mode = self._ask([*parts, ANSI])
        self.types = dict(zip(parts, known, strict=True)) | {self._of(node): result}
        zone = lru_cache(lambda: str(self.value("SELECT CURRENT_TIMEZONE()")))
        self.coercion = Coercion(self._ask, zone, mode == LongType())

    def tree(self, node: exp.Expression) -> Tree:
        """The tree of a part."""
        node = bare(node)
        constant = constant_of(node, self._of(node), self.types[self._of(node)], self.value)
        if constant is not None:
            return constant
        name = self._called(node)
        if isinstance(node, exp.Cast | exp.TryCast):
            return self._cast(node)
        if name in _ARITHMETIC_CALLS:
            return self._arithmetic(node, *_ARITHMETIC_CALLS[name], *self._arguments(node))
        if name == "nullif":
            return self._null_if(node)
        if name in _WITH_UNIT and any(isinstance(part, exp.Var) for part in node.iter_expressions()):
            return self._with_unit(node, _WITH_UNIT[name])
        if name in FUNCTIONS and not (name == "trim" and node.args.get("position")):  # TRIM(LEADING …)
            return self._function(node, name, FUNCTIONS[name])
        if name:
            raise refused(f"the function {name}")
        make = _MAKERS.get(type(node))
        if make is None:
            raise refused(self._of(node))
        return make(self, node)

    def _column(self, node: exp.Column) -> Tree:
        path = column_path(node)
        if path is None or len(path) != 1:
            raise refused("a field of a struct")
        return SparkFunction("AttributeReference", self._type(node), settings=(path[0].value,))

    def _cast(self, node: exp.Cast) -> Tree:
        target = self._type(node)
        if _CHARS.search(self._of(node)):
            raise refused("a cast to CHAR or VARCHAR")
        mode = ("TRY",) if isinstance(node, exp.TryCast) else ("mode",)
        return self._call("Cast", node, [self.tree(node.this)], (*mode, "zone"), target)

    def _function(self, node: exp.Expression, name: str, signature: Signature) -> Tree:
        given, wanted = self._arguments(node), list(signature.parameters)
        repeated = wanted.pop().rstrip("*") if wanted[-1].endswith("*") else None
        wanted += [repeated] * (len(given) - len(wanted)) if repeated is not None else []
        missing = len(wanted) - len(given)
        if not 0 <= missing <= len(signature.defaults):
            raise refused(f"the function {name} with {len(given)} arguments")
        trees: list[Tree] = []
        for argument, what in zip(given, wanted, strict=False):
            trees.append(self._argument(self.tree(argument), what, node, trees))
        for default in signature.defaults[len(signature.defaults) - missing :] if missing else ():
            types = {bool: "boolean", int: "int", str: "string"}
            trees.append(Constant(default, types[type(default)]))
        return self._call(signature.name, node, trees, signature.settings, text=name)

    def _argument(self, tree: Tree, what: str, node: exp.Expression, before: Sequence[Tree]) -> Tree:
        """An argument as the parameter takes it; ``before``: those to the left."""
        target = self._type(node) if what == "same" else taken_as(what, tree.type, before[0].type if before else "")
        if target is None or (what in CONSTANT and not isinstance(tree, Constant)):
            raise refused(f"{self._of(node)} of the type {tree.type}")
        return self.coercion.cast(tree, target)

    def _operation(self, node: exp.Binary) -> Tree:
        return self._arithmetic(node, _ARITHMETIC[type(node)], "mode", node.this, node.expression)

    def _arithmetic(
        self, node: exp.Expression, name: str, mode: str, left: exp.Expression, right: exp.Expression
    ) -> Tree:
        sides = [self.tree(left), self.tree(right)]
        types = [side.type for side in sides]
        if name == "Subtract" and types == ["timestamp", "timestamp"]:
            return self._call("SubtractTimestamps", node, sides, ("False", "zone"))
        if name == "Subtract" and types == ["date", "date"]:
            return self._call("SubtractDates", node, sides)
        if name in _DAYS and types[0] == "date" and types[1] in ("tinyint", "smallint", "int"):
            return self._call(_DAYS[name], node, sides)
        if not all(map(is_number, types)):
            raise refused(f"{self._of(node)} of the types {' and '.join(types)}")
        sides = self.coercion.beside_decimals(sides)
        if name == "Divide" and not any(kind(side.type) == "decimal" for side in sides):
            sides = [self.coercion.cast(side, "double") for side in sides]
        elif name == "IntegralDivide":
            if any(side.type not in BITS for side in sides):
                raise refused(f"DIV of {' and '.join(types)}")
            sides = [self.coercion.cast(side, "bigint") for side in sides]
        elif not all(kind(side.type) == "decimal" for side in sides):
            sides = self.coercion.alike(sides)
        return self._call(name, node, sides, (mode,))

    def _comparison_of(self, node: exp.Binary) -> Tree:
        name, negated = _COMPARISONS[type(node)]
        return self._compared(name, self.tree(node.this), self.tree(node.expression), negated)

    def _compared(self, name: str, left: Tree, right: Tree, negated: bool = False) -> Tree:
        found = SparkFunction(name, "boolean", tuple(self.coercion.comparable([left, right])), text=name.lower())
        return SparkFunction("Not", "boolean", (found,), text="not") if negated else found

    def _logic(self, node: exp.And | exp.Or | exp.Not) -> Tree:
        operands = [self.tree(operand) for operand in (node.this, node.args.get("expression")) if operand is not None]
        if isinstance(node, exp.Not) and isinstance(bare(node.this), exp.Is) and operands[0].type == "boolean":
            inner = operands[0]
            if isinstance(inner, SparkFunction) and inner.name == "IsNull" and not isinstance(node.this, exp.Paren):
                return SparkFunction("IsNotNull", "boolean", inner.arguments, text="isnotnull")
        if any(operand.type != "boolean" for operand in operands):
            raise refused(f"{self._of(node)} of other values than booleans")
        name = type(node).__name__
        return SparkFunction(name, "boolean", tuple(operands), text=name.lower())

    def _is(self, node: exp.Is) -> Tree:
        tested = self.tree(node.this)
        if isinstance(node.expression, exp.Null):
            return SparkFunction("IsNull", "boolean", (tested,), text="isnull")
        if not isinstance(node.expression, exp.Boolean) or tested.type != "boolean":
            raise refused(self._of(node))
        return self._compared("EqualNullSafe", tested, self.tree(node.expression))

    def _between(self, node: exp.Between) -> Tree:
        if node.args.get("symmetric"):
            raise refused("BETWEEN SYMMETRIC")
        tested = self.tree(node.this)
        low = self._compared("GreaterThanOrEqual", tested, self.tree(node.args["low"]))
        high = self._compared("LessThanOrEqual", tested, self.tree(node.args["high"]))
        return SparkFunction("And", "boolean", (low, high), text="and")

    def _in(self, node: exp.In) -> Tree:
        if not node.expressions:
            raise refused(self._of(node))
        sides = self.coercion.comparable([self.tree(node.this), *map(self.tree, node.expressions)])
        return SparkFunction("In", "boolean", tuple(sides), text="in")

    def _case(self, node: exp.Case) -> Tree:
        parts: list[Tree] = []
        for branch in node.args["ifs"]:
            condition = self.tree(branch.this)
            if node.this is not None:
                condition = self._compared("EqualTo", self.tree(node.this), condition)
            if condition.type != "boolean":
                raise refused(f"CASE WHEN of the type {condition.type}")
            parts += [condition, self.coercion.cast(self.tree(branch.args["true"]), self._type(node))]
        default = node.args.get("default")
        if default is not None:
            parts.append(self.coercion.cast(self.tree(default), self._type(node)))
        return self._call("CaseWhen", node, parts)

    def _with_unit(self, node: exp.Expression, name: str) -> Tree:
        unit, *rest = self._arguments(node)
        first, last = map(self.tree, rest)
        wanted = "timestamp" if name == "TimestampDiff" else "bigint"
        if last.type != "timestamp" or not (first.type == wanted or (wanted == "bigint" and first.type in BITS)):
            raise refused(f"{self._of(node)} of the types {first.type} and {last.type}")
        return self._call(name, node, [self.coercion.cast(first, wanted), last], (self._of(unit).upper(), "zone"))

    def _bits(self, node: exp.Binary) -> Tree:
        sides = [self.tree(node.this), self.tree(node.expression)]
        if any(side.type not in BITS for side in sides):
            raise refused(self._of(node))
        return self._call(_BITS[type(node)], node, self.coercion.alike(sides))

    def _null_if(self, node: exp.Expression) -> Tree:
        value, other = map(self.tree, self._arguments(node))
        return self._call("NullIfResult", node, [self._compared("EqualTo", value, other), value])

    def _strings(self, node: exp.DPipe | exp.Like | exp.ILike | exp.RegexpLike) -> Tree:
        sides = [self.tree(node.this), self.tree(node.expression)]
        if any(side.type != "string" for side in sides):
            raise refused(f"{self._of(node)} of other values than strings")
        if isinstance(node, exp.DPipe):
            return self._call("Concat", node, sides)
        if isinstance(node, exp.RegexpLike):
            return self._call("RLike", node, sides)
        return self._call("ILike" if isinstance(node, exp.ILike) else "Like", node, sides, ("\\",))

    def _negative(self, node: exp.Neg) -> Tree:
        found = self.tree(node.this)
        if not is_number(found.type) or (isinstance(node.this, exp.Cast) and "::" in self._of(node.this)):
            raise refused(f"minus of {self._of(node.this)}")  # of -1::INT it is the constant's
        return self._call("UnaryMinus", node, [found], ("fails",))

    def _item(self, node: exp.Bracket) -> Tree:
        array, *places = [self.tree(node.this), *map(self.tree, node.expressions)]
        if kind(array.type) != "array" or len(places) != 1 or places[0].type != "int":
            raise refused(self._of(node))
        return self._call("GetArrayItem", node, [array, *places], ("fails",))

    def _call(
        self,
        name: str,
        node: exp.Expression,
        arguments: list[Tree],
        settings: tuple[str, ...] = (),
        type_text: str = "",
        text: str = "",
    ) -> SparkFunction:
        known = {"mode": self.coercion.mode, "fails": str(self.coercion.is_ansi)}
        asked: dict[str, Callable[[], str]] = {
            "zone": self.coercion.zone,
            "size": lambda: str(self.value(_SIZE_OF_NULL) == -1),
        }
        found = tuple(asked[one]() if one in asked else known.get(one, one) for one in settings)
        return SparkFunction(name, type_text or self._type(node), tuple(arguments), found, text or name.lower())

    def _ask(self, texts: list[str]) -> list[DataType]:
        """Spark's types of expressions."""
        columns = ", ".join(f"{text}\n AS `t{i}`" for i, text in enumerate(texts))
        try:
            found = self.describe(f"SELECT {columns} FROM {self.source}")
        except PySparkException:
            raise refused("an expression whose parts Spark does not type one by one,") from None
        return [one.dataType for one in found]

    def _type(self, node: exp.Expression) -> str:
        return self.types[self._of(node)].simpleString()

    def _of(self, node: exp.Expression) -> str:
        span = span_of(node)
        return self.text[span.start : span.end]

    def _called(self, node: exp.Expression) -> str | None:
        """The name of a function, as it is called; None: it is written in another way."""
        if not isinstance(node, exp.Func | exp.Bracket) or isinstance(node, exp.Cast | exp.Connector | exp.Case):
            return None
        return _called(self._of(node))

    def _arguments(self, node: exp.Expression) -> list[exp.Expression]:
        """A call's, in the order in which they are written."""
        return sorted(node.iter_expressions(), key=lambda part: span_of(part).start)


_MAKERS: dict[type[exp.Expression], Callable[[_Builder, Any], Tree]] = {
    **dict.fromkeys(_ARITHMETIC, _Builder._operation),
    **dict.fromkeys(_COMPARISONS, _Builder._comparison_of),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), _Builder._logic),
    **dict.fromkeys((exp.DPipe, exp.Like, exp.ILike, exp.RegexpLike), _Builder._strings),
    **dict.fromkeys(_BITS, _Builder._bits),
    exp.Column: _Builder._column,
    exp.Is: _Builder._is,
    exp.Between: _Builder._between,
    exp.In: _Builder._in,
    exp.Case: _Builder._case,
    exp.Neg: _Builder._negative,
    exp.Bracket: _Builder._item,
}


def _called(text: str) -> str | None:
    """The name of the function that the whole of ``text`` calls; None: it is no call."""
    name, *others = tokenize(text).items
    depth = 0
    for at, token in enumerate(others):
        depth += (token.key == "(") - (token.key == ")")
        if not depth:
            return name.text.lower() if 0 < at == len(others) - 1 else None
    return None


def _values(node: exp.Expression) -> Iterator[exp.Expression]:
    """The parts of an expression that have a value of their own."""
    node = bare(node)
    yield node
    for part in () if isinstance(node, exp.Interval) else node.iter_expressions():
        if isinstance(part, exp.DataType | exp.Var | exp.Identifier):
            continue
        if isinstance(
            part, exp.Lambda | exp.Query | exp.Star | exp.Ordered | exp.Kwarg | exp.Placeholder | exp.Distinct
        ):
            raise refused(f"a {type(part).__name__.lower()}")
        if isinstance(node, exp.Case) and isinstance(part, exp.If):
            yield from _values(part.this)
            yield from _values(part.args["true"])
        else:
            yield from _values(part)
