"""Input buffers: the candidates of one variable, searchable by order and by equality (paper, section 3).

In: the candidates a variable can take, and the equalities that bind it to other variables. Out: for every partial match the range of buffer slots to
take, and the expansion of such ranges in bounded chunks. Other predicates are not evaluated here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sparkcep.engines.event_pattern.candidates.equality import Keys, Part, agree, keys, needles
from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray
from sparkcep.engines.event_pattern.planner.plan import Equality
from sparkcep.engines.event_pattern.values.closures import Frame
from sparkcep.engines.event_pattern.values.values import Payload


@dataclass(frozen=True, slots=True)
class OrderedBuffer:
    """``rows``: candidates in order. ``slots[p]``: how many of them lie before candidate p, so that a search is a lookup."""

    rows: IntArray
    slots: IntArray

    @property
    def compared(self) -> tuple[Part, ...]:
        """Equalities that a found row may still fail."""
        return ()

    def ranges(self, low: IntArray, high: IntArray, frame: Frame) -> tuple[IntArray, IntArray]:
        """Slots ``[begin, end)`` of the rows in ``[low, high)``, per partial match of ``frame``."""
        return self.slots[low], self.slots[high]


@dataclass(frozen=True, slots=True)
class KeyedBuffer:
    """``rows``: candidates sorted by (equality code, order); ``codes``: ``code * width + row``, ascending.

    An equality combined with a range of candidates thus takes two binary searches.
    """

    rows: IntArray
    codes: IntArray
    width: int
    keys: Keys

    @property
    def compared(self) -> tuple[Part, ...]:
        """Equalities that a found row may still fail."""
        return self.keys.compared

    def ranges(self, low: IntArray, high: IntArray, frame: Frame) -> tuple[IntArray, IntArray]:
        """Slots ``[begin, end)`` of the rows in ``[low, high)`` that are equal, per partial match; none for a NULL."""
        wanted = needles(self.keys, frame)
        begin = np.searchsorted(self.codes, wanted * self.width + low)
        end = np.searchsorted(self.codes, wanted * self.width + high)
        return begin, np.where(wanted < 0, begin, end)


InputBuffer = OrderedBuffer | KeyedBuffer

Same = tuple[tuple[str, str], ...]
"""Pairs of columns of one event that must be equal."""


@dataclass(slots=True)
class Buffers:
    """The input buffers of one run, each filled on first use. ``searched``: how many equalities a buffer is searched by (None: as many as fit); the
    rest are compared pair by pair."""

    events: Events
    payload: Payload
    searched: int | None = None
    _taken: dict[tuple[int, Same], BoolArray] = field(default_factory=dict)
    _ordered: dict[tuple[int, Same], OrderedBuffer] = field(default_factory=dict)
    _keyed: dict[tuple[int, Same, tuple[tuple[str, str], ...]], KeyedBuffer] = field(default_factory=dict)

    def fill(self, index: int, equalities: Sequence[Equality] = (), same: Same = ()) -> InputBuffer:
        """The candidates that ``variables[index]`` can take, searchable by ``equalities``; ``same``: columns of the event
        that must be equal."""
        wanted = keys(self.payload, equalities, len(self.events), self.searched)
        if wanted is None:
            if (index, same) not in self._ordered:
                self._ordered[index, same] = _ordered(self._candidates(index, same))
            return self._ordered[index, same]
        columns = (index, same, tuple((column, term.column) for column, term in equalities))
        if columns not in self._keyed:
            self._keyed[columns] = _keyed(self._candidates(index, same), wanted)
        return replace(self._keyed[columns], keys=wanted)

    def _candidates(self, index: int, same: Same) -> BoolArray:
        if (index, same) not in self._taken:
            taken = self.events.taken_by(index)
            for columns in same:
                taken = taken & agree(self.payload, columns)
            self._taken[index, same] = taken
        return self._taken[index, same]


@dataclass(frozen=True, slots=True)
class Expansion:
    """One chunk of (partial match, event) pairs: the partial match's index and the event's candidate number."""

    parents: IntArray
    rows: IntArray


def expansions(buffer: InputBuffer, begin: IntArray, end: IntArray, chunk: int) -> Iterator[Expansion]:
    """All pairs of a partial match i and a row in slots ``[begin[i], end[i])``, ``chunk`` pairs at a time.

    Chunks are made lazily. They follow the order of the partial matches, then that of the slots, so the pairs and their order do not depend on
    ``chunk``; one range may span several chunks.
    """
    counts = np.maximum(end - begin, 0)
    ends = np.cumsum(counts)
    shift = begin - (ends - counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, chunk):
        stop = min(start + chunk, total)
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(ends, stop, side="left"))
        sizes = np.diff(np.minimum(ends[first : last + 1], stop), prepend=start)
        parents = np.repeat(np.arange(first, last + 1), sizes)
        yield Expansion(parents, buffer.rows[np.arange(start, stop) + shift[parents]])


def _ordered(taken: BoolArray) -> OrderedBuffer:
    slots = np.zeros(len(taken) + 1, dtype=np.int64)
    np.cumsum(taken, out=slots[1:])
    return OrderedBuffer(np.flatnonzero(taken), slots)


def _keyed(taken: BoolArray, wanted: Keys) -> KeyedBuffer:
    """A buffer without the candidates that have a NULL, which equal nothing. Codes fit int64 (see ``equality.CODE_LIMIT``)."""
    rows = np.flatnonzero(taken & (wanted.own >= 0))
    width = len(taken) + 1
    codes = np.sort(wanted.own[rows] * width + rows)
    return KeyedBuffer(codes % width, codes, width, wanted)
