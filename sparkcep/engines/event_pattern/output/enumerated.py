"""Matches that were made one by one → for each last event the part of a match buffer that holds them.

In: ``Matches`` in any order. Out: ``Parts`` with the same matches, equal ends of matches shared: what COMPRESSED MATCHES gives where no
search leaves a buffer behind (skip till any match; several automata; matches struck out by a negated event).

A match is a word, its last event first. The words with one last event are put into a trie; nodes of it with the same word before them and
the same words behind are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sparkcep.engines.event_pattern.output.output import Lists, Matches
from sparkcep.engines.event_pattern.output.parts import NOTHING, UNION, Parts
from sparkcep.errors import CepLimitError

MOST_STEPS = 1 << 24
"""Nodes of all tries: about 4 GB."""


@dataclass(slots=True)
class _Trie:
    """Node 0 is the root. ``steps``: row * variables + variable of each node; ``ends``: whether a match starts there."""

    steps: list[int] = field(default_factory=lambda: [NOTHING])
    children: list[dict[int, int]] = field(default_factory=lambda: [{}])
    ends: list[bool] = field(default_factory=lambda: [False])

    def add(self, word: list[int]) -> int:
        """Adds a match, its last step first; the number of new nodes."""
        at, before = 0, len(self.steps)
        for step in word:
            found = self.children[at].get(step)
            if found is None:
                found = self.children[at][step] = len(self.steps)
                self.steps.append(step)
                self.children.append({})
                self.ends.append(False)
            at = found
        self.ends[at] = True
        return len(self.steps) - before


@dataclass(slots=True)
class _Buffer:
    """One part: per node its step (UNION: none), and the nodes before it."""

    steps: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    previous: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)

    def node(self, component: int, row: int, previous: int, other: int = NOTHING) -> int:
        """A new node's number."""
        self.steps.append(component)
        self.rows.append(row)
        self.previous.append(previous)
        self.others.append(other)
        return len(self.steps) - 1

    def either(self, nodes: Sequence[int]) -> int:
        """A node for all of ``nodes``."""
        found = nodes[0]
        for node in nodes[1:]:
            found = self.node(UNION, self.rows[found], found, node)
        return found


def parts(matches: Iterable[Matches], variables: Sequence[str]) -> Iterator[Parts]:
    """The parts of all last events, in their order; components are numbers in ``variables``. Raises CepLimitError past MOST_STEPS."""
    tries: dict[int, _Trie] = {}
    total = 0
    for part in matches:
        for word in _words(part, variables):
            total += tries.setdefault(word[0] // len(variables), _Trie()).add(word)
            if total > MOST_STEPS:
                raise CepLimitError(
                    f"COMPRESSED MATCHES of this clause need more than {MOST_STEPS} events of partial matches.",
                    code="MATCH_BUFFER",
                    hint="add or shorten WITHIN, or add conditions that fewer events satisfy",
                )
    for last in sorted(tries):
        yield _part(last, _shared(tries.pop(last), len(variables)))


def _words(part: Matches, variables: Sequence[str]) -> Iterator[list[int]]:
    """Each match as its steps, the last first; behind them those of closures that took no event, as if at row -1."""
    width = len(variables)
    steps = [[[variables.index(name) - width]] * len(part) for name in part.absent]
    for name, column in part.taken.items():
        number = variables.index(name)
        if isinstance(column, Lists):
            taken = np.split(column.rows.astype(np.int64) * width + number, np.cumsum(column.sizes)[:-1])
            steps.append([events.tolist() for events in taken])
        else:
            steps.append([[step] for step in (column.astype(np.int64) * width + number).tolist()])
    for events in zip(*steps, strict=True):
        yield sorted((step for each in events for step in each), reverse=True)


def _shared(trie: _Trie, width: int) -> _Buffer:
    """Children come behind their parents in a trie, so its nodes are taken from the last to the first."""
    buffer = _Buffer()
    known: dict[tuple[int, bool, tuple[int, ...]], int] = {}
    entry = [NOTHING] * len(trie.steps)
    for node in range(len(trie.steps) - 1, 0, -1):
        behind = tuple(sorted(entry[child] for child in trie.children[node].values()))
        key = trie.steps[node], trie.ends[node], behind
        if key not in known:
            row, component = divmod(trie.steps[node], width)
            before = [NOTHING] * trie.ends[node] + ([buffer.either(behind)] if behind else [])
            known[key] = buffer.either([buffer.node(component, row, previous) for previous in before])
        entry[node] = known[key]
    buffer.either([entry[child] for child in trie.children[0].values()])
    return buffer


def _part(last: int, buffer: _Buffer) -> Parts:
    return Parts(
        np.array([last], np.int32),
        np.array([len(buffer.steps)], np.int32),
        np.array(buffer.steps, np.int8),
        np.array(buffer.rows, np.int32),
        np.array(buffer.previous, np.int32),
        np.array(buffer.others, np.int32),
    )
