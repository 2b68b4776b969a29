"""Row patterns with match-dependent conditions: ``up.price > LAST(down.price)``, ``AVG(b.x) < a.x``, ``SUM(x.w) <= 20``.

In: a RowPatternSpec with ``defines`` and Arrow tables of whole, sorted partitions. Out: Arrow tables of the spec's
outputs, as ``row_pattern`` makes them. Only the search differs: a condition may look at the rows mapped so far, so the
matches are found by depth-first search in order of preference (``search_kernels``) that remembers what failed.

Cost: linear in the rows wherever the registers that conditions ahead still read do not tell searches apart; in general
rows x nodes x distinct values of those registers. What is inherently exponential ends with a CepLimitError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.counts import Counts
from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.analyze import analyze
from sparkcep.engines.row_match.bytecode import assemble
from sparkcep.engines.row_match.calls import Calls
from sparkcep.engines.row_match.liveness import keys
from sparkcep.engines.row_match.registers import Layout, Total, functions, lay_out
from sparkcep.engines.row_match.search import MAX_STEPS, Plan, Slice, find_matches
from sparkcep.engines.row_match.structures import Changes, Code
from sparkcep.engines.row_match.values import Kind, Pool, is_wide, kind_of, load, shortened
from sparkcep.engines.row_match.within import Rows, last_rows, limited, matches_without_search, unlimited
from sparkcep.engines.row_pattern import engine as row_pattern
from sparkcep.engines.row_pattern.analyze import counting
from sparkcep.engines.row_pattern.columns import Columns, masks_of
from sparkcep.engines.row_pattern.engine import RowPatternEngine
from sparkcep.engines.row_pattern.find import viable_nodes
from sparkcep.engines.row_pattern.frames import compile_frames
from sparkcep.engines.row_pattern.matches import Matches
from sparkcep.engines.row_pattern.structures import Progress, whole
from sparkcep.engines.row_pattern.windows import FrameRows
from sparkcep.errors import CepInternalError
from sparkcep.spec.expression import Call, SparkFunction
from sparkcep.spec.row import MOMENTS, Aggregate, ColumnAt, Condition, CurrentRow, MatchNumber, RowPatternSpec, leaves

_TOTALS = {"min": codes.LEAST_TOTAL, "max": codes.GREATEST_TOTAL, "count": codes.COUNT_TOTAL}


@dataclass(frozen=True, slots=True)
class RowMatchEngine(RowPatternEngine):
    """A compiled RowPatternSpec with match-dependent conditions; ``run`` it on each table, as a RowPatternEngine.

    Beside the errors of RowPatternEngine.run: CepDataError for a condition that overflows or divides by zero,
    CepLimitError for a start row that takes more than ``most_steps`` steps, CepUnsupportedError for operators on types
    that they are not made for (known only when the first table comes).
    """

    layout: Layout
    most_steps: int
    plans: dict[tuple[object, ...], Plan] = field(default_factory=dict, compare=False)

    def analyze(self, table: pa.Table) -> Counts:
        """Partial matches by state, and how many rows the search asked each condition of. Errors: as ``run``."""
        counter = compile(counting(self.spec), self.most_steps)
        found = lambda part, starts, asked: counter.matches(Columns(part), starts, whole(), asked)  # noqa: E731
        return analyze(self.spec, self.search.program, table, counter.slices(table), found)

    def matches(
        self,
        columns: Columns,
        starts: NDArray[np.int64],
        progress: Progress,
        asked: NDArray[np.int64] | None = None,
    ) -> Iterator[Matches]:
        """The matches of a slice; ``asked``: see ``search.find_matches``."""
        times = () if self.spec.within is None else (self.spec.within.time, self.spec.within.deadline)  # of one type
        short, wide = shortened(columns, _columns(self.spec), whole=times)
        plan = self._plan(short, wide)
        data = load(short, plan.pool, self.spec.variables, checked=plan.checked)
        within = self.spec.within if self.spec.frame is None else None  # a frame's bounds change what mask bits say
        masks, error = masks_of(columns.table, self.spec.masks), self._skip_error(columns)
        rows = None if within is None else Rows(masks, starts, last_rows(within, starts, data, plan.pool))
        if rows is not None and asked is None and not len(progress.begin):
            found = matches_without_search(self.search, self.spec, rows, error)
            if found is not None:
                return found
        slow = plan.slow or plan.lists
        calls = Calls(plan.slow, plan.lists, self.layout, short) if slow else None
        frames = None
        if self.spec.frame is not None:
            frames = compile_frames(self.spec), FrameRows.of(self.spec, columns, starts)
        viable = viable_nodes(self.search.program, masks)
        inside = unlimited() if rows is None else limited(rows, self.search.program, viable)
        part = Slice(starts, data, inside, calls, frames)
        return find_matches(self.search, plan, part, viable, progress, self.most_steps, error, asked)

    def _plan(self, columns: Columns, wide: dict[str, int]) -> Plan:
        kinds = {name: kind_of(columns.type(name)) for name in _columns(self.spec)}
        slow = _slow_columns(self.spec)
        opaque = frozenset(name for name in slow if kinds[name].name == "opaque" or is_wide(columns.type(name)))
        key = (*kinds.values(), opaque, *wide.items())
        if key not in self.plans:
            self.plans[key] = _compile(self, kinds, opaque, wide)
        return self.plans[key]


@lru_cache(maxsize=16)
def compile(spec: RowPatternSpec, most_steps: int = MAX_STEPS) -> RowMatchEngine:
    """The engine for ``spec``, whose ``defines`` are not empty.

    Raises CepUnsupportedError for aggregates with DISTINCT in a condition, CepLimitError if the pattern
    unrolls to too many steps.
    """
    unknown = [define.variable for define in spec.defines if define.variable not in spec.variables]
    if not spec.defines or unknown:
        raise CepInternalError(f"no match-dependent condition, or one of no primary variable: {unknown}")
    base = row_pattern.compile(spec)
    return RowMatchEngine(base.spec, base.search, base.labels, lay_out(spec.variables, spec.defines), most_steps)


def _columns(spec: RowPatternSpec) -> list[str]:
    """The columns whose values the conditions read."""
    found: dict[str, None] = {}
    for define in spec.defines:
        for leaf in leaves(define.condition):
            if isinstance(leaf, CurrentRow | ColumnAt | Aggregate) and leaf.column is not None:
                found[leaf.column] = None
    return list(found)


def _only_in_functions(spec: RowPatternSpec) -> frozenset[str]:
    """The columns that are read by Spark's functions alone, which Python can be asked."""
    return frozenset(_slow_columns(spec)).difference(*(_read_directly(define.condition) for define in spec.defines))


def _read_directly(condition: Condition, inside: bool = False) -> set[str]:
    """The columns that a condition reads itself; ``inside`` a function of Spark's aggregates do."""
    if isinstance(condition, Call | SparkFunction):
        within = inside or isinstance(condition, SparkFunction)
        return {column for argument in condition.arguments for column in _read_directly(argument, within)}
    column, by_halves = getattr(condition, "column", None), getattr(condition, "function", None) in ("sum", "count")
    return set() if column is None or by_halves or (inside and isinstance(condition, ColumnAt)) else {column}


def _slow_columns(spec: RowPatternSpec) -> set[str]:
    """The columns that slow conditions read from rows of the match."""
    slow = [function for define in spec.defines for function in functions(define.condition)]
    return {leaf.column for function in slow for leaf in leaves(function) if isinstance(leaf, ColumnAt)}


def _compile(engine: RowMatchEngine, kinds: dict[str, Kind], opaque: frozenset[str], wide: Mapping[str, int]) -> Plan:
    spec, layout, pool = engine.spec, engine.layout, Pool({}, {}, {})
    code = assemble(spec.defines, layout, kinds, pool)
    registers = np.zeros(layout.words, np.int64)
    for group in layout.slots:
        registers[group.word : group.word + group.size] = -1
    return Plan(
        defines=spec.defines,
        variables=spec.variables,
        pool=pool,
        code=Code(code.start, code.operations),
        changes=_changes(layout, kinds, pool, wide),
        keys=keys(engine.search.program, layout, spec.defines, pool, opaque),
        depth=code.depth,
        registers=registers,
        numbered=any(isinstance(leaf, MatchNumber) for define in spec.defines for leaf in leaves(define.condition)),
        slow=code.slow,
        lists=tuple(total.source for total in layout.totals if total.source.function == "array_agg"),
        checked=_only_in_functions(spec),
    )


def _changes(layout: Layout, kinds: dict[str, Kind], pool: Pool, wide: Mapping[str, int]) -> Changes:
    """What a row of each variable does to the registers. ``wide``: see ``_total``."""
    slots: list[list[tuple[int, ...]]] = []
    totals: list[list[tuple[int, ...]]] = []
    for name in layout.variables:
        slots.append([(int(group.last), group.word, group.size) for group in layout.slots if name in group.members])
        totals.append([_total(total, layout, kinds, pool, wide) for total in layout.totals if name in total.members])
    return Changes(*_ragged(slots, 3), *_ragged(totals, 6))


def _total(
    total: Total, layout: Layout, kinds: dict[str, Kind], pool: Pool, wide: Mapping[str, int]
) -> tuple[int, ...]:
    """A row of ``Changes.totals``. ``wide``: columns whose sums may have too many digits, and the decimal places that their words lack."""
    source = total.source
    use = pool.filter(source.column, source.filter)
    if source.function == "array_agg":
        lists = [other for other in layout.totals if other.source.function == "array_agg"]
        return codes.LIST_TOTAL, total.word, -1, use, lists.index(total), 0
    if source.column is None or source.function == "count":
        return codes.COUNT_TOTAL, total.word, -1, use, 0, 0
    floating = kinds[source.column].name == "float"
    if source.function in MOMENTS:
        return codes.MOMENT_TOTAL, total.word, pool.column(source.column), use, 0, 0
    if source.function == "avg":
        return codes.MEAN_TOTAL, total.word, pool.column(source.column), use, 0, 0
    if source.function == "sum" and source.column in wide:
        less = wide[source.column]
        if less:
            return codes.WIDE_TOTAL, total.word, pool.column(source.column), use, -1, less
        return codes.WIDE_TOTAL, total.word, pool.half(source.column, "low"), use, pool.half(source.column, "high"), 0
    kind = _TOTALS.get(source.function, codes.FLOAT_TOTAL if floating else codes.INT_TOTAL)
    return kind, total.word, pool.column(source.column), use, 0, 0


def _ragged(lists: list[list[tuple[int, ...]]], width: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    start = np.cumsum([0, *map(len, lists)]).astype(np.int32)
    return start, np.array([item for items in lists for item in items], np.int64).reshape(-1, width)
