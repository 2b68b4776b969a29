"""A pattern in disjunctive normal form: the chains of a Lazy Multi-Chain NFA (paper, section 5.2).

In: the pattern tree. Out: branches, each a set of variables under a partial order, with what must be absent. Every
variable of a branch takes events: ``?`` and ``*`` become two branches, with and without (taking no event "is a match of its own"). No predicate, data
or array is involved here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod

from sparkcep.errors import CepAnalysisError, CepLimitError
from sparkcep.pattern.event import Element, EventItem, EventPattern, Not, Or, Seq

MAX_BRANCHES = 1024
"""The most branches of one pattern: AND and SEQ multiply the alternatives of the ORs below them."""


@dataclass(frozen=True, slots=True)
class Negation:
    """No event of ``variable`` after all of ``before`` and before all of ``after``.

    An empty side is bounded by WITHIN: from ``match_end - W``, up to ``match_start + W``. With a ``group``, no match of the group (which respects its
    own negations) lies inside that interval; ``variable`` is then its first variable.
    """

    variable: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    group: Branch | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """Positive ``variables`` in pattern order; ``(x, y)`` in ``precedes``: x strictly precedes y (transitively closed).

    For closures: all events of x before all events of y. A match stands if all negations of at least one of
    ``alternatives`` hold; ``((),)`` means no condition. ``closures``: the Kleene variables among ``variables`` (at
    least one event each). ``absent``: Kleene variables that took no event.
    """

    variables: tuple[str, ...]
    precedes: frozenset[tuple[str, str]]
    alternatives: tuple[tuple[Negation, ...], ...]
    closures: tuple[Element, ...] = ()
    absent: tuple[str, ...] = ()

    def closure(self, variable: str) -> Element | None:
        """The element of a Kleene variable, None for a single event."""
        return next((element for element in self.closures if element.variable == variable), None)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the normal form. ``skips``: some optional element in it took no event."""

    variables: tuple[str, ...] = ()
    precedes: frozenset[tuple[str, str]] = frozenset()
    negations: tuple[Negation, ...] = ()
    closures: tuple[Element, ...] = ()
    absent: tuple[str, ...] = ()
    skips: bool = False


def branches(pattern: EventPattern) -> tuple[Branch, ...]:
    """The branches of ``pattern``, in the order of its ORs; no two bind the same variables.

    A variable occurs once in a pattern, so two parts of the normal form that bind the same variables can differ only in ORs between negated or absent
    items: their orders are equal, and a match found through both is one match. They are merged into one branch with alternative negations, so that no
    result needs deduplication. A branch that consists of optional elements only, none of which takes an event, is no match and is left out.

    Raises CepAnalysisError if a branch has only negated events, CepLimitError past ``MAX_BRANCHES``.
    """
    grouped: dict[frozenset[str], list[_Part]] = {}
    for part in _parts(pattern):
        if not part.variables and part.skips:
            continue
        if not part.variables:
            raise CepAnalysisError(
                f"{pattern} can match without taking any event.",
                code="NO_POSITIVE_EVENT",
                span=pattern.span,
                hint="Give every branch of the pattern at least one event that is not negated.",
            )
        grouped.setdefault(frozenset(part.variables), []).append(part)
    return tuple(_branch(parts) for parts in grouped.values())


def extremes(variables: Iterable[str], precedes: frozenset[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The minimal and the maximal elements of ``variables`` under the partial order: those that may come first, and last."""
    names = tuple(variables)
    first = tuple(name for name in names if not any((other, name) in precedes for other in names))
    last = tuple(name for name in names if not any((name, other) in precedes for other in names))
    return first, last


def _branch(parts: list[_Part]) -> Branch:
    alternatives = tuple(dict.fromkeys(part.negations for part in parts))
    if () in alternatives:
        alternatives = ((),)
    absent = tuple(dict.fromkeys(name for part in parts for name in part.absent))
    return Branch(parts[0].variables, parts[0].precedes, alternatives, parts[0].closures, absent)


def _parts(node: EventItem) -> list[_Part]:
    if isinstance(node, Element):
        return _readings(node)
    if isinstance(node, Not):
        return [_Part(negations=_negated(node.item))]
    if isinstance(node, Or):
        parts = [part for item in node.items for part in _parts(item)]
        _check_count(len(parts))
        return parts
    choices = [_parts(item) for item in node.items]
    _check_count(prod(len(choice) for choice in choices))
    join = _sequence if isinstance(node, Seq) else _conjunction
    return [join(chosen) for chosen in product(*choices)]


def _readings(element: Element) -> list[_Part]:
    """The element with events and, if it is optional, without."""
    taken = replace(element, low=max(element.low, 1))
    parts = [] if element.high == 0 else [_Part((element.variable,), closures=(taken,) if element.kleene else ())]
    if element.low == 0:
        parts.append(_Part(absent=(element.variable,) if element.kleene else (), skips=True))
    return parts


def _negated(item: EventPattern) -> tuple[Negation, ...]:
    """What may not occur: NOT (x OR y) is NOT x and NOT y over the same interval. An empty match of the item does not count as an occurrence."""
    parts = [part for part in _parts(item) if part.variables]
    return tuple(Negation(part.variables[0], group=None if _is_event(part) else _branch([part])) for part in parts)


def has_open_ends(item: EventPattern) -> bool:
    """Whether, in some reading of ``item``, a NOT inside it is not enclosed by two of its events."""
    parts = [part for part in _parts(item) if part.negations]
    return any(not part.variables or any(not (n.before and n.after) for n in part.negations) for part in parts)


def _is_event(part: _Part) -> bool:
    """Whether the part takes exactly one event."""
    return len(part.variables) == 1 and not part.closures


def _conjunction(parts: tuple[_Part, ...]) -> _Part:
    return _Part(
        tuple(name for part in parts for name in part.variables),
        frozenset().union(*(part.precedes for part in parts)),
        tuple(negation for part in parts for negation in part.negations),
        tuple(element for part in parts for element in part.closures),
        tuple(name for part in parts for name in part.absent),
        any(part.skips for part in parts),
    )


def _sequence(parts: tuple[_Part, ...]) -> _Part:
    joined = _conjunction(parts)
    ordered = {(x, y) for left, right in combinations(parts, 2) for x in left.variables for y in right.variables}
    negations = []
    for position, part in enumerate(parts):
        before = tuple(name for earlier in parts[:position] for name in earlier.variables)
        after = tuple(name for later in parts[position + 1 :] for name in later.variables)
        negations += [replace(n, before=before + n.before, after=n.after + after) for n in part.negations]
    return replace(joined, precedes=joined.precedes | ordered, negations=tuple(negations))


def _check_count(count: int) -> None:
    if count > MAX_BRANCHES:
        raise CepLimitError(
            f"The pattern has {count} branches, more than {MAX_BRANCHES}.",
            code="BRANCHES",
            hint="Write fewer OR alternatives inside one SEQ or AND, or several queries with UNION ALL.",
        )
