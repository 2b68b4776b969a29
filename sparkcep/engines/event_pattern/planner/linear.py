"""Linear comparisons (of sums and differences), rearranged so that the terms of one event are on one side.

In: a condition. Out: both sides of the comparison as signed terms: ``ABS(b.v - a.v) < c`` → ``b.v - a.v - c < 0`` and ``a.v - b.v - c < 0``. Whether
this is sound for values that overflow or round is not decided here (see ``differences``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkcep.spec.expression import Call, ColumnOf, ElementOf, Expression, Operator, terms, variables, walk

Signed = tuple[int, Expression]
"""A sign (1 or -1) and a term."""

MIRRORED: Mapping[Operator, Operator] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}

_ARITHMETIC = ("add", "sub", "mul", "abs")


def parts(condition: Expression) -> tuple[tuple[tuple[Signed, ...], Operator], ...]:
    """Sums, each with its comparison (``lt``, ``le``, ``gt``, ``ge``) to 0, whose conjunction is equivalent to the condition. Empty if the condition
    does not have this form.
    """
    if not isinstance(condition, Call) or condition.operator not in (*MIRRORED, "eq"):
        return ()
    left, right = condition.arguments
    if any(not _is_arithmetic(side) for side in (left, right)):
        return ()
    if condition.operator == "eq":
        return tuple((((1, left), (-1, right)), operator) for operator in ("le", "ge"))  # type: ignore[misc]
    if _is_absolute(right) and not _is_absolute(left):
        return parts(Call(MIRRORED[condition.operator], (right, left)))
    if not _is_absolute(left):
        return ((((1, left), (-1, right)), condition.operator),)
    if condition.operator not in ("lt", "le"):
        return ()
    return tuple((((sign, left.arguments[0]), (-1, right)), condition.operator) for sign in (1, -1))


def split(signed: Sequence[Signed], variable: str) -> tuple[tuple[Signed, ...], tuple[Signed, ...]] | None:
    """(the terms of ``variable``, the others); None if a term mixes both, or one side is empty."""
    own: list[Signed] = []
    others: list[Signed] = []
    waiting = list(signed)
    while waiting:
        sign, node = waiting.pop()
        names = variables(node)
        if variable not in names:
            others.append((sign, node))
        elif isinstance(node, Call) and node.operator in ("add", "sub"):
            left, right = node.arguments
            waiting += [(-sign if node.operator == "sub" else sign, right), (sign, left)]
        elif names == (variable,):
            own.append((sign, node))
        else:
            return None
    return (tuple(own), tuple(others)) if own and others else None


def is_linear(condition: Expression) -> bool:
    """Whether some variable of the condition can be isolated on one side. (Single events only: closures grow pair by pair.)"""
    names, found = variables(condition), parts(condition)
    if not found or len(names) < 2 or not all(isinstance(term, ColumnOf) for term in terms(condition)):
        return False
    return all(split(signed, name) is not None for signed, _ in found for name in names)


def _is_arithmetic(node: Expression) -> bool:
    kinds = (ColumnOf, ElementOf)
    return all(isinstance(n, kinds) or (isinstance(n, Call) and n.operator in _ARITHMETIC) for n in walk(node))


def _is_absolute(node: Expression) -> bool:
    return isinstance(node, Call) and node.operator == "abs"
