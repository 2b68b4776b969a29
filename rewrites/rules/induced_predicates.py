"""induced_predicates: a comparison of several events bounds each of them by the least and greatest values of the others.

``a.x > 60 AND b.x > a.x`` → b can only be an event whose x exceeds the least ``a.x``, a subquery over the same events; ``p.x + q.x > r.x + 380``
bounds all three. Spark finds the bounds when the statement runs, and sends no event beyond them (data-induced predicates: Orr, Kandula and Chaudhuri,
"Pushing data-induced predicates through joins in big-data clusters", VLDB 2019).

Applies to comparisons of values as they are, and of sums and differences of integers, under SKIP TILL ANY MATCH: there no match depends on events
that are in none. The others must be in every match; a negated event bounds nothing and is not bounded. A sum that overflows in an event beyond the
bounds is no error any more, as its match is none either way.

The bounds cost one more scan of what is compared. So the rule asks for an input that is large and cheap to read twice, and for a comparison that may
exclude something: its constant pulls the sides apart, or a condition on one side alone selects it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql.types import IntegralType

from rewrites.bind.event_pattern import BoundEventPattern, Induced, events_of
from rewrites.bind.predicates import unguarded
from rewrites.sql.builder import ALIAS, quoted
from sparkcep.errors import Span
from sparkcep.pattern.event import always_taken, elements
from sparkcep.spec.expression import Call, ColumnOf, ElementOf, Expression, terms

NAME = "induced_predicates"

LEAST_BYTES = 4 << 20
"""The size of the input, as Spark knows it, from which the scan for the bounds pays."""

_EVENTS = "`__cep_events`"
_TURNED = {">": "<", ">=": "<="}
_WHOLE = re.compile(r"(?:CAST\()?(-?\d{1,18})(?: AS \w+\))?")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """``sign`` times the value of ``text`` in an event of ``variable``. ``column``: the input's, whose value it is, plus ``addend``."""

    sign: int
    variable: str
    text: str
    column: str | None = None
    addend: int = 0


@dataclass(frozen=True, slots=True)
class _Comparison:
    """``leaves`` and ``constant`` added up ``operator`` 0. ``plain``: a value against another one, of any type."""

    leaves: tuple[_Leaf, ...]
    constant: int
    operator: str
    plain: bool
    text: str


def induced_predicates(bound: BoundEventPattern) -> BoundEventPattern:
    """The clause with the bounds of its variables' events; as it is where the rule does not apply."""
    if bound.relation.streaming or bound.emit_changes is not None or bound.strategy != "any" or bound.matches != "all":
        return bound
    comparisons = [one for one in _comparisons(bound) if _may_exclude(one, bound)]
    if not comparisons or not _is_cheap(bound):
        return bound
    limits: dict[str, str] = {}
    exact = [one for one in comparisons if one.plain or _are_whole(one.leaves, bound)]
    found = tuple(dict.fromkeys(induced for one in exact for induced in _induced(one, bound, limits)))
    bounded = replace(bound, induced=found, bounded=_bounded(bound, limits))
    return bounded if found and _is_known(bounded) else bound


def _bounded(bound: BoundEventPattern, limits: dict[str, str]) -> str:
    """The events beside the limits. A CTE: Spark evaluates it once where two evaluations could differ, and as two scans where they cannot."""
    columns = ", ".join(f"{text} AS {name}" for text, name in limits.items())
    events = f"WITH {_EVENTS} AS (SELECT * FROM {bound.relation.text}\n)"
    return f"({events} SELECT * FROM {_EVENTS} CROSS JOIN ({events_of(bound, columns, _EVENTS)})) AS {quoted(ALIAS)}"


def _is_cheap(bound: BoundEventPattern) -> bool:
    """Whether Spark can find bounds at a fraction of what the query costs."""
    resources = bound.relation.resources
    found = None if resources is None else resources(*bound.relation.columns_of([]))
    return found is not None and found.cheap and found.size is not None and found.size >= LEAST_BYTES


def _is_known(bounded: BoundEventPattern) -> bool:
    """Whether all that the clause reads is there beside the bounds: not where it names the input's table."""
    texts = [
        *bounded.key_filters,
        *(key.text for key in bounded.keys),
        *(text for text, _ in bounded.order),
        *bounded.columns,
    ]
    texts += [*(test for test in bounded.tests.values() if test is not None), *(one.test for one in bounded.induced)]
    columns = ", ".join(f"{text} AS `__cep_t{i}`" for i, text in enumerate(texts))
    try:
        bounded.relation.describe(bounded.relation.scope(f"SELECT {columns} FROM {bounded.bounded}"))
    except PySparkException:
        return False
    return True


def _comparisons(bound: BoundEventPattern) -> Iterator[_Comparison]:
    """Those of WHERE that the rule can read, each as a sum against 0."""
    for predicate in bound.conditions:
        if not _holds_for_all(predicate.condition, bound):
            continue
        for operator, left, right in _parts(predicate.condition):
            leaves = [*_leaves(left, 1, bound), *_leaves(right, -1, bound)]
            known = [leaf for leaf in leaves if leaf is not None]
            if len(known) == len(leaves):
                plain = not any(isinstance(side, Call) for side in (left, right)) and not any(
                    one.addend for one in known
                )
                yield _summed(known, operator, plain, predicate.text, bound)


def _holds_for_all(condition: Expression, bound: BoundEventPattern) -> bool:
    """Whether a part of the condition must hold where the whole must. Not with ``b[i-1]``, where the first element is not tested at all, nor with a
    negated event, of which a part alone forbids more than the whole."""
    positive = {element.variable for element in elements(bound.pattern, negated=False)}
    return all(
        term.variable in positive
        and (isinstance(term, ColumnOf) or (isinstance(term, ElementOf) and term.place == "each"))
        for term in terms(condition)
    )


def _parts(condition: Expression) -> Iterator[tuple[str, Expression, Expression]]:
    """The comparisons that a condition consists of (BETWEEN, =: two), as the left side > or >= the right one."""
    if not isinstance(condition, Call):
        return
    if condition.operator == "and":
        for part in condition.arguments:
            yield from _parts(part)
    elif condition.operator in ("gt", "ge", "lt", "le", "eq"):
        left, right = condition.arguments
        operator = ">" if condition.operator in ("gt", "lt") else ">="
        if condition.operator in ("gt", "ge", "eq"):
            yield operator, left, right
        if condition.operator in ("lt", "le", "eq"):
            yield operator, right, left


def _leaves(node: Expression, sign: int, bound: BoundEventPattern) -> Iterator[_Leaf | None]:
    """The values that a side adds up; None among them: something else."""
    if isinstance(node, Call) and node.operator in ("add", "sub"):
        left, right = node.arguments
        yield from _leaves(left, sign, bound)
        yield from _leaves(right, sign if node.operator == "add" else -sign, bound)
    elif any(one.name == getattr(node, "column", None) for one in bound.instants):
        yield None
    elif isinstance(node, ColumnOf) or (isinstance(node, ElementOf) and node.place == "each"):
        made = {name: text for text, name in bound.columns.items()}
        total = next((one for one in bound.sums if one.name == node.column), None)
        column = node.column if total is None else total.column
        yield _Leaf(
            sign,
            node.variable,
            made.get(column, quoted(column)),
            None if column in made else column,
            0 if total is None else total.addend,
        )
    else:
        yield None


def _are_whole(leaves: tuple[_Leaf, ...], bound: BoundEventPattern) -> bool:
    """Whether the values are integers, and their sums an error where they overflow."""
    kinds = [bound.relation.schema[leaf.column].dataType for leaf in leaves if leaf.column is not None]
    kinds += bound.relation.types_of([(leaf.text, Span(0, 0)) for leaf in leaves if leaf.column is None])
    return all(isinstance(kind, IntegralType) for kind in kinds) and bound.relation.is_ansi()


def _summed(leaves: list[_Leaf], operator: str, plain: bool, text: str, bound: BoundEventPattern) -> _Comparison:
    """With the constants apart from the values, which also come as columns of some event."""
    numbers = [None if plain or leaf.column else _number(leaf, bound) for leaf in leaves]
    constant = sum(leaf.sign * (leaf.addend + (number or 0)) for leaf, number in zip(leaves, numbers, strict=True))
    values = tuple(leaf for leaf, number in zip(leaves, numbers, strict=True) if number is None)
    return _Comparison(values, constant, operator, plain, text)


def _number(leaf: _Leaf, bound: BoundEventPattern) -> int | None:
    found = _WHOLE.fullmatch(unguarded(leaf.text, bound.tests[leaf.variable]))
    return int(found[1]) if found is not None else None


def _may_exclude(comparison: _Comparison, bound: BoundEventPattern) -> bool:
    """Whether the bounds are likely to exclude events: ``b.x > a.x`` does not, unless a condition of its own bounds one of them."""
    apart = comparison.constant < 0 or all(leaf.sign < 0 for leaf in comparison.leaves)
    return (apart and not comparison.plain) or any(_is_selected(leaf, bound) for leaf in comparison.leaves)


def _is_selected(leaf: _Leaf, bound: BoundEventPattern) -> bool:
    """Whether a condition on the variable's event alone reads the column."""
    test = bound.tests[leaf.variable] or ""
    return leaf.column is not None and re.search(rf"\b{re.escape(leaf.column)}\b", test, re.I) is not None


def _induced(comparison: _Comparison, bound: BoundEventPattern, limits: dict[str, str]) -> Iterator[Induced]:
    """For each variable: what its event must be, given the extremes of the others, which are added to ``limits`` (SQL over all events → column).
    NULL says nothing: no value, or a sum beyond BIGINT."""
    positive = {element.variable for element in elements(bound.pattern, negated=False)}
    sure = always_taken(bound.pattern, closures=True)
    for variable in dict.fromkeys(leaf.variable for leaf in comparison.leaves):
        own = [leaf for leaf in comparison.leaves if leaf.variable == variable]
        others = [leaf for leaf in comparison.leaves if leaf.variable != variable]
        if variable not in positive or not others or not sure.issuperset(leaf.variable for leaf in others):
            continue
        turned = all(leaf.sign < 0 for leaf in own)
        value = _total([(leaf.sign * (-1 if turned else 1), _value(leaf, comparison)) for leaf in own], 0)
        extremes = [(leaf.sign * (1 if turned else -1), _extreme(leaf, comparison, bound)) for leaf in others]
        bounds = _total(extremes, comparison.constant * (1 if turned else -1))
        operator = _TURNED[comparison.operator] if turned else comparison.operator
        limit = limits.setdefault(bounds, f"`__cep_b{len(limits)}`")
        yield Induced(variable, f"COALESCE({value} {operator} {limit}, TRUE)", comparison.text)


def _value(leaf: _Leaf, comparison: _Comparison) -> str:
    return leaf.text if comparison.plain else f"CAST({leaf.text} AS BIGINT)"


def _extreme(leaf: _Leaf, comparison: _Comparison, bound: BoundEventPattern) -> str:
    """What adds most to the left side among the events that the leaf's variable can take."""
    value, test = _value(leaf, comparison), bound.tests[leaf.variable]
    candidates = value if test is None else f"CASE WHEN {test} THEN {value} END"
    return f"{'MAX' if leaf.sign > 0 else 'MIN'}({candidates})"


def _total(terms: list[tuple[int, str]], constant: int) -> str:
    """The terms with their signs, and the constant, added up."""
    if len(terms) == 1 and terms[0][0] > 0 and not constant:
        return terms[0][1]
    total = f"{constant}L"
    for sign, text in terms:
        total = f"{'TRY_ADD' if sign > 0 else 'TRY_SUBTRACT'}({total}, {text})"
    return total
