"""Lists of what an aggregate in DEFINE ranges over, where only an engine knows it.

In: an aggregate's argument (``MATCH_NUMBER() * 2 - id``) and FILTER (``WHERE CLASSIFIER() = 'a'``). Out: a tree over lists that the engine
gathers, one of the rows (structs of their columns) and one of their variables; its value is the list of the argument's values, without NULLs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, StringType, StructField, StructType
from sqlglot import exp

from rewrites.bind.aggregates import filter_of
from rewrites.bind.arguments import Arguments
from rewrites.bind.engine_values import FIRST_ROW, over_row
from rewrites.bind.match_leaves import MatchLeaves
from rewrites.bind.names import is_early
from rewrites.bind.operands import NotForTheEngine
from rewrites.bind.stand_in import Refusal, StandIn
from rewrites.dialect.nodes import Classifier, MatchNumber
from rewrites.sql.builder import ROW_NUMBER, quoted, string
from sparkcep.spec import row
from sparkcep.spec.expression import Constant, SparkFunction

_ROW, _INDEX = quoted("__cep_r"), quoted("__cep_i")


def list_of_values(
    node: exp.Expression,
    parts: tuple[exp.Expression, ...],
    cast: str | None,
    translator: MatchLeaves,
    values: StandIn,
    refusal: Refusal,
) -> tuple[SparkFunction | Constant, DataType]:
    """The list of ``parts[0]`` (of two parts a list of pairs ``v``, ``o``) over the rows of the aggregate ``node``, and an element's type.

    Raises NotForTheEngine for a subquery inside it.
    """
    if is_early(node):
        raise NotForTheEngine
    rows = _Rows(translator, values)
    texts = [rows.text(part) for part in parts]
    if cast is not None:
        texts = [f"CAST({text} AS {cast})" for text in texts]
    element = texts[0] if len(texts) == 1 else f"named_struct('v', {texts[0]}, 'o', {texts[1]})"
    where = filter_of(node)
    if where is not None:
        element = f"CASE WHEN {rows.text(where)} THEN {element} END"
    text = f"filter({rows.mapped(element, node)}, {_ROW} -> {_ROW} IS NOT NULL)"
    tree, kind = values.tree(text, node, refusal, translator.relation.describe)
    if not isinstance(kind, ArrayType):
        raise NotForTheEngine
    return tree, kind.elementType


@dataclass(slots=True)
class _Rows:
    """The rows that an aggregate ranges over: which columns of them its argument reads."""

    translator: MatchLeaves
    values: StandIn
    fields: dict[str, tuple[str, DataType]] = field(default_factory=dict)
    classified: bool = False

    def text(self, node: exp.Expression) -> str:
        """``node`` over one element of the lists."""
        if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
            return "1"
        leaves = self.translator
        return over_row(node, leaves.variables, leaves.relation, leaves.source, self._input, self._value)

    def mapped(self, element: str, node: exp.Expression) -> str:
        """The list of ``element`` over the rows of the aggregate ``node``."""
        leaves = self.translator
        shared = Arguments(leaves.variables, leaves.source, leaves.relation, {}, leaves.columns, leaves.early)
        members = shared.members(node, aggregate=True)
        fields = [f"{string(name)}, {quoted(column)}" for column, (name, _) in self.fields.items()]
        column = leaves.columns.name(f"named_struct({', '.join(fields) or string('c0') + ', 1'})")
        kinds = [StructField(name, kind) for name, kind in self.fields.values()]
        rows = row.Aggregate("array_agg", column, members, running=True)
        held = self.values.column(rows, ArrayType(StructType(kinds or [StructField("c0", IntegerType())])))
        if self.classified:
            names = row.Aggregate("array_agg", None, members, running=True)
            element = element.replace(_NAMES, self.values.column(names, ArrayType(StringType())))
        return f"transform({held}, ({_ROW}, {_INDEX}) -> {element})"

    def _input(self, column: str) -> str:
        return self._field(column, self.translator.relation.schema[column].dataType)

    def _field(self, column: str, data_type: DataType) -> str:
        name, _ = self.fields.setdefault(column, (f"c{len(self.fields)}", data_type))
        return f"{_ROW}.{quoted(name)}"

    def _value(self, node: exp.Expression) -> str:
        if isinstance(node, Classifier):
            self.classified = True
            return f"{_NAMES}[{_INDEX}]"
        if isinstance(node, MatchNumber):
            return self.values.column(row.MatchNumber(), LongType())
        first = self.values.column(FIRST_ROW, IntegerType())
        return f"CAST({self._field(ROW_NUMBER, IntegerType())} - {first} + 1 AS BIGINT)"


_NAMES = quoted("__cep_names")
"""Stands for the list of the rows' variables, which is known when all of the argument is read."""
