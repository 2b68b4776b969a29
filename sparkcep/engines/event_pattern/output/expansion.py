"""``cep_expand``: the matches in a buffer that COMPRESSED MATCHES made.

In: one buffer as Python lists (see ``compressed``) and what its type says of the variables. Out: its matches, the ones
that ALL MATCHES would give. Needs neither numpy nor numba: rows come one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

UNION = -1

Match = tuple[Any, ...]


def expand(
    variables: Sequence[int],
    events: Sequence[Any],
    previous: Sequence[int],
    other: Sequence[int],
    kleene: Sequence[bool],
) -> Iterator[Match]:
    """The matches of one buffer: per variable an event, or where ``kleene`` a list of events."""
    open_walks: list[tuple[int, tuple[Any, ...] | None]] = [(len(variables) - 1, None)]
    while open_walks:
        at, taken = open_walks.pop()
        while at >= 0:
            if variables[at] == UNION:
                open_walks.append((other[at], taken))
            else:
                taken = (variables[at], events[at], taken)
            at = previous[at]
        yield _match(taken, kleene)


def _match(taken: tuple[Any, ...] | None, kleene: Sequence[bool]) -> Match:
    """``taken``: (variable, event, the rest), first event first."""
    values: list[Any] = [None] * len(kleene)
    while taken is not None:
        variable, event, taken = taken
        if not kleene[variable]:
            values[variable] = event
            continue
        if values[variable] is None:
            values[variable] = []
        if event is not None:
            values[variable].append(event)
    return tuple(values)
