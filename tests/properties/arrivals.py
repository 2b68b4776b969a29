"""Drawn ways in which the rows of a stream may come."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

EVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Arrival:
    """One turn: the numbers of the rows that come, and ``until``."""

    rows: tuple[int, ...]
    until: int


@st.composite
def arrivals(draw: st.DrawFn, times: list[int]) -> list[Arrival]:
    """Rows in any order, cut anywhere; ``until`` at most the time of what is still to come; at last turns without rows."""
    delays = [draw(st.sampled_from([0, 0, 0, 0, 1, 3])) for _ in times]
    order = sorted(range(len(times)), key=lambda row: (times[row] + delays[row], row))
    cuts = sorted(draw(st.lists(st.integers(0, len(times)), max_size=4)))
    found, since = [], 0
    for begin, end in zip([0, *cuts], [*cuts, len(times)], strict=True):
        bound = min((times[row] for row in order[end:]), default=EVER)
        since = max(since, min(bound, draw(st.integers(0, 14))))
        found.append(Arrival(tuple(order[begin:end]), since))
    for until in sorted(draw(st.lists(st.integers(since, 30), max_size=2))):
        found.append(Arrival((), until))
    return [*found, Arrival((), EVER)]
