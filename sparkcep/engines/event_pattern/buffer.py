"""Input buffers: the candidates of one variable, searchable by order and by equality (paper, section 3).

In: the candidates a variable can take, and the equalities that bind it to other variables. Out: for every partial match
the range of buffer slots to take, and the expansion of such ranges in bounded chunks. Other predicates are not looked
at here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sparkcep.engines.event_pattern.closures import Frame
from sparkcep.engines.event_pattern.equality import Keys, Part, agree, keys, needles
from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray
from sparkcep.engines.event_pattern.plan import Equality
from sparkcep.engines.event_pattern.values import Payload


@dataclass(frozen=True, slots=True)
class OrderedBuffer:
    """``rows``: candidates in order. ``slots[p]``: how many of them lie before candidate p, so a search is a
    look-up."""

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
    """``rows``: candidates in (equality code, order) order; ``codes``: ``code * width + row``, ascending.

    So an equality and a range of candidates are two binary searches.
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


def fill(
    events: Events,
    payload: Payload,
    index: int,
    equalities: Sequence[Equality],
    same: Sequence[tuple[str, str]] = (),
) -> InputBuffer:
    """The candidates that ``variables[index]`` can take, searchable by ``equalities``; ``same``: columns of the event
    that must be equal."""
    taken = events.taken_by(index)
    for columns in same:
        taken = taken & agree(payload, columns)
    wanted = keys(payload, equalities, len(events))
    return _ordered(taken) if wanted is None else _keyed(taken, wanted)


@dataclass(frozen=True, slots=True)
class Expansion:
    """One chunk of (partial match, event) pairs: the partial match's index and the event's candidate number."""

    parents: IntArray
    rows: IntArray


def expansions(buffer: InputBuffer, begin: IntArray, end: IntArray, chunk: int) -> Iterator[Expansion]:
    """All pairs of a partial match i and a row in slots ``[begin[i], end[i])``, ``chunk`` pairs at a time.

    Chunks are made when asked for. They follow the partial matches' order, then the slots', so the pairs and their
    order do not depend on ``chunk``; one range may span several chunks.
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
    """Candidates with a NULL equal nothing and are left out. Codes fit int64 (see ``equality.CODE_LIMIT``)."""
    rows = np.flatnonzero(taken & (wanted.own >= 0))
    width = len(taken) + 1
    codes = np.sort(wanted.own[rows] * width + rows)
    return KeyedBuffer(codes % width, codes, width, wanted)
