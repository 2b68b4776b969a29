"""Drawn changes of rows, and what stands of them: a plain model of ``streaming.revisions``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sparkcep.spec.stream import CHANGE, EVENT, VERSION, Revisions, StreamSpec

KINDS = (Revisions(), Revisions(keyed=True), Revisions(keyed=True, versioned=True))


@dataclass(frozen=True, slots=True)
class Change:
    """``row``: of the table whose values it has; ``sign``: 1 or -1; ``whole``: whether the values are those of the row that it is about."""

    row: int
    sign: int
    event: int
    version: int
    whole: bool = True


@st.composite
def changes(draw: st.DrawFn, spec: StreamSpec, table: pa.Table) -> list[Change]:
    """The lives of events whose versions are rows of ``table``, in the order in which they happened."""
    revisions = spec.revisions
    assert revisions is not None
    places = list(zip(*(table[name].to_pylist() for name in (spec.time, *spec.keys)), strict=True))
    events: dict[int, list[int]] = {}
    for row, place in enumerate(places):
        alike = [event for event in events if places[event] == place]
        chosen = draw(st.sampled_from([row, *alike])) if revisions.keyed else row
        events.setdefault(chosen, []).append(row)
    found: list[Change] = []
    for event, rows in events.items():
        now: int | None = None
        for step in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            version = draw(st.sampled_from(rows))
            if now is not None:
                whole = not revisions.keyed or (not revisions.versioned and len(rows) > 1) or draw(st.booleans())
                found.append(Change(now, -1, event, step, whole))
            found.append(Change(version, 1, event, step))
            now = version
        if now is not None and draw(st.sampled_from([False, False, True])):
            found.append(Change(now, -1, event, 99, not revisions.keyed or draw(st.booleans())))
    if revisions.versioned and found:
        found += draw(st.lists(st.sampled_from(found), max_size=3))  # delivered twice
    return found


def sent(spec: StreamSpec, table: pa.Table, found: Iterable[Change]) -> pa.Table:
    """The rows of ``table`` that the changes carry; a change that is not ``whole`` knows its event, its partition and its time only."""
    found = list(found)
    rows = table.take(pa.array([one.row for one in found], pa.int64()))
    identity = rows[spec.identity].to_numpy().copy()
    identity[[not one.whole for one in found]] += 1 << 40
    place = rows.schema.get_field_index(spec.identity)
    rows = rows.set_column(place, spec.identity, pa.array(identity))
    for name, values in (
        (CHANGE, [one.sign for one in found]),
        (EVENT, [one.event for one in found]),
        (VERSION, [one.version for one in found]),
    ):
        rows = rows.append_column(name, pa.array(np.array(values, np.int64)))
    return rows


def content(revisions: Revisions, found: Iterable[Change]) -> list[int]:
    """The rows that stand, each as often as it does."""
    if not revisions.keyed:
        counts = Counter[int]()
        for one in found:
            counts[one.row] += one.sign
        return sorted((+counts).elements())
    lives: dict[int, list[Change]] = {}
    for one in found:
        lives.setdefault(one.event, []).append(one)
    rows = (_newest(life) if revisions.versioned else _left(life) for life in lives.values())
    return sorted(row for row in rows if row is not None)


def _newest(life: list[Change]) -> int | None:
    last = max(life, key=lambda one: (one.version, one.sign, one.row))
    return last.row if last.sign > 0 else None


def _left(life: list[Change]) -> int | None:
    """Of the rows that are left when equal ones cancel out the last one, if more were added than taken away."""
    counts = Counter[int]()
    for one in life:
        counts[one.row if one.whole else -1] += one.sign
    return max(+counts) if counts.total() > 0 else None
