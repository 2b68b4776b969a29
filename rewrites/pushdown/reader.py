"""Reads expressions over matches: which parts are aggregates that A-Seq supports, and which are PARTITION BY columns.

In: syntax trees. Out: edits that replace the calls by partial aggregates; ``NotPushed`` for whatever needs the matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pyspark.errors import PySparkException
from sqlglot import exp

from rewrites.bind.conditions import Columns
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.dialect import Navigation, bare, column_path, span_of
from rewrites.emit.event_outputs import RANK
from rewrites.pushdown.event_expressions import event_value, written_over
from rewrites.pushdown.partials import ELEMENT, AggregateCall, Combines, EventExpression
from rewrites.sql.builder import quoted
from rewrites.sql.source import Edit, Source
from sparkcep.pattern.event import always_taken, elements

_FUNCTIONS = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}
_REFUSED = (exp.Query, exp.Exists, exp.Window, exp.Filter, exp.Lambda, exp.UDTF, exp.Explode, exp.WithinGroup, exp.Star)


class NotPushed(Exception):
    """The block or the pattern needs its matches; the message says why."""


class AggregateReader:
    """Reads the expressions of one query block, or the MEASURES of one clause.

    ``alias``: the clause's alias in a block. ``measures``: the expressions are MEASURES, where ``SUM(b.x)`` ranges over every element of every
    closure and ``COUNT(b.*)`` counts them; in a block ``b`` is an ordinary array. ``joined``: the block's ``Block.joined``.
    """

    def __init__(
        self,
        bound: BoundEventPattern,
        partials: Combines,
        source: Source,
        alias: str | None = None,
        *,
        measures: bool = False,
        joined: frozenset[str] = frozenset(),
    ) -> None:
        self.partials = partials
        self._alias = alias
        self._joined = joined
        self._measures = measures
        self._taken = {name.lower() for name in ("match_start", "match_end", *bound.variables)} if joined else None
        self._changes = bound.emit_changes is not None
        self._keys = {key.name.lower() for key in bound.keys}
        positive = [element for element in elements(bound.pattern, negated=False) if measures or not element.kleene]
        self._variables = {element.variable.lower(): element.variable for element in positive}
        self._relation = bound.relation
        self._functions: list[str] = []
        self._source = source
        self._closures = {element.variable for element in positive if element.kleene}
        self._always = always_taken(bound.pattern)
        self._values = Columns("__cep_value")
        self._read: dict[str, EventExpression | None] = {}
        self._column_of: dict[str, str] = {}

    def edits(self, node: exp.Expression, aliases: set[str]) -> Iterator[Edit]:
        """Edits for the aggregate calls in ``node``; ``aliases``: output columns that it may reference. Raises NotPushed."""
        if isinstance(node, _REFUSED):
            raise NotPushed(f"{type(node).__name__} in the {'MEASURES' if self._measures else 'block'}")
        call = self.call(node)
        if call is not None:
            combined = self.partials.combined(call)
            if combined is None:
                raise NotPushed(f"{call.text} is over a type that A-Seq does not aggregate")
            yield span_of(node), combined
            return
        if self._over_keys(node):
            return
        if isinstance(node, exp.AggFunc):
            raise NotPushed(
                f"{self._source.text(span_of(node))} is not an aggregate that A-Seq has{self._why_not(node)}"
            )
        if isinstance(node, Navigation):
            raise NotPushed(f"{node.args['function']} is not an aggregate that A-Seq has")
        if column_path(node) is not None:
            self._require_key(node, aliases)
            return
        if isinstance(node, exp.Func) and not isinstance(node, exp.Connector) and not node.find(exp.AggFunc):
            self._functions.append(self._source.text(span_of(node)))
        for child in node.iter_expressions():
            yield from self.edits(child, aliases)

    def call(self, node: exp.Expression) -> AggregateCall | None:
        """``node`` as an aggregate over matches, possibly under a cast to DECIMAL(38,0), if it is one."""
        if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast) and _is_wide(node):
            return self._call(bare(node.this), wide=True)
        return self._call(node)

    def _call(self, node: exp.Expression, *, wide: bool = False) -> AggregateCall | None:
        function = _FUNCTIONS.get(type(node))  # type: ignore[call-overload]
        if function is None or node.expressions or (wide and function not in ("count", "sum")):
            return None
        if function == "count" and (isinstance(node.this, exp.Star) or _is_one(node.this)):
            return AggregateCall("count", wide=wide)
        if function == "count" and self._measures and (variable := self._counted(node.this)):
            return AggregateCall("count", variable, RANK, wide)
        if not isinstance(node.this, exp.Expression):
            return None
        path = self._path(node.this)
        if path is None:
            return self._over_expression(function, node.this, wide)
        if len(path) != 2 or path[0].lower() not in self._variables:
            return None
        column = self._relation.column(path[1])
        return AggregateCall(function, self._variables[path[0].lower()], column, wide) if column else None

    def _over_expression(self, function: str, node: exp.Expression, wide: bool) -> AggregateCall | None:
        """An aggregate of an expression over one event, which is precomputed for every event."""
        variable = self._only_variable(node)
        if variable is None or node.find(exp.AggFunc, exp.Distinct, *_REFUSED):
            return None
        text = self._source.text(span_of(node))
        if text not in self._read:
            self._read[text] = self._expression(variable, node, text)
        found = self._read[text]
        if found is None:
            return None
        return AggregateCall(function, variable, self._column_of[text], wide, found)

    def _expression(self, variable: str, node: exp.Expression, text: str) -> EventExpression | None:
        value = event_value(node, partial(self._field, variable), self._relation, self._source)
        if value is None or not (value.strict or variable in self._always or variable in self._closures):
            return None
        fails = None if value.fails is None else self._values.name(f"CASE WHEN {value.fails} THEN TRUE END")
        self._column_of[text] = self._values.name(value.text)
        element = written_over(node, partial(self._field, variable, event=f"{ELEMENT}."), self._source)
        return EventExpression(text, element, value.data_type, fails, value.strict)

    def _only_variable(self, node: exp.Expression) -> str | None:
        """The variable that all references in an expression share."""
        paths = [path for part in node.find_all(exp.Column, exp.Dot) if (path := self._path(part)) is not None]
        names = {path[0].lower() for path in paths if len(path) > 1}
        return self._variables.get(names.pop()) if len(names) == 1 else None

    def _field(self, variable: str, node: exp.Expression, event: str = "") -> str | None:
        """A reference to an event's column as SQL over the input (``event``: over that struct)."""
        path = self._path(node)
        if path is None or len(path) < 2 or path[0].lower() != variable.lower():
            return None
        column = self._relation.column(path[1])
        if column is None or len(path) != 2 or (self._relation.char_length(column) and not self._measures):
            return None  # of a match's event Spark compares a CHAR as it is, of a row as if literals were as long
        return f"{event}{quoted(column)}"

    @property
    def columns(self) -> dict[str, str]:
        """SQL text → name of the columns that the calls read in addition to the input."""
        return self._values.texts

    def _why_not(self, node: exp.AggFunc) -> str:
        alone = type(node) in _FUNCTIONS and not node.expressions and isinstance(node.this, exp.Expression)
        if not alone or isinstance(node.this, exp.Distinct) or self._only_variable(node.this) is None:
            return ""
        return f": {self._source.text(span_of(node.this))} may fail in events of no match"

    def _counted(self, node: exp.Expression | None) -> str | None:
        """The variable of ``COUNT(v.*)``."""
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            return self._variables.get(node.table.lower())
        return None

    def _over_keys(self, node: exp.Expression) -> bool:
        """Whether ``node`` is MIN, MAX or COUNT(DISTINCT …) of keys: duplicates do not matter, and every partition in the result has a match (though
        not at all times)."""
        inner = node.this
        if self._changes:
            return False
        if isinstance(node, exp.Count) and isinstance(inner, exp.Distinct):
            parts = inner.expressions
        elif isinstance(node, exp.Min | exp.Max) and not node.expressions and isinstance(inner, exp.Expression):
            parts = [inner]
        else:
            return False
        for part in parts:
            if part.find(exp.AggFunc, *_REFUSED) or list(self.edits(part, set())):
                raise NotPushed("an aggregate inside an aggregate")
        return bool(parts)

    def _require_key(self, node: exp.Expression, aliases: set[str]) -> None:
        path = self._path(node) or ()
        first = path[0].lower() if path else ""
        if first in self._keys or (len(path) == 1 and first in aliases):
            return
        unqualified = len(column_path(node) or ()) == len(path)
        if self._taken is not None and unqualified and first not in self._taken:
            return  # a column of another table
        raise NotPushed(
            f"{self._source.text(span_of(node))} is neither a PARTITION BY column nor inside COUNT, SUM, AVG, MIN or MAX"
        )

    def _path(self, node: exp.Expression) -> tuple[str, ...] | None:
        """The names in a column reference after the clause's alias; None where it may be a variable's or that of a joined table."""
        names = column_path(node)
        if names is None:
            return None
        path = tuple(name.value for name in names)
        qualified = self._alias is not None and len(path) > 1 and path[0].lower() == self._alias.lower()
        if len(path) > 1 and not qualified and path[0].lower() in self._joined.intersection(self._variables):
            return None
        return path[1:] if qualified else path

    def require_scalar_functions(self, rows: str) -> None:
        """Check that functions are not aggregates (or generators) unknown to this rule: Spark refuses to nest those in COUNT. ``rows``: the text
        after FROM.
        """
        if not self._functions:
            return
        counts = ", ".join(f"COUNT({text}) AS `__cep_f{i}`" for i, text in enumerate(self._functions))
        try:
            self._relation.describe(f"SELECT {counts} FROM {rows}")
        except PySparkException:
            raise NotPushed(f"{' or '.join(self._functions)} may be an aggregate") from None


def _is_one(node: exp.Expression | None) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.this == "1"


def _is_wide(node: exp.Cast) -> bool:
    to = node.args["to"]
    sizes = [str(size.this) for size in to.expressions]
    return to.is_type(exp.DataType.Type.DECIMAL) and [size.strip() for size in sizes] in (["38"], ["38", "0"])
