"""A pattern as disjoint sequences of variables, the form that prefix counting counts.

In: the pattern tree. Out: ``Sequence``s such that every match of the pattern is a match of exactly one of them. OR gives
one sequence per branch (branches bind different variables); AND gives one per order its events may have; a closure
{n,m} one per number of events, a closure {n,} n positions of which the last takes any number of events. Imports neither numpy nor Polars, so that the
driver can check a query before it ships it.

The events of a match are distinct rows, so the table's row order puts them in exactly one sequence. Where two neighbours
of that sequence are ordered by the pattern, their ranks must differ (STRICT). Where they are not, they may tie or not (EITHER); or the gap is fixed
as TIED or STRICT, so that two ordered variables with a third between them are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Items
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

from sparkcep.engines.event_pattern.planner.branches import Branch, Negation, branches
from sparkcep.errors import CepUnsupportedError
from sparkcep.pattern.event import Element, EventPattern
from sparkcep.spec.aggregate import AggregateSpec, MatchAggregate
from sparkcep.spec.neighbours import linked

STRICT, TIED, EITHER = 0, 1, 2
"""How the rank of a variable's event compares with that of its predecessor: later, equal, or either."""

MAX_LENGTH = 28
"""Variables of one sequence: their bits, and those of the negated events between them, share a 64-bit word."""

MAX_SEQUENCES = 32
"""The cost of an event is proportional to the number of sequences; five variables of one AND have 120 orders."""

MAX_MARKED = 128
"""The most sequences with one marked event: an aggregate over the closure {1,15} has 120."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """``variables`` in row order; ``gaps[i]`` says how ``variables[i]`` follows ``variables[i - 1]`` (``gaps[0]``: STRICT).

    ``between[i]``: negated variables: none of their events may lie strictly between ``variables[i]`` and ``variables[i + 1]``.
    ``before``, ``behind``: negated variables without an event in ``(match_end - W, match_start)``, or in ``(match_end, match_start + W)``.
    ``loops``: positions (from 0) that take one or more events, strictly ordered; a variable with several positions is a closure. The gaps around a
    loop are STRICT, no negated event follows a loop, and no loop comes last beside an open end.
    """

    variables: tuple[str, ...]
    gaps: tuple[int, ...]
    between: tuple[tuple[str, ...], ...]
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    loops: frozenset[int] = frozenset()

    @property
    def open_ended(self) -> bool:
        """Whether a negated event stands first or last."""
        return bool(self.before or self.behind)


@dataclass(frozen=True, slots=True)
class Marked:
    """A sequence in which the event at ``position`` (from 1; 0: none) is singled out and weighted."""

    sequence: Sequence
    position: int = 0


def sequences(pattern: EventPattern) -> tuple[Sequence, ...]:
    """The sequences of ``pattern``.

    Raises CepUnsupportedError for what prefix counting cannot count, and whatever ``branches`` raises.
    """
    found = [sequence for branch in branches(pattern) for sequence in _of_branch(branch)]
    if len(found) > MAX_SEQUENCES:
        raise _not_counted(f"its AND, OR and closures give {len(found)} sequences, more than {MAX_SEQUENCES}")
    return tuple(found)


def marked(all_sequences: Items[Sequence], variable: str) -> tuple[Marked, ...]:
    """Every match paired with each of its events of ``variable``, exactly once.

    A loop with a marked event becomes: zero or more events, the marked event, zero or more events.
    Raises CepUnsupportedError past ``MAX_MARKED``.
    """
    found = [
        one
        for sequence in all_sequences
        for place, name in enumerate(sequence.variables)
        if name == variable
        for one in _marked_at(sequence, place)
    ]
    if len(found) > MAX_MARKED:
        raise _not_counted(f"an aggregate over {variable} has {len(found)} sequences, more than {MAX_MARKED}")
    return tuple(found)


def check(spec: AggregateSpec) -> None:
    """Raise CepUnsupportedError if prefix counting cannot count the pattern of ``spec`` or one of its aggregates."""
    names = linked(spec.neighbours).variables
    aggregated = {output.source.variable for output in spec.outputs if isinstance(output.source, MatchAggregate)}
    for pattern in [one.pattern for one in spec.patterns] or [spec.pattern]:
        found = sequences(pattern)
        _check_linked(found, names)
        for variable in aggregated - {None}:
            marked(found, str(variable))


def _check_linked(found: tuple[Sequence, ...], names: frozenset[str]) -> None:
    """Raise CepUnsupportedError where a sequence with compared neighbours has an open end or unordered events."""
    for sequence in found:
        if names.isdisjoint(sequence.variables):
            continue
        if sequence.open_ended or any(gap != STRICT for gap in sequence.gaps):
            raise CepUnsupportedError(
                "A-Seq does not count this pattern: neighbours of a closure are compared together with AND, or with a NOT that comes "
                "first or last",
                code="ASEQ_PREDICATE",
            )


def _marked_at(sequence: Sequence, place: int) -> Iterator[Marked]:
    if place not in sequence.loops:
        yield Marked(sequence, place + 1)
        return
    for before, after in product((0, 1), (0, 1)):
        extra = before + after
        loops = {at + (extra if at > place else 0) for at in sequence.loops - {place}}
        loops |= {place} if before else set()
        loops |= {place + before + 1} if after else set()
        grown = replace(
            sequence,
            variables=_repeated(sequence.variables, place, extra),
            gaps=sequence.gaps[: place + 1] + (STRICT,) * extra + sequence.gaps[place + 1 :],
            between=sequence.between[:place] + ((),) * extra + sequence.between[place:],
            loops=frozenset(loops),
        )
        yield Marked(grown, place + before + 1)


def _repeated(names: tuple[str, ...], place: int, extra: int) -> tuple[str, ...]:
    return names[:place] + (names[place],) * (extra + 1) + names[place + 1 :]


def _of_branch(branch: Branch) -> Iterator[Sequence]:
    if len(branch.alternatives) > 1:
        raise _not_counted("an OR of negated items")
    for closure in branch.closures:
        others = [name for name in branch.variables if name != closure.variable]
        if not all({(name, closure.variable), (closure.variable, name)} & branch.precedes for name in others):
            raise _not_counted(f"the events of {closure} can come in any order with others", closure)
    for count, order in enumerate(_orders(branch.variables, branch.precedes)):
        if count >= MAX_SEQUENCES:
            raise _not_counted(f"its AND has more than {MAX_SEQUENCES} orders")
        for gaps in _gaps(order, branch.precedes):
            yield from _with_closures(_with_negations(order, gaps, branch.alternatives[0]), branch.closures)


def _with_closures(sequence: Sequence, closures: Items[Element]) -> Iterator[Sequence]:
    """Each closure expanded into one or more positions."""
    if not closures:
        if len(sequence.variables) > MAX_LENGTH:
            raise _not_counted(f"it has {len(sequence.variables)} positions, more than {MAX_LENGTH}")
        yield sequence
        return
    closure, *rest = closures
    place = sequence.variables.index(closure.variable)
    last = place == len(sequence.between)
    negated_after = sequence.open_ended if last else sequence.between[place] != ()
    for count, loop in _counts(closure, negated_after=negated_after):
        shifted = {at + (count - 1 if at > place else 0) for at in sequence.loops}
        grown = replace(
            sequence,
            variables=_repeated(sequence.variables, place, count - 1),
            gaps=sequence.gaps[: place + 1] + (STRICT,) * (count - 1) + sequence.gaps[place + 1 :],
            between=sequence.between[:place] + ((),) * (count - 1) + sequence.between[place:],
            loops=frozenset(shifted | (set() if loop is None else {place + loop})),
        )
        yield from _with_closures(grown, rest)


def _counts(closure: Element, *, negated_after: bool) -> Iterator[tuple[int, int | None]]:
    """The numbers of positions, each with the position that loops.

    The event before a negated one gets a position of its own: the negation applies only after the last event of the closure.
    """
    if closure.high is not None:
        if closure.high > MAX_LENGTH:
            raise _not_counted(f"{closure} takes more than {MAX_LENGTH} events", closure)
        yield from ((count, None) for count in range(closure.low, closure.high + 1))
    elif negated_after:
        yield closure.low, None
        yield closure.low + 1, closure.low - 1
    else:
        yield closure.low, closure.low - 1


def _orders(names: tuple[str, ...], precedes: frozenset[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """The linear extensions of the partial order."""
    if not names:
        yield ()
    for name in names:
        if not any((other, name) in precedes for other in names):
            rest = tuple(other for other in names if other != name)
            yield from ((name, *order) for order in _orders(rest, precedes))


def _gaps(order: tuple[str, ...], precedes: frozenset[tuple[str, str]]) -> Iterator[tuple[int, ...]]:
    """The gap combinations that keep every ordered pair apart; each match fits exactly one of them."""
    free = tuple(STRICT if pair in precedes else EITHER for pair in pairwise(order))
    if _apart(order, free, precedes):
        yield (STRICT, *free)
        return
    for gaps in product(*((STRICT,) if gap == STRICT else (STRICT, TIED) for gap in free)):
        if _apart(order, gaps, precedes):
            yield (STRICT, *gaps)


def _apart(order: tuple[str, ...], gaps: tuple[int, ...], precedes: frozenset[tuple[str, str]]) -> bool:
    """Whether at least one gap between the members of every ordered pair is STRICT."""
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
