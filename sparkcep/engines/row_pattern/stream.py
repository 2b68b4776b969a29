"""Row patterns on a stream: the batch kernels with an open end.

In: the turns of a StreamSpec over a RowPatternSpec. Out: the matches that no row to come can change, in the batch engine's outputs. Behind the
last row of a partition anything may come (``program.open_end``): a search stops at the first row where the preferred match would take a row that
has not come. All rows before that one may go, but for those that PREV looks back at. WITHIN closes a match: once its deadline has passed, no row
to come can be in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.row_pattern import engine
from sparkcep.engines.row_pattern.engine import RowPatternEngine
from sparkcep.engines.row_pattern.program import open_end
from sparkcep.engines.row_pattern.refusals import check_stream
from sparkcep.engines.row_pattern.structures import Progress
from sparkcep.engines.turn import Answer, Decide, Turn
from sparkcep.errors import CepLimitError
from sparkcep.spec.row import RowPatternSpec, most_behind
from sparkcep.spec.stream import StreamSpec

MOST_MATCHES = (1 << 31) - 1
"""The greatest MATCH_NUMBER(), as the kernels hold it."""


def compile(spec: StreamSpec, *, closing: bool = False) -> Decide:
    """What decides the turns of ``spec``; ``closing``: one that no row will follow. Raises CepUnsupportedError for what no row before the stream's
    end decides."""
    return decider(spec, engine.compile(row_spec(spec)), closing=closing)


def row_spec(spec: StreamSpec) -> RowPatternSpec:
    """The clause, if a stream can answer it. Raises CepUnsupportedError."""
    assert isinstance(spec.of, RowPatternSpec)
    check_stream(spec.of)
    return spec.of


def decider(spec: StreamSpec, batch: RowPatternEngine, *, closing: bool = False) -> Decide:
    """What decides the turns of ``spec``, whose clause ``batch`` runs."""
    if not closing:
        batch = replace(batch, search=replace(batch.search, program=open_end(batch.search.program)))
    return _Decider(spec, batch, most_behind(batch.spec)).decide


@dataclass(frozen=True, slots=True)
class _Decider:
    """``behind``: how many rows conditions and measures look back, at most."""

    spec: StreamSpec
    engine: RowPatternEngine
    behind: int

    def decide(self, turn: Turn) -> Answer:
        """The interface of ``engines.turn``. Errors: as RowPatternEngine.run."""
        deadline = None
        if self.spec.deadline is not None:
            column = turn.rows.column(self.spec.deadline)
            deadline = np.where(column.is_valid().to_numpy(), column.fill_null(0).to_numpy(), turn.until)
        closed = np.empty(0, np.bool_) if deadline is None else deadline <= turn.until
        covered = turn.begin if turn.covered is None else turn.covered
        progress = Progress(turn.begin.copy(), turn.numbers.copy(), covered.copy(), closed)
        starts = np.zeros(1, np.int64)
        found: list[pa.Table] = []
        for part, bounds in self.engine.slices(turn.rows):
            found += self._found(part, bounds, progress, len(starts) - 1, int(starts[-1]))
            starts = np.append(starts, starts[-1] + bounds[1:])
        _check_numbers(progress.numbers)
        begin = progress.begin
        keep = np.arange(turn.rows.num_rows) >= np.repeat(begin - self.behind, np.diff(starts))
        waiting = begin[begin < starts[1:]]
        due = int(deadline[waiting].min()) if deadline is not None and len(waiting) else None
        return Answer(tuple(found), keep, begin, progress.numbers, due, progress.covered)

    def _found(
        self, part: pa.Table, starts: NDArray[np.int64], progress: Progress, first: int, low: int
    ) -> Iterator[pa.Table]:
        """The outputs of a slice: partitions from ``first`` on, rows from ``low`` on."""
        these = slice(first, first + len(starts) - 1)
        own = Progress(
            progress.begin[these] - low,
            progress.numbers[these],
            progress.covered[these] - low,
            progress.closed[low : low + part.num_rows],
        )
        yield from self.engine.run_slice(part, starts, own)
        progress.begin[these] = own.begin + low
        progress.covered[these] = own.covered + low


def _check_numbers(numbers: NDArray[np.int64]) -> None:
    if len(numbers) and numbers.max() > MOST_MATCHES:
        raise CepLimitError(
            f"a partition of a stream has had more than {MOST_MATCHES} matches, more than MATCH_NUMBER() counts",
            code="MATCH_NUMBER",
            hint="leave out MATCH_NUMBER(), or partition more finely",
        )
