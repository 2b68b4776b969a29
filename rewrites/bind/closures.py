"""References into Kleene closures: ``b[i].x``, ``b[1].x``, ``SUM(b[..i-1].x)``, ``COUNT(b.*)``.

In: syntax trees. Out: which variable and which of its events they reference. The callers check that the variable is a closure.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Name
from rewrites.dialect.nodes import KleenePrefix, KleeneRef
from sparkcep.spec import expression as ir

_PLACES: dict[tuple[str | int, int], ir.Place] = {
    ("i", 0): "each",
    ("i", -1): "previous",
    (1, 0): "first",
    ("first", 0): "first",
    ("last", 0): "last",
}
_FUNCTIONS: dict[type[exp.Expression], ir.Function] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``function(variable.argument)`` over a closure, or its prefix; ``argument`` None: over the events themselves."""

    function: ir.Function
    variable: str
    prefix: bool
    argument: exp.Expression | None


def kleene_path(node: exp.Expression) -> tuple[tuple[Name, ...], ir.Place | None, bool] | None:
    """``b[i-1].s.f`` → (b, s, f), its place (None: another index), whether it is ``b[..i-1]``; None for anything else."""
    if isinstance(node, KleeneRef | KleenePrefix):
        name = Name(node.this.name, span_of(node.this))
        if isinstance(node, KleenePrefix):
            return (name,), None, True
        return (name,), _PLACES.get((node.index_value, node.offset)), False
    if not isinstance(node, exp.Dot) or not isinstance(node.expression, exp.Identifier):
        return None
    above = kleene_path(node.this)
    if above is None:
        return None
    return (*above[0], Name(node.expression.name, span_of(node.expression))), above[1], above[2]


def aggregate(node: exp.Expression) -> Aggregate | None:
    """The aggregate over one variable that ``node`` is; None for anything else."""
    function = _FUNCTIONS.get(type(node))
    argument = node.this if function is not None else None
    if function is None or argument is None or isinstance(argument, exp.Distinct):
        return None
    counted = _counted(argument)
    if counted is not None:
        return Aggregate(function, *counted, None) if function == "count" else None
    paths = [path for part in argument.walk() if (path := kleene_path(part)) is not None]
    names = {path[0][0].value for path in paths}
    columns = (column_path(part) or () for part in argument.walk() if isinstance(part, exp.Column))
    names |= {column[0].value for column in columns if len(column) > 1}
    if len(names) != 1 or not all(path[2] for path in paths):
        return None
    return Aggregate(function, names.pop(), bool(paths), argument)


def _counted(argument: exp.Expression) -> tuple[str, bool] | None:
    """``b.*`` and ``b[..i-1].*`` → (variable, prefix)."""
    if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star) and argument.table:
        return argument.table, False
    if isinstance(argument, exp.Dot) and isinstance(argument.expression, exp.Star):
        path = kleene_path(argument.this)
        return (path[0][0].value, path[2]) if path is not None and path[2] else None
    return None
