"""The rows of a turn that A-Seq still needs: those whose windows are open, and what lies before them where a negated event may stand first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.aseq.values import Ints

Flags = NDArray[np.bool_]


def looks_ahead(sequences: Iterable[Sequence]) -> bool:
    """Whether a negated event may lie behind a match."""
    return any(sequence.behind for sequence in sequences)


def looks_back(sequences: Iterable[Sequence]) -> bool:
    """Whether a negated event may lie before a match."""
    return any(sequence.before for sequence in sequences)


def taken(rows: pa.Table, masks: Iterable[str]) -> Flags:
    """[rows]: whether some variable takes the row."""
    first, *others = (rows.column(name).to_numpy() for name in masks)
    found: Flags = (first & ~np.int64(1)) != 0
    for word in others:
        found |= word != 0
    return found


def open_rows(can_match: Flags, time: Ints, deadline: Ints, group: Ints, beyond: Ints, *, back: bool) -> Flags:
    """[rows]: whether a match that begins at a row whose deadline lies ``beyond`` [groups] needs the row. ``group`` [rows]: ascending, from 0;
    ``back``: negated events before the match count, so that what lies in a window before its first event stays as well."""
    if back and len(group):
        first = np.where(can_match & (deadline > beyond[group]), time, np.iinfo(np.int64).max)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        beyond = np.minimum(beyond, np.minimum.reduceat(first, starts))
    found: Flags = can_match & (deadline > beyond[group])
    return found


def first_of_group(table: pa.Table, keys: Iterable[str]) -> Ints:
    """[rows]: the first row with equal keys; NULLs are equal."""
    names = list(dict.fromkeys(keys))
    if not names:
        return np.zeros(table.num_rows, np.int64)
    rows = pl.from_arrow(table.select(names))
    assert isinstance(rows, pl.DataFrame)
    first = rows.with_row_index("__cep_row").select(pl.col("__cep_row").min().over(names))["__cep_row"]
    found: Ints = first.to_numpy().astype(np.int64)
    return found
