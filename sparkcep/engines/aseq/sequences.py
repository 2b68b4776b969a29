"""A pattern as disjoint sequences of variables: what prefix counting can count.

In: the pattern tree. Out: ``Sequence``s such that every match of the pattern is a match of exactly one of them. OR gives
one sequence per branch (branches bind different variables); AND gives one per order its events may have. Imports neither
numpy nor Polars, so that a driver may ask before it ships a query.

The events of a match are distinct rows, so the table's row order puts them in exactly one sequence. Where two neighbours
of that sequence are ordered by the pattern, their ranks must differ (STRICT); where they are not, they may be concurrent
or not (EITHER), or, to keep two ordered variables around a third apart, one of the two is said (TIED or STRICT).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product

from sparkcep.engines.event_pattern.branches import Branch, Negation, branches
from sparkcep.errors import CepUnsupportedError
from sparkcep.pattern.event import Element, EventPattern, elements

STRICT, TIED, EITHER = 0, 1, 2
"""How a variable's event follows the one before it: of a later rank, of the same rank, or of either."""

MAX_LENGTH = 28
"""Variables of one sequence: their bits, and those of the negated events between them, share a 64-bit word."""

MAX_SEQUENCES = 32
"""Each sequence is a pass over the events; five variables of one AND have 120 orders."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """``variables`` in row order; ``gaps[i]`` says how ``variables[i]`` follows ``variables[i - 1]`` (``gaps[0]``: STRICT).

    ``between[i]``: variables of which no event may lie strictly between ``variables[i]`` and ``variables[i + 1]``.
    ``before``, ``behind``: of which none may lie in ``(match_end - W, match_start)``, or ``(match_end, match_start + W)``.
    """

    variables: tuple[str, ...]
    gaps: tuple[int, ...]
    between: tuple[tuple[str, ...], ...]
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()

    @property
    def open_ended(self) -> bool:
        """Whether a negated event stands first or last."""
        return bool(self.before or self.behind)


def sequences(pattern: EventPattern) -> tuple[Sequence, ...]:
    """The sequences of ``pattern``.

    Raises CepUnsupportedError for what prefix counting does not count, and what ``branches`` raises.
    """
    closure = next((element for element in elements(pattern) if (element.low, element.high) != (1, 1)), None)
    if closure is not None:
        raise _not_counted(f"{closure} takes a number of events", closure)
    found = [sequence for branch in branches(pattern) for sequence in _of_branch(branch)]
    if len(found) > MAX_SEQUENCES:
        raise _not_counted(f"its AND and OR give {len(found)} sequences, more than {MAX_SEQUENCES}")
    return tuple(found)


def _of_branch(branch: Branch) -> Iterator[Sequence]:
    if len(branch.alternatives) > 1:
        raise _not_counted("an OR of negated items")
    if len(branch.variables) > MAX_LENGTH:
        raise _not_counted(f"it has {len(branch.variables)} variables, more than {MAX_LENGTH}")
    for count, order in enumerate(_orders(branch.variables, branch.precedes)):
        if count >= MAX_SEQUENCES:
            raise _not_counted(f"its AND has more than {MAX_SEQUENCES} orders")
        for gaps in _gaps(order, branch.precedes):
            yield _with_negations(order, gaps, branch.alternatives[0])


def _orders(names: tuple[str, ...], precedes: frozenset[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """The linear extensions of the partial order."""
    if not names:
        yield ()
    for name in names:
        if not any((other, name) in precedes for other in names):
            rest = tuple(other for other in names if other != name)
            yield from ((name, *order) for order in _orders(rest, precedes))


def _gaps(order: tuple[str, ...], precedes: frozenset[tuple[str, str]]) -> Iterator[tuple[int, ...]]:
    """Ways to follow one another that keep every ordered pair apart, each match in one of them."""
    free = tuple(STRICT if pair in precedes else EITHER for pair in pairwise(order))
    if _apart(order, free, precedes):
        yield (STRICT, *free)
        return
    for gaps in product(*((STRICT,) if gap == STRICT else (STRICT, TIED) for gap in free)):
        if _apart(order, gaps, precedes):
            yield (STRICT, *gaps)


def _apart(order: tuple[str, ...], gaps: tuple[int, ...], precedes: frozenset[tuple[str, str]]) -> bool:
    """Whether between the two of every ordered pair at least one gap is STRICT."""
    return all(
        STRICT in gaps[first:second]
        for first, second in combinations(range(len(order)), 2)
        if (order[first], order[second]) in precedes
    )


def _with_negations(order: tuple[str, ...], gaps: tuple[int, ...], negations: tuple[Negation, ...]) -> Sequence:
    between: list[tuple[str, ...]] = [()] * (len(order) - 1)
    before: list[str] = []
    behind: list[str] = []
    for negation in negations:
        low = max((order.index(name) for name in negation.before), default=-1)
        high = min((order.index(name) for name in negation.after), default=len(order))
        if getattr(negation, "group", None) is not None:
            raise _not_counted("NOT of a SEQ or AND")
        if high != low + 1 or not (negation.before or negation.after):
            raise _not_counted(f"NOT {negation.variable} spans events of other parts of an AND")
        if low < 0:
            before.append(negation.variable)
        elif high == len(order):
            behind.append(negation.variable)
        else:
            between[low] += (negation.variable,)
    return Sequence(order, gaps, tuple(between), tuple(before), tuple(behind))


def _not_counted(reason: str, element: Element | None = None) -> CepUnsupportedError:
    return CepUnsupportedError(
        f"A-Seq does not count this pattern: {reason}.", code="ASEQ_PATTERN", span=element.span if element else None
    )
