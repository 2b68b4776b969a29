"""Row patterns whose conditions are booleans of the rows: all of MATCH_RECOGNIZE in linear time.

In: a RowPatternSpec and Arrow tables of whole, sorted partitions. Out: Arrow tables of the spec's outputs, in order of
partition, match and row. Conditions that look at other rows of the match are not this engine's.

Cost: O(rows x pattern size + output), whatever the pattern: see ``kernels``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.counts import Counts
from sparkcep.engines.row_pattern.aggregates import aggregate, array_bounds
from sparkcep.engines.row_pattern.analyze import analyze, counting
from sparkcep.engines.row_pattern.columns import Columns, masks_of
from sparkcep.engines.row_pattern.find import Search, find, partition_bounds
from sparkcep.engines.row_pattern.labels import Labels
from sparkcep.engines.row_pattern.matches import BATCH_MATCHES, BATCH_NODES, Matches, OutputRows, all_rows, one_row_each
from sparkcep.engines.row_pattern.navigation import classifier_at, column_at, current_row, match_number
from sparkcep.engines.row_pattern.overlap import find_overlapping, suits
from sparkcep.engines.row_pattern.program import compile_pattern
from sparkcep.engines.row_pattern.structures import Progress, Rules, whole
from sparkcep.engines.row_pattern.windows import FrameRows, find_windows
from sparkcep.errors import CepDataError, CepInternalError
from sparkcep.spec.row import Aggregate, ClassifierAt, ColumnAt, CurrentRow, MatchNumber, RowPatternSpec, Source

SLICE_BYTES = 4 << 20
"""The size of the bit sets computed at a time, if partitions are small enough (about half a million rows for a typical pattern).
"""

OUTPUT_ELEMENTS = 1 << 20
"""The most array elements (ARRAY_AGG) in an output table, unless a single array is longer."""

_SKIPS = {"past_last_row": 0, "next_row": 1, "first": 2, "last": 3}


@dataclass(frozen=True, slots=True)
class RowPatternEngine:
    """A compiled RowPatternSpec; make it once a task with ``compile``, then ``run`` it on each table."""

    spec: RowPatternSpec
    search: Search
    labels: Labels

    def run(self, table: pa.Table) -> Iterator[pa.Table]:
        """The outputs for ``table`` (whole partitions), in tables of at most BATCH_MATCHES rows.

        Raises CepDataError where AFTER MATCH SKIP TO has nowhere to go or a SUM overflows, CepLimitError where one
        partition needs too much state, CepInternalError if ``table`` breaks the contract of RowPatternSpec.
        """
        for part, starts in self.slices(table):
            yield from self.run_slice(part, starts)

    def analyze(self, table: pa.Table) -> Counts:
        """Partial matches by state. Errors: as ``run``."""
        return analyze(self.spec, self.search.program, table, compile(counting(self.spec)).run)

    def slices(self, table: pa.Table) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """Parts of ``table`` of a bounded size: whole partitions, and where each starts (and the last ends)."""
        if table.num_rows == 0:
            return
        bounds = partition_bounds(masks_of(table, self.spec.masks[:1]))
        if bounds[0] != 0:
            raise CepInternalError("the first row of the engine's input does not start a partition")
        for first, last in _slices(bounds, self.search.program.words):
            low, high = int(bounds[first]), int(bounds[last])
            yield table.slice(low, high - low), bounds[first : last + 1] - low

    def run_slice(
        self, table: pa.Table, starts: NDArray[np.int64], progress: Progress | None = None
    ) -> Iterator[pa.Table]:
        """The outputs for one of the ``slices``. ``progress``: of its partitions, on a stream; complete when all outputs are there."""
        columns = Columns(table)
        for matches in self.matches(columns, starts, whole() if progress is None else progress):
            rows = self._output_rows(matches)
            for low, high in self._cuts(matches, rows, columns):
                yield self._table(matches, rows.cut(low, high), columns)

    def matches(self, columns: Columns, starts: NDArray[np.int64], progress: Progress) -> Iterator[Matches]:
        """The matches of a slice."""
        error = self._skip_error(columns)
        if self.spec.frame is not None:
            return find_windows(self.search, self.spec, FrameRows.of(self.spec, columns, starts), error)
        search = find_overlapping if suits(self.spec) else find
        return search(self.search, masks_of(columns.table, self.spec.masks), starts, progress, error)

    def _output_rows(self, matches: Matches) -> OutputRows:
        if self.spec.rows_per_match in ("one", "window"):
            return one_row_each(matches)
        return all_rows(matches, self.labels.visible(empty=self.spec.rows_per_match != "all_omit_empty"))

    def _cuts(self, matches: Matches, rows: OutputRows, columns: Columns) -> Iterator[tuple[int, int]]:
        """Ranges of output rows that make tables of bounded size."""
        weights = np.zeros(len(rows), np.int64)
        for output in self.spec.outputs:
            if isinstance(output.source, Aggregate) and output.source.function == "array_agg":
                low, high = array_bounds(matches, self.labels, rows, columns, output.source)
                weights += high - low
        total = np.cumsum(weights)
        at = 0
        while at < len(rows):
            spent = total[at] - weights[at]
            room = int(np.searchsorted(total, spent + OUTPUT_ELEMENTS, side="right"))
            until = min(max(room, at + 1), at + BATCH_MATCHES, len(rows))
            yield at, until
            at = until

    def _table(self, matches: Matches, rows: OutputRows, columns: Columns) -> pa.Table:
        is_long, arrays = len(rows) == 1 and len(matches.row) > BATCH_NODES, []
        for output in self.spec.outputs:
            arrays.append(self._measure(matches, rows, columns, output.source))
            if is_long:  # what its measures share would take more than its rows
                matches.cache.clear()
        return pa.table(arrays, names=[output.name for output in self.spec.outputs])

    def _measure(self, matches: Matches, rows: OutputRows, columns: Columns, source: Source) -> pa.Array:
        match source:
            case CurrentRow(column=name):
                return current_row(rows, columns, name)
            case ColumnAt(column=name, at=at):
                return column_at(matches, self.labels, rows, columns, name, at)
            case ClassifierAt(at=at):
                return classifier_at(matches, self.labels, rows, at)
            case MatchNumber():
                return match_number(matches, self.labels, rows)
            case Aggregate():
                return aggregate(matches, self.labels, rows, columns, source)
        raise CepInternalError(f"unknown measure source {type(source).__name__}")

    def _skip_error(self, columns: Columns) -> Callable[[int, int, bool], CepDataError]:
        def error(row: int, number: int, to_start: bool) -> CepDataError:
            names = ", ".join(self.spec.skip.variables)
            values = [f"{name} = {columns.column(name)[row].as_py()!r}" for name in self.spec.partition]
            where = f"match {number}" + (f" of the partition {', '.join(values)}" if values else "")
            skip = f"AFTER MATCH SKIP TO {self.spec.skip.to.upper()} {names}"
            why = f"would return to the first row of {where}" if to_start else f"finds no row of {names} in {where}"
            return CepDataError(
                f"{skip} {why}",
                code="SKIP_TO_START" if to_start else "SKIP_TO_ABSENT",
                hint="SKIP TO NEXT ROW and SKIP PAST LAST ROW always go on",
            )

        return error


@lru_cache(maxsize=16)
def compile(spec: RowPatternSpec) -> RowPatternEngine:
    """The engine for ``spec``. Raises CepLimitError if the pattern unrolls to too many steps."""
    labels = Labels.of(spec.variables)
    rules = Rules(
        skip=_SKIPS[spec.skip.to],
        skip_to=labels.members(spec.skip.variables),
        initial=spec.initial,
        unmatched=spec.rows_per_match == "all_with_unmatched",
    )
    return RowPatternEngine(spec, Search(compile_pattern(spec), rules), labels)


def _slices(bounds: NDArray[np.int64], words: int) -> Iterator[tuple[int, int]]:
    """Ranges of partitions whose bit sets take about SLICE_BYTES, or a single partition."""
    rows = max(SLICE_BYTES // (8 * words), 1)
    first = 0
    while first < len(bounds) - 1:
        last = int(np.searchsorted(bounds, bounds[first] + rows, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
