"""Step 2 of the compilation (SASE+, section 3.2): WHERE in conjunctive normal form, each conjunct on one edge.

In: predicates and a line of components. Out: for each conjunct the edge where its *last identifier* is instantiated:
the begin edge of a component, the take edge of a closure, or the proceed edge that leaves it.

A conjunct over the elements of a closure that is already behind (``a[i].x < b.x``, or ``a[i].x <= 2 * AVG(a.x)``)
needs the elements again. Where its elements stand alone on one side of a comparison, it says the same of their minimum
or maximum, which the value vector keeps; elsewhere the vector keeps all elements, and Python asks each (see ``slow``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Literal

from sparkcep.engines.nfa_b.structure import Component
from sparkcep.errors import CepLimitError
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import (
    AggregateOf,
    Call,
    ColumnOf,
    ElementOf,
    Expression,
    Function,
    Operator,
    SparkFunction,
    Term,
    looks_back,
    moves,
    terms,
    variables,
    walk,
    walked,
)

EdgeKind = Literal["begin", "take", "proceed"]

MAX_CONJUNCTS = 256
"""Most conjuncts of one predicate's normal form, which can be exponential in its size."""

_COMPUTED: tuple[Operator, ...] = ("add", "sub", "mul", "div", "abs")
_FLIPPED: dict[Operator, Operator] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_EXTREMES: dict[Operator, tuple[Function, ...]] = {
    "lt": ("max",),
    "le": ("max",),
    "gt": ("min",),
    "ge": ("min",),
    "eq": ("min", "max"),
}


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A condition on the edge ``kind`` of component ``at``. ``first``: on the begin edge it holds for a[1] too.
    ``each``: the complete closure for whose every element it must hold."""

    kind: EdgeKind
    at: int
    condition: Expression
    text: str
    first: bool = True
    each: str = ""


def placed(predicates: Sequence[Predicate], components: Sequence[Component]) -> tuple[Conjunct, ...]:
    """The conjuncts over the line's variables; those over variables that it lacks (negated, not taken) are left out.

    Raises CepLimitError past ``MAX_CONJUNCTS``.
    """
    places = {component.variable: at for at, component in enumerate(components)}
    found: list[Conjunct] = []
    for predicate in predicates:
        if not set(places).issuperset(variables(predicate.condition)):
            continue
        clauses = normal_form(predicate.condition, places, predicate.text)
        for clause in clauses:
            text = predicate.text if len(clauses) == 1 else str(clause)
            found += _placed(clause, text, places, components)
    return tuple(found)


def normal_form(condition: Expression, places: Mapping[str, int], text: str = "") -> tuple[Expression, ...]:
    """The conjuncts whose AND is ``condition``, in three-valued logic too.

    A condition with ``a[i-1]`` stays whole, as no part of it is about a[1]; so does what is no AND, OR or NOT of the user's (CASE, COALESCE).
    """
    if any(map(looks_back, terms(condition))):
        return (condition,)
    return tuple(_clauses(condition, True, places, text or str(condition)))


def _clauses(node: Expression, wanted: bool, places: Mapping[str, int], text: str) -> list[Expression]:
    if not isinstance(node, Call) or node.whole or node.operator not in ("and", "or", "not"):
        return [node if wanted else Call("not", (node,))]
    if node.operator == "not":
        return _clauses(node.arguments[0], not wanted, places, text)
    parts = [_clauses(argument, wanted, places, text) for argument in node.arguments]
    if (node.operator == "and") == wanted:
        return [clause for part in parts for clause in part]
    if prod(map(len, parts)) > MAX_CONJUNCTS:
        raise CepLimitError(
            f"The conjunctive normal form of {text} has more than {MAX_CONJUNCTS} conjuncts.",
            code="CONJUNCTS",
            hint="split the condition into smaller ones joined by AND",
        )
    return [_clause(parts, choice, places) for choice in product(*(range(len(part)) for part in parts))]


def _clause(parts: list[list[Expression]], choice: tuple[int, ...], places: Mapping[str, int]) -> Expression:
    """The OR of one conjunct of each part. One that may fail keeps those before it, ``x <> 0 AND y / x > 1``, if they are decided by then."""
    chosen = [part[at] for part, at in zip(parts, choice, strict=True)]
    known = {term for one in chosen for term in terms(one)}
    end = max(places[term.variable] for term in known)
    alternatives = []
    for part, at, one in zip(parts, choice, chosen, strict=True):
        before = [other for other in part[:at] if _may_fail(one) and _is_decided(other, known, end, places)]
        alternatives.append(Call("and", (*before, one)) if before else one)
    return Call("or", tuple(_alternatives(alternatives)))


def _is_decided(node: Expression, known: set[Term], end: int, places: Mapping[str, int]) -> bool:
    """Whether a condition can be tested together with one that reads ``known``, at the place ``end``."""
    plain = (isinstance(term, ColumnOf) and places[term.variable] <= end for term in terms(node))
    return all(term in known or bound for term, bound in zip(terms(node), plain, strict=True))


def _may_fail(node: Expression) -> bool:
    """Whether a part of the condition is computed: functions and arithmetic fail, comparisons do not."""
    return any(
        isinstance(part, SparkFunction) or (isinstance(part, Call) and part.operator in _COMPUTED)
        for part in walk(node)
    )


def _alternatives(choice: Sequence[Expression]) -> Iterator[Expression]:
    for part in choice:
        yield from part.arguments if isinstance(part, Call) and part.operator == "or" else (part,)


def _placed(
    clause: Expression, text: str, places: dict[str, int], components: Sequence[Component]
) -> Iterator[Conjunct]:
    at = max(places[name] for name in variables(clause))
    last = components[at]
    own = [term for term in terms(clause) if term.variable == last.variable]
    running = walked(clause)
    whole = any(_is_whole(term) for term in own)
    if running == (last.variable,) and not whole:
        yield Conjunct("take", at, clause, text, first=not any(looks_back(term) for term in own))
        return
    kind: EdgeKind = "proceed" if last.kleene and whole else "begin"
    sides = _element_side(clause) if running else None
    if running and sides is None:
        yield Conjunct(kind, at, clause, text, each=running[0])
        return
    for condition in (clause,) if sides is None else _folded(*sides):
        yield Conjunct(kind, at, condition, text)


def _is_whole(term: Expression) -> bool:
    """Whether the term is known only when the closure is complete."""
    if isinstance(term, AggregateOf):
        return not term.prefix
    return isinstance(term, ElementOf) and term.place == "last"


def _folded(element: ElementOf, operator: Operator, other: Expression) -> Iterator[Expression]:
    """``a[i].x < r`` for all i → ``MAX(a.x) < r`` and no ``a.x`` is NULL."""
    for function in _EXTREMES[operator]:
        yield Call(operator, (AggregateOf(function, element.variable, element.column), other))
    sizes = AggregateOf("count", element.variable, element.column), AggregateOf("count", element.variable)
    yield Call("eq", sizes)


def _element_side(clause: Expression) -> tuple[ElementOf, Operator, Expression] | None:
    if not isinstance(clause, Call) or clause.operator not in _EXTREMES:
        return None
    left, right = clause.arguments
    for own, other, operator in ((left, right, clause.operator), (right, left, _FLIPPED[clause.operator])):
        still = not any(moves(term) for term in terms(other))
        if isinstance(own, ElementOf) and own.place == "each" and still:
            return own, operator, other
    return None
