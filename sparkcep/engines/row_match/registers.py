"""What a search remembers of the rows it has mapped so far: the registers that match-dependent conditions read.

In: the DEFINE conditions of a RowPatternSpec. Out: a ``Layout``: words of 64 bits, which variables change them, and,
for each navigation leaf, where its row stands. No types and no values here: see ``bytecode`` and ``values``.

Two kinds of registers. *Slots* hold row numbers: the last k (or first k) rows mapped to a set of variables. They are
read as they were before the row under test, which is why ``LAST(A.x, 1)`` in A's own condition needs only one slot.
*Totals* hold running aggregates; they are read with the row under test already counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Call, SparkFunction
from sparkcep.spec.row import Aggregate, ClassifierAt, ColumnAt, Condition, Define, Navigation, leaves

Members = frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a navigated row stands: the row under test (``word`` None), or slot ``word`` + ``index``; if that slot
    is the next to be filled and ``or_current``, the row under test."""

    word: int | None = None
    index: int = 0
    or_current: bool = False


@dataclass(frozen=True, slots=True)
class Slots:
    """The ``size`` last (or first) rows mapped to ``members``, nearest first, in words from ``word`` on.

    ``reads``: (index of the slot, leaf) for every navigation leaf that reads one.
    """

    members: Members
    last: bool
    size: int
    word: int
    reads: tuple[tuple[int, ColumnAt | ClassifierAt], ...]


@dataclass(frozen=True, slots=True)
class Total:
    """A running aggregate over rows mapped to ``members``, in three words from ``word`` on (COUNT and ARRAY_AGG: one)."""

    source: Aggregate
    members: Members
    word: int

    @property
    def size(self) -> int:
        """How many words it takes."""
        return 1 if self.source.function in ("count", "array_agg") else 3


@dataclass(frozen=True, slots=True)
class Layout:
    """All registers. ``places``: where a leaf of a variable's condition finds its row."""

    variables: tuple[str, ...]
    slots: tuple[Slots, ...]
    totals: tuple[Total, ...]
    words: int
    places: dict[tuple[str, Navigation], Place]

    def total(self, source: Aggregate) -> int:
        """The number of the total that ``source`` reads."""
        wanted = (_members(source.variables, self.variables), _plain(source))
        return next(i for i, total in enumerate(self.totals) if (total.members, _plain(total.source)) == wanted)


def functions(condition: Condition) -> Iterator[SparkFunction]:
    """The parts of a condition that take the slow path, left to right."""
    if isinstance(condition, SparkFunction):
        yield condition
    elif isinstance(condition, Call):
        for argument in condition.arguments:
            yield from functions(argument)


def lay_out(variables: tuple[str, ...], defines: tuple[Define, ...]) -> Layout:
    """The registers of ``defines``. Raises CepUnsupportedError for DISTINCT and offsets of thousands."""
    found: dict[tuple[Members, bool], list[tuple[int, ColumnAt | ClassifierAt]]] = {}
    wanted: list[tuple[str, Navigation, tuple[Members, bool] | None, int, bool]] = []
    sources: dict[tuple[Members, Aggregate], Aggregate] = {}
    for define in defines:
        for leaf in leaves(define.condition):
            if isinstance(leaf, Aggregate):
                _check_aggregate(leaf, define)
                sources.setdefault((_members(leaf.variables, variables), _plain(leaf)), leaf)
            elif isinstance(leaf, ColumnAt | ClassifierAt):
                wanted.append(_wanted(define, leaf, variables, found))
    slots, word = _slots(found)
    totals = []
    for (members, _), source in sources.items():
        totals.append(Total(source, members, word))
        word += totals[-1].size
    words_of = {(group.members, group.last): group.word for group in slots}
    places = {
        (variable, at): Place() if key is None else Place(words_of[key], index, or_current)
        for variable, at, key, index, or_current in wanted
    }
    return Layout(variables, slots, tuple(totals), word, places)


def _wanted(
    define: Define,
    leaf: ColumnAt | ClassifierAt,
    variables: tuple[str, ...],
    found: dict[tuple[Members, bool], list[tuple[int, ColumnAt | ClassifierAt]]],
) -> tuple[str, Navigation, tuple[Members, bool] | None, int, bool]:
    """Notes the slot that ``leaf`` reads in ``found``; where that slot is, before words are numbered."""
    at = leaf.at
    members = _members(at.variables, variables)
    own = define.variable in members
    if at.last and own and at.logical == 0:
        return define.variable, at, None, 0, False
    index = at.logical - (own and at.last)
    found.setdefault((members, at.last), []).append((index, leaf))
    return define.variable, at, (members, at.last), index, own and not at.last


def _slots(
    found: dict[tuple[Members, bool], list[tuple[int, ColumnAt | ClassifierAt]]],
) -> tuple[tuple[Slots, ...], int]:
    groups, word = [], 0
    for (members, last), reads in found.items():
        size = 1 + max(index for index, _ in reads)
        groups.append(Slots(members, last, size, word, tuple(dict.fromkeys(reads))))
        word += size
    return tuple(groups), word


def _members(named: tuple[str, ...] | None, variables: tuple[str, ...]) -> Members:
    return frozenset(variables if named is None else named)


def _plain(source: Aggregate) -> Aggregate:
    return Aggregate(source.function, source.column, filter=source.filter)


def _check_aggregate(source: Aggregate, define: Define) -> None:
    if not source.distinct or source.function in ("min", "max"):
        return
    raise CepUnsupportedError(
        f"{source.function.upper()}(DISTINCT …) in the condition of {define.variable}",
        code="DEFINE_AGGREGATE",
        hint="DEFINE conditions have COUNT, SUM, AVG, MIN and MAX, without DISTINCT",
    )
