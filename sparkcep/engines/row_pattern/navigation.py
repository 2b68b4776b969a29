"""Measures that read one row: columns, CLASSIFIER, MATCH_NUMBER.

In: ``Matches`` and their output rows. Out: Arrow arrays, one value per output row. Aggregates are in ``aggregates``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.engines.row_pattern.labels import Labels
from sparkcep.engines.row_pattern.matches import Matches, OutputRows
from sparkcep.spec.row import Navigation


def current_row(rows: OutputRows, columns: Columns, name: str) -> pa.Array:
    """The column in the output row itself (ONE ROW PER MATCH: in the match's first row)."""
    return columns.take(name, rows.row)


def column_at(
    matches: Matches, labels: Labels, rows: OutputRows, columns: Columns, name: str, at: Navigation
) -> pa.Array:
    """The column in the row that ``at`` leads to; NULL where it leads nowhere or out of the partition."""
    node = locate(matches, labels, rows, at)
    row = np.where(node < 0, np.int32(-1), matches.row[node])
    if at.physical:
        row = _moved(row, at.physical, matches.low[rows.match], matches.high[rows.match])
    return columns.take(name, row)


def classifier_at(matches: Matches, labels: Labels, rows: OutputRows, at: Navigation) -> pa.Array:
    """The variable of the row that ``at`` leads to; NULL for a row outside of the match or of ``at.variables``."""
    node = locate(matches, labels, rows, at)
    if at.physical:
        node = _node_moved(matches, node, at.physical, rows.match)
    code = matches.code[node]
    outside = (node < 0) | ~labels.members(at.variables)[code]
    return labels.names.take(pa.array(code >> 1, mask=outside))


def match_number(matches: Matches, labels: Labels, rows: OutputRows) -> pa.Array:
    """1 for a partition's first match; NULL for a row outside of all matches."""
    number = matches.number[rows.match].astype(np.int64)
    outside = matches.code[rows.node] == labels.unmatched
    return pa.array(number, mask=outside) if outside.any() else pa.array(number)


def locate(matches: Matches, labels: Labels, rows: OutputRows, at: Navigation) -> NDArray[np.int32]:
    """The node that ``at`` leads to before its physical offset, or -1."""
    if not (at.running or matches.forest):
        return _sought(matches, labels, at)[rows.match]
    base = standing(matches, rows, at.running)
    if at.last == matches.forest:
        return _ordinal(matches, labels, at.variables, at.logical + 1)[base]
    node = _nearest(matches, labels, at.variables)
    found = node[base]
    for _ in range(at.logical):
        before = np.where(found < 0, np.int32(-1), matches.back[found])
        found = np.where(before < 0, np.int32(-1), node[before])
        if not (found >= 0).any():
            break
    return found


def standing(matches: Matches, rows: OutputRows, running: bool) -> NDArray[np.int32]:
    """For each output row, the node that holds the running or final value."""
    return rows.node if running else matches.final[rows.match]


def used_nodes(matches: Matches, labels: Labels, variables: tuple[str, ...] | None) -> NDArray[np.bool_]:
    """Which nodes take a row mapped to ``variables`` (None: to any)."""
    key = ("used", variables)
    if key not in matches.cache:
        matches.cache[key] = labels.members(variables)[matches.code]
    return matches.cache[key]


def _sought(matches: Matches, labels: Labels, at: Navigation) -> NDArray[np.int32]:
    """[matches]: the node of a final navigation, before its physical offset; each match is scanned at most once."""
    from sparkcep.engines.row_pattern import path_kernels

    key = ("sought", at.variables, at.last, at.logical)
    if key not in matches.cache:
        start, stop, step = matches.first, matches.final, 1
        if at.last:
            start, stop, step = stop, start, -1
        out = np.empty(len(matches.final), np.int32)
        path_kernels.seek(matches.code, labels.members(at.variables), start, stop, step, at.logical, out)
        matches.cache[key] = out
    return matches.cache[key]


def _nearest(matches: Matches, labels: Labels, variables: tuple[str, ...] | None) -> NDArray[np.int32]:
    from sparkcep.engines.row_pattern import path_kernels

    key = ("nearest", variables)
    if key not in matches.cache:
        out = np.empty(len(matches.row), np.int32)
        path_kernels.nearest(matches.back, matches.code, labels.members(variables), out)
        matches.cache[key] = out
    return matches.cache[key]


def _ordinal(matches: Matches, labels: Labels, variables: tuple[str, ...] | None, n: int) -> NDArray[np.int32]:
    from sparkcep.engines.row_pattern import path_kernels

    key = ("ordinal", variables, n)
    if key not in matches.cache:
        used = used_nodes(matches, labels, variables)
        count = np.empty(len(used), np.int64)
        path_kernels.counts(matches.back, used, count)
        out = np.empty(len(used), np.int32)
        path_kernels.ordinal(matches.back, used, count, n, out)
        matches.cache[key] = out
    return matches.cache[key]


def _moved(row: NDArray[np.int32], by: int, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
    target = row.astype(np.int64) + by
    inside = (row >= 0) & (target >= low) & (target < high)
    return np.where(inside, target, -1).astype(np.int32)


def _node_moved(matches: Matches, node: NDArray[np.int32], by: int, match: NDArray[np.int32]) -> NDArray[np.int32]:
    """The node of the same match whose row is ``by`` rows away, or -1."""
    if not matches.forest:
        target = node.astype(np.int64) + by
        inside = (node >= 0) & (target >= matches.first[match]) & (target <= matches.final[match])
        return np.where(inside, target, -1).astype(np.int32)
    for _ in range(by):  # a forest's paths run backwards: ``back`` is the next row
        node = np.where(node < 0, np.int32(-1), matches.back[node])
    return node
