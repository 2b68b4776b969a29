"""Spark's analysis of an expression over values that only an engine has.

The values are columns of an empty stand-in, over which Spark analyses the expression; in the resolved tree, with all casts, the columns are replaced
by the engine's sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import BooleanType, DataType, DecimalType
from sqlglot import exp

from rewrites.bind.operands import Operand
from rewrites.bind.relation import Describe, spark_message
from rewrites.dialect import column_path, span_of
from rewrites.sql.builder import quoted
from rewrites.sql.source import lambda_names
from sparkcep.errors import CepAnalysisError, CepError, CepUnsupportedError
from sparkcep.spec.expression import Constant, SparkFunction

_CONSTANT = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.Interval, exp.Var, exp.Cast, exp.DataType, exp.DataTypeParam),
    *(exp.Neg, exp.Paren, exp.Identifier),
)
"""The nodes of constants that Spark's analysis folds to a literal."""

_NO_VALUE = (exp.Lambda, exp.Star, exp.DataType, exp.Var, exp.Ordered, exp.Order, exp.Kwarg, exp.Alias)

Refusal = Callable[..., CepUnsupportedError]
"""Makes the error for what no engine evaluates; a reason may be given."""


@dataclass(slots=True)
class StandIn:
    """``analyse``: see ``Relation.expression``."""

    analyse: Callable[[str, str], SparkFunction | Constant] | None
    _columns: dict[Any, tuple[str, DataType]] = field(default_factory=dict)

    def column(self, source: Any, data_type: DataType) -> str:
        """The column, quoted, that stands for the engine's ``source``."""
        name, _ = self._columns.setdefault(source, (f"__cep_x{len(self._columns)}", data_type))
        return quoted(name)

    def mean(self, parts: Iterable[tuple[Any, DataType]], data_type: DecimalType) -> str:
        """The column of an AVG of decimals; ``parts``: the sources of their sum and of how many there are, with their types."""
        sources = (SparkFunction("Source", kind.simpleString(), (source,), text="value") for source, kind in parts)
        return self.column(SparkFunction("mean", data_type.simpleString(), tuple(sources), (), "mean"), data_type)

    def condition(self, text: str, node: exp.Expression, what: str, refusal: Refusal) -> Operand:
        """``text`` over the columns, standing for ``node``, as a tree of functions. What is void (``raise_error``) is a BOOLEAN within a condition.

        Raises ``refusal([why])``; CepAnalysisError if Spark's analysis fails, or if ``what`` is not boolean.
        """
        tree = self._analysed(text, node, refusal)
        if tree.type == "void" and node.parent is not None:
            tree = self._analysed(f"CAST({text} AS BOOLEAN)", node, refusal)
        if tree.type != "boolean":
            raise CepAnalysisError(
                f"{what} is {tree.type}, not boolean",
                code="CONDITION",
                span=span_of(node),
                hint="write a comparison: x > 0",
            )
        if not isinstance(tree, SparkFunction):
            raise refusal()
        return Operand(BooleanType(), source=filled(tree, self._sources()))

    def tree(
        self, text: str, node: exp.Expression, refusal: Refusal, describe: Describe
    ) -> tuple[SparkFunction | Constant, DataType]:
        """``text`` over the columns as a tree, and its type; errors as ``condition``."""
        tree = self._analysed(text, node, refusal)
        query = f"SELECT {text}\n AS `r` FROM (SELECT {', '.join(self._empty_columns()) or '1'})"
        return filled(tree, self._sources()), describe(query)[0].dataType

    def _sources(self) -> dict[str, Any]:
        return {name: source for source, (name, _) in self._columns.items()}

    def _empty_columns(self) -> list[str]:
        return [f"CAST(NULL AS {kind.simpleString()}) AS {quoted(name)}" for name, kind in self._columns.values()]

    def value(self, text: str, node: exp.Expression, data_type: DataType, refusal: Refusal) -> Operand:
        """``text`` over the columns, for ``node``, of a known type. Raises as ``condition``."""
        tree = self._analysed(text, node, refusal)
        return Operand(data_type, source=filled(tree, self._sources()))

    def columns(self) -> list[tuple[str, DataType]]:
        """The stand-in's columns, quoted, and their types."""
        return [(quoted(name), kind) for name, kind in self._columns.values()]

    def _analysed(self, text: str, node: exp.Expression, refusal: Refusal) -> SparkFunction | Constant:
        if self.analyse is None:
            raise refusal()
        columns = ", ".join(self._empty_columns()) or "1"
        try:
            return self.analyse(text, f"(SELECT {columns})")
        except CepError as error:
            error.span = error.span or span_of(node)
            raise
        except PySparkException as error:
            raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=span_of(node)) from None


def filled(tree: Any, sources: Mapping[str, Any]) -> Any:
    """``tree`` with the stand-in's columns replaced, by name, by the engine's sources."""

    def fill(node: Any) -> Any:
        if not isinstance(node, SparkFunction):
            return node
        if node.name == "AttributeReference":
            return SparkFunction("Source", node.type, (sources[node.settings[0]],), text="value")
        return SparkFunction(node.name, node.type, tuple(map(fill, node.arguments)), node.settings, node.text)

    return fill(tree)


def is_constant(node: exp.Expression) -> bool:
    """Whether Spark's analysis folds ``node`` to a literal."""
    return all(isinstance(part, _CONSTANT) for part in node.walk())


def is_value(node: exp.Expression) -> bool:
    """Whether a part of a syntax tree has a value where it stands.

    No lambda or what reads its parameters, no sort key, no WHEN … THEN … of a CASE, no list behind LIKE ANY, no ``raise_error``.
    """
    if isinstance(node, exp.Anonymous) and node.name.lower() == "raise_error":
        return False
    listed = isinstance(node, exp.Any | exp.All) or isinstance(node.parent, exp.Any | exp.All)
    branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
    return not branch and not listed and not isinstance(node, _NO_VALUE) and not has_parameter(node)


def has_parameter(node: exp.Expression) -> bool:
    """Whether ``node`` reads a parameter of an enclosing lambda."""
    bound = lambda_names(node)
    return any(_first_name(part) in bound for part in node.walk()) if bound else False


def _first_name(node: exp.Expression) -> str | None:
    """The name that a column reference begins with; sqlglot leaves a lambda's parameters as bare identifiers."""
    path = column_path(node)
    if path is not None:
        return path[0].value.lower()
    first = not isinstance(node.parent, exp.Column) and (not isinstance(node.parent, exp.Dot) or node.arg_key == "this")
    return node.name.lower() if isinstance(node, exp.Identifier) and first else None


def is_name(node: exp.Expression) -> bool:
    """Whether a part of a syntax tree is not an expression: a name, type or unit."""
    return isinstance(node, exp.Identifier | exp.DataType | exp.Var | exp.DataTypeParam)
