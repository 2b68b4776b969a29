"""Where a part of a condition is evaluated at all: in ``n = 0 OR x / n > y`` the quotient is that of other rows than those whose n is 0.

What Spark computes of single rows before an engine looks at several of them, it computes of every row; an expression that may fail is left out where
the conditions before it have decided. That is seen nowhere else: engines evaluate AND, OR and CASE in order, as Spark does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from rewrites.dialect.nodes import Navigation

_CANNOT_FAIL = (
    *(exp.Column, exp.Dot, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Var, exp.Interval),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.Is, exp.In),
    *(exp.And, exp.Or, exp.Not, exp.Case, exp.If, exp.Coalesce, exp.Like, exp.ILike, exp.DPipe, exp.Concat),
    *(exp.Upper, exp.Lower, exp.Trim, exp.Length, exp.Substring, exp.DataType, Navigation),
)


class NotForWorkers(Exception):
    """Workers cannot test a condition: what guards an expression that may fail would be computed behind it."""


def may_fail(node: exp.Expression, is_safe: Callable[[exp.Expression], bool] = lambda part: False) -> bool:
    """Whether there are values for which an expression is an error; ``is_safe`` tells more parts that cannot fail."""
    return not all(isinstance(part, _CANNOT_FAIL) or _is_number(part) or is_safe(part) for part in node.walk())


def _is_number(node: exp.Expression) -> bool:
    """``1L`` and ``0.5D``, which sqlglot reads as casts."""
    return isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and not node.this.is_string


def where_reached(text: str, node: exp.Expression, over_same_row: Callable[[exp.Expression], str | None]) -> str:
    """``text``, the SQL of ``node`` over its row, NULL where the conditions before it have decided.

    ``over_same_row``: the SQL of a condition over that row; None if it is about more.
    """
    if not may_fail(node):
        return text
    found = ((over_same_row(condition), told) for condition, told in decided(node))
    tests = dict.fromkeys(f"({sql}) {told}" for sql, told in found if sql is not None)
    return f"CASE WHEN {' AND '.join(tests)} THEN {text} END" if tests else text


def where_filtered(argument: exp.Expression, over_row: Callable[[exp.Expression], str]) -> str:
    """An aggregate's argument as SQL over a row, NULL where it may fail and FILTER leaves the row out."""
    call = argument.parent.parent if isinstance(argument.parent, exp.Distinct) else argument.parent
    around, text = None if call is None else call.parent, over_row(argument)
    if (
        not isinstance(around, exp.Filter)
        or around.this is not call
        or around.find(exp.Query, exp.Window)
        or not may_fail(argument)
    ):
        return text
    return f"CASE WHEN {over_row(around.expression.this)} THEN {text} END"


def decided(node: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    """The conditions before ``node``, and what they are where it is evaluated."""
    while (parent := node.parent) is not None:
        if isinstance(parent, exp.And | exp.Or) and parent.expression is node:
            yield parent.this, "IS NOT FALSE" if isinstance(parent, exp.And) else "IS NOT TRUE"
        elif isinstance(parent, exp.If) and node is not parent.this and not _is_of_values(parent):
            yield parent.this, "IS TRUE" if node is parent.args["true"] else "IS NOT TRUE"
        elif isinstance(parent, exp.Case) and parent.this is None:
            for branch in parent.args["ifs"]:
                if branch is node:
                    break
                yield branch.this, "IS NOT TRUE"
        elif isinstance(parent, exp.Coalesce) and node is not parent.this:
            yield parent.this, "IS NULL"
        node = parent


def _is_of_values(branch: exp.If) -> bool:
    """Whether the branch is one of ``CASE x WHEN 1 THEN …``."""
    return isinstance(branch.parent, exp.Case) and branch.parent.this is not None
