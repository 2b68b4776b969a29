"""Spark's analysis of expressions as data: class, type, arguments and mode of every node, including implicit casts.

In: an analysed query (classic sessions; over Spark Connect the plan is out of reach). Out: ``spec.expression.SparkFunction`` trees whose
``AttributeReference`` leaves name the input's columns. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from ctypes import c_float
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from py4j.protocol import Py4JError

from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Constant, SparkFunction

_SETTINGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod"), ("evalMode",)),
    **dict.fromkeys(("UnaryMinus", "Abs", "GetArrayItem", "MakeDate", "Floor", "Ceil"), ("failOnError",)),
    **dict.fromkeys(("Hour", "Minute", "Second", "TruncTimestamp", "TimestampAddInterval", "TimeAdd"), ("timeZoneId",)),
    **dict.fromkeys(("UnixTimestamp", "ToUnixTimestamp", "TimestampAddYMInterval", "MonthsBetween"), ("timeZoneId",)),
    **dict.fromkeys(("Like", "ILike"), ("escapeChar",)),
    "Cast": ("evalMode", "timeZoneId"),
    "ElementAt": ("failOnError", "defaultValueOutOfBound"),
    "Size": ("legacySizeOfNull",),
    "SubtractTimestamps": ("legacyInterval", "timeZoneId"),
    **dict.fromkeys(("TimestampAdd", "TimestampDiff"), ("unit", "timeZoneId")),
    "GetStructField": ("ordinal",),
}
"""The parameters of a node, other than its arguments, that affect its value."""

_LENIENT = ("Floor", "Ceil")
"""Nodes without a mode before Spark 4.3, where they never fail."""

_REPLACEABLE = "org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable"


def expression_tree(jsession: Any, plan: Any) -> SparkFunction | Constant:
    """The tree of the single column that ``plan`` (an analysed ``Project``) computes. Raises CepUnsupportedError for what cannot be represented as
    data."""
    column = plan.projectList().apply(0)
    return _Reader(jsession).node(column.child() if _name(column) == "Alias" else column)


Tree = Any
"""A SparkFunction or a Constant."""


def column_trees(jsession: Any, plan: Any, leaf: str) -> dict[str, Tree]:
    """The trees of all columns of ``plan``, an analysed query of nested SELECTs over the relation that is named ``leaf``, as functions of the columns
    of that. Raises CepUnsupportedError for what cannot be represented as data. Filters are not looked at."""
    selects = []
    while not (_name(plan) == "SubqueryAlias" and str(plan.identifier().name()) == leaf):
        if _name(plan) == "Project":
            selects.append(plan)
        elif _name(plan) not in ("SubqueryAlias", "Filter"):
            raise CepUnsupportedError(f"{plan.nodeName()} among the columns of a row", code="MATCH_DEPENDENT_FUNCTION")
        plan = plan.child()
    named: dict[str, tuple[str, Callable[[], Tree]]] = {}
    for select in reversed(selects):
        named = dict(_columns(jsession, select, named))
    return {name: tree() for name, tree in named.values()}


def _columns(
    jsession: Any, select: Any, below: Mapping[str, tuple[str, Callable[[], Tree]]]
) -> Iterable[tuple[str, tuple[str, Callable[[], Tree]]]]:
    """The columns of a SELECT by their numbers: name, and what makes the tree of those that are asked for."""
    known = {number: tree for number, (_, tree) in below.items()}
    for column in _items(select.projectList()):
        value = column.child() if _name(column) == "Alias" else column
        tree = lru_cache(partial(_Reader(jsession, known).node, value))
        yield str(column.exprId().id()), (str(column.name()), tree)


class _Reader:
    """``columns``: what makes the trees of columns, by their numbers, where they are computed below; others are leaves."""

    def __init__(self, jsession: Any, columns: Mapping[str, Callable[[], Tree]] | None = None) -> None:
        self._is_replaceable = jsession.getClass().getClassLoader().loadClass(_REPLACEABLE).isInstance
        self._common: dict[str, Tree] = {}
        self._below = columns or {}

    def node(self, node: Any) -> SparkFunction | Constant:
        """One node with its subtree."""
        name = _name(node)
        if name == "AttributeReference":
            below = self._below.get(str(node.exprId().id())) if self._below else None
            return SparkFunction(name, _type(node), settings=(str(node.name()),)) if below is None else below()
        if name == "Literal":
            return Constant(_value(node.value(), _type(node)), _type(node))
        if name == "With":
            return self._with(node)
        if name == "RaiseError":  # raise_error(text): its parameters are a map of one entry
            return SparkFunction(
                name, _type(node), (self.node(node.errorParms().children().apply(1)),), text="raise_error"
            )
        if name == "CommonExpressionRef":
            return self._common[str(node.id())]  # type: ignore[no-any-return]
        if name == "NamedLambdaVariable":
            return SparkFunction(name, _type(node), settings=(str(node.exprId().id()),))
        from sparkcep.engines.functions import NAMES  # with NumPy, for few sessions

        if name not in NAMES and self._is_replaceable(node):
            return self.node(node.replacement())
        settings = tuple(_setting(node, accessor) for accessor in _SETTINGS.get(name, ()))
        arguments = tuple(self.node(child) for child in _items(node.children()))
        return SparkFunction(name, _type(node), arguments, settings, _sql_name(node, name))

    def _with(self, node: Any) -> SparkFunction | Constant:
        """Expand common sub-expressions: Spark computes the x of ``x BETWEEN 1 AND 2`` once; here it is repeated."""
        for definition in _items(node.defs()):
            self._common[str(definition.id())] = self.node(definition.child())
        return self.node(node.child())


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _sql_name(node: Any, name: str) -> str:
    """What the user calls the function."""
    if name == "PythonUDF":
        return str(node.name())
    if name == "SQLScalarFunction":
        return str(node.function().name().funcName())
    return str(node.prettyName())


def _type(node: Any) -> str:
    return str(node.dataType().catalogString())


def _setting(node: Any, accessor: str) -> str:
    try:
        value = getattr(node, accessor)()
    except Py4JError:
        if _name(node) in _LENIENT:
            return "false"
        raise
    text = str(value) if isinstance(value, str | bool | int) else str(value.toString())
    return text.removeprefix("Some(").removesuffix(")") if text.startswith("Some(") else text


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _value(value: Any, type_text: str) -> Any:
    """A literal's value, in the form of ``Constant``."""
    if type_text == "float" and value is not None:
        return c_float(value).value  # the gateway sends the shortest text, 0.1, of 0.10000000149
    if value is None or isinstance(value, bool | int | float | bytes | bytearray):
        return float(value) if type_text == "double" and value is not None else value
    if type_text.startswith("decimal"):
        return str(value) if isinstance(value, Decimal) else str(value.toString())
    if type_text == "string" or type_text.startswith("string "):
        return str(value) if isinstance(value, str) else str(value.toString())
    raise CepUnsupportedError(f"a constant of the type {type_text} among values of several rows", code="CONSTANT")
