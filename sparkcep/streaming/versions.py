"""The versions of a named pattern that a running stream follows: from when on each of them holds.

In: changes, as rows of the table of patterns say them (``rewrites.patterns.followers``). Out: a time line of versions. All buckets of a micro-batch
are told of a change with the same watermark, so they agree on it, and a repeated micro-batch repeats it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby

Timeline = tuple[tuple[int, str], ...]
"""(since, spec as JSON), ascending; the first one holds before its time too."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version, bound: ``number`` and ``recorded`` order them, the last one that holds is in effect; ``since``: microseconds of event time."""

    number: int
    recorded: int
    since: int
    spec: str


def received(change: str, until: int) -> Version:
    """A change that a turn is told: it holds from its own time on, at the earliest from ``until``, before which all is decided."""
    told = json.loads(change)
    since = until if told.get("effective") is None else max(told["effective"], until)
    return Version(told["version"], told["recorded"], since, told["spec"])


def timeline(versions: Iterable[Version]) -> Timeline:
    """What is in effect, change by change."""
    line: list[tuple[int, str]] = []
    for since, version in _in_effect(versions):
        if not line or line[-1][1] != version.spec:
            line.append((since, version.spec))
    return tuple(line)


def needed(versions: Iterable[Version], since: int) -> tuple[Version, ...]:
    """The versions that are in effect at ``since`` or later, and those before that say the same: they are one, since the first of them."""
    line = _in_effect(versions)
    first = max((i for i, (begin, _) in enumerate(line) if begin <= since), default=0)
    while first and line[first - 1][1].spec == line[first][1].spec:
        first -= 1
    return tuple(dict.fromkeys(version for _, version in line[first:]))


def _in_effect(versions: Iterable[Version]) -> list[tuple[int, Version]]:
    """(since, the version that is then the last one that holds)."""
    found: list[tuple[int, Version]] = []
    for since, begin in groupby(sorted(versions, key=lambda one: one.since), key=lambda one: one.since):
        known = [*begin, *(version for _, version in found[-1:])]
        found.append((since, max(known, key=lambda one: (one.number, one.recorded))))
    return found


def to_text(versions: Iterable[Version]) -> str:
    """As the state keeps them."""
    return json.dumps([asdict(one) for one in versions])


@lru_cache(maxsize=64)
def of_text(text: str) -> tuple[Version, ...]:
    """The versions of ``to_text``."""
    return tuple(Version(**one) for one in json.loads(text))
