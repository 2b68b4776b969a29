"""Kleene closures, a set at a time: the value of a Kleene variable in a set of partial matches.

In: the events that closures take one after another. Out: ``Closures``, a column of a ``Frame`` beside the plain columns of single events. No
conditions or event attributes are involved.

Closures of size k share their first k - 1 elements with the closures they were grown from (SASE+'s shared match
buffer, section 4.3 of "Efficient Pattern Matching over Event Streams"): each costs two integers, whatever its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.spec.expression import ElementOf, Term

Rows = IntArray | BoolArray
"""The index to gather a column by: positions, or a mask."""


class Closures:
    """One closure per partial match, all of one ``size``: ``last`` appended to closure ``parents`` of ``shorter``.

    ``first``/``last``: candidate numbers. ``totals``: aggregates over the closures, kept because longer closures build
    on them (see ``totals``).
    """

    __slots__ = ("first", "last", "parents", "shorter", "size", "totals")

    def __init__(self, last: IntArray, shorter: Closures | None = None, parents: IntArray | None = None) -> None:
        self.last = last
        self.shorter = shorter
        self.parents = parents
        self.size: int = 1 if shorter is None else shorter.size + 1
        self.first: IntArray = last if shorter is None else shorter.first[parents]
        self.totals: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.last)

    def __getitem__(self, rows: Rows) -> Closures:
        parents = None if self.parents is None else self.parents[rows]
        return Closures(self.last[rows], self.shorter, parents)

    def before(self) -> Closures:
        """Each closure without its last element. Closures of size one have no predecessor."""
        assert self.shorter is not None and self.parents is not None
        return self.shorter[self.parents]

    def prefixes(self) -> list[Closures]:
        """``b[..1]`` to ``b[..size]``."""
        found = [self]
        while found[-1].size > 1:
            found.append(found[-1].before())
        return found[::-1]

    def elements(self) -> IntArray:
        """The candidates in order, one row per closure."""
        found = np.empty((len(self), self.size), dtype=np.int64)
        node, rows = self, np.arange(len(self))
        for place in range(self.size - 1, -1, -1):
            found[:, place] = node.last[rows]
            parents = node.parents
            if node.shorter is not None and parents is not None:
                node, rows = node.shorter, parents[rows]
        return found

    def lacks(self, rows: IntArray) -> BoolArray:
        """Whether candidate ``rows[i]`` is not an element of closure i."""
        absent = self.last != rows
        node, at = self, np.arange(len(self))
        while node.shorter is not None and (parents := node.parents) is not None:
            node, at = node.shorter, parents[at]
            absent &= node.last[at] != rows
        return absent


Column = IntArray | Closures
Frame = dict[str, Column]
"""Partial matches: candidate numbers or closures by bound variable, all with one entry per partial match."""


def length(frame: Frame) -> int:
    """The number of partial matches; the empty frame is one partial match that has bound nothing."""
    return len(next(iter(frame.values()))) if frame else 1


def gathered(frame: Frame, rows: Rows) -> Frame:
    """The partial matches at ``rows``."""
    return {name: column[rows] for name, column in frame.items()}


def first_of(column: Column) -> IntArray:
    """The earliest event of each value."""
    return column.first if isinstance(column, Closures) else column


def last_of(column: Column) -> IntArray:
    """The latest event of each value."""
    return column.last if isinstance(column, Closures) else column


def lacks(column: Column, rows: IntArray) -> BoolArray:
    """Where the value does not contain ``rows``."""
    if isinstance(column, Closures):
        return column.lacks(rows)
    different: npt.NDArray[np.bool_] = column != rows
    return different


def earliest(frame: Frame, variables: Sequence[str]) -> IntArray:
    """The first of the candidates that ``variables`` took, per partial match."""
    return reduce(np.minimum, (first_of(frame[name]) for name in variables))


def latest(frame: Frame, variables: Sequence[str]) -> IntArray:
    """The last of the candidates that ``variables`` took, per partial match."""
    return reduce(np.maximum, (last_of(frame[name]) for name in variables))


def rows_of(frame: Frame, term: Term) -> IntArray:
    """The event that an equality's bound term looks at.

    For an element still to be taken, ``b[i-1]`` is the last one taken; ``b[i]`` occurs only where all elements are equal, so any of them will do.
    """
    column = frame[term.variable]
    back = isinstance(term, ElementOf) and term.place in ("previous", "last")
    return last_of(column) if back else first_of(column)
