"""Conditions between neighbouring events of a closure: those that A-Seq supports.

In: predicates of a MATCH PATTERN clause. Out: ``Linked``: comparisons of ``b[i]`` with ``b[i-1]``, and other conditions on these two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import Call, ElementOf, Expression, looks_back, slow_parts, terms

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge")
_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
MAX_COMPARISONS = 62


@dataclass(frozen=True, slots=True)
class Comparison:
    """``variable[i].each operator variable[i-1].previous``."""

    variable: str
    operator: str
    each: str
    previous: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Conditions that hold between any two neighbours of a closure; ``others`` by variable."""

    comparisons: tuple[Comparison, ...] = ()
    others: tuple[tuple[str, Predicate], ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """The closures with conditions."""
        return frozenset([one.variable for one in self.comparisons] + [variable for variable, _ in self.others])

    def of(self, variables: Collection[str]) -> Linked:
        """The conditions on these closures."""
        return Linked(
            tuple(one for one in self.comparisons if one.variable in variables),
            tuple(one for one in self.others if one[0] in variables),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the conditions read, each once."""
        compared = [name for one in self.comparisons for name in (one.each, one.previous)]
        read = [term.column for _, one in self.others for term in terms(one.condition) if isinstance(term, ElementOf)]
        return tuple(dict.fromkeys(compared + read))


def linked(predicates: tuple[Predicate, ...]) -> Linked:
    """``predicates`` as conditions between neighbours. Raises CepUnsupportedError for any other predicate."""
    compared: list[Comparison] = []
    others: list[tuple[str, Predicate]] = []
    for predicate in predicates:
        parts = list(_compared(predicate.condition))
        if None not in parts:
            compared += [part for part in parts if part is not None]
            continue
        variable = _closure(predicate.condition)
        if variable is None:
            raise CepUnsupportedError(f"{predicate.text} compares events, and A-Seq keeps none", code="ASEQ_PREDICATE")
        others.append((variable, predicate))
    if len(compared) + len(others) > MAX_COMPARISONS:
        raise CepUnsupportedError(f"more than {MAX_COMPARISONS} comparisons of neighbours", code="ASEQ_PREDICATE")
    return Linked(tuple(compared), tuple(others))


def _closure(condition: Expression) -> str | None:
    """The variable of a condition that reads only an event of a closure and its predecessor, without slow functions; else None."""
    found = terms(condition)
    if slow_parts(condition) or not all(isinstance(t, ElementOf) and t.place in ("each", "previous") for t in found):
        return None
    names = {term.variable for term in found}
    return names.pop() if len(names) == 1 and any(looks_back(term) for term in found) else None


def _compared(condition: Expression) -> Iterator[Comparison | None]:
    if not isinstance(condition, Call):
        yield None
    elif condition.operator == "and":
        for part in condition.arguments:
            yield from _compared(part)
    else:
        yield _comparison(condition)


def _comparison(condition: Call) -> Comparison | None:
    if condition.operator not in OPERATORS:
        return None
    one, other = condition.arguments
    if not isinstance(one, ElementOf) or not isinstance(other, ElementOf) or one.variable != other.variable:
        return None
    if (one.place, other.place) == ("each", "previous"):
        return Comparison(one.variable, condition.operator, one.column, other.column)
    if (one.place, other.place) == ("previous", "each"):
        return Comparison(one.variable, _FLIPPED[condition.operator], other.column, one.column)
    return None
