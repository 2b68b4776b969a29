"""The order in which a branch's variables are bound: by measured cost, by frequency, or as events arrive.

In: a ``BranchPlan`` and the events of a table. Out: an ``Order`` with the numbers it came from. Every order gives the
same matches (lazy NFA, Theorem 1); only the number of partial matches differs, and that is the cost.

The cost of an order is the expected number of partial matches over all its states, plus that of the pairs tried on the way: equalities and windows
are searched, range predicates nearly so, but any other predicate is evaluated on each remaining pair. Selectivities are measured, not guessed: for a
sample of x's events, the ranges of y's buffer that order and window admit; and on a sample of the pairs in these ranges, the share that satisfies the
predicates between x and y (the same pairs, whichever is bound first). For a variable restricted by several bound ones: windows and orders overlap, so
the narrowest counts; equalities of one class are redundant, so the most selective counts; other predicates are assumed to be independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import numpy as np

from sparkcep.engines.event_pattern.candidates.buffer import Buffers, OrderedBuffer
from sparkcep.engines.event_pattern.candidates.differences import searchable
from sparkcep.engines.event_pattern.candidates.equality import keys, needles
from sparkcep.engines.event_pattern.candidates.ranges import comparable
from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray
from sparkcep.engines.event_pattern.planner.plan import BranchPlan
from sparkcep.engines.event_pattern.planner.states import State, ascending
from sparkcep.engines.event_pattern.planner.states import state as state_of
from sparkcep.engines.event_pattern.values.closures import Frame
from sparkcep.engines.event_pattern.values.predicates import condition, evaluate
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.event import Engine, Predicate
from sparkcep.spec.expression import variables

SAMPLE = 512
"""The sample of events per variable on which selectivities are measured."""

PAIRS = 1 << 12
"""The sample of event pairs per pair of variables on which their predicates are measured."""

TRIED = 1.0
"""The cost of evaluating predicates on a pair, in units of partial matches."""

SEARCHED = 0.02
"""The same for a pair that is compared by ranges only."""

MIN_EVENTS = 1 << 12
"""With fewer events than this, measuring costs more than any order saves: frequency decides."""

CHEAP = 0.5
"""Nothing is measured if ascending frequency is not expected to create more partial matches than this times the events."""

MEASURING = 60_000
"""The cost of measuring two variables against each other, in partial matches."""

MAX_SEARCHED = 8
"""Up to this many single-event variables all orders are compared (256 sets); beyond, the cheapest next one is taken greedily."""


@dataclass(frozen=True, slots=True)
class Selectivity:
    """Of the events of ``variable``, given one event of ``given``: the share that order and window admit; of those the share that satisfies the
    equalities between the two; of arbitrary pairs the share that satisfies the range predicates, and of those the share that satisfies all others
    (``filtered``: there are others)."""

    given: str
    variable: str
    admitted: float
    equal: float = 1.0
    ranged: float = 1.0
    satisfied: float = 1.0
    filtered: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """An order and the reason for it. ``cost``: the weighted sum of expected partial matches and pairs tried (None if nothing was measured; a rough
    estimate of the partial matches without ``selectivities``)."""

    engine: Engine
    variables: tuple[str, ...]
    counts: Mapping[str, int]
    selectivities: tuple[Selectivity, ...] = ()
    cost: float | None = None


def choose(
    branch_plan: BranchPlan,
    engine: Engine,
    indexes: Mapping[str, int],
    buffers: Buffers,
    given: Mapping[str, float] | None = None,
) -> Order:
    """``eager``: pattern order, the paper's baseline. ``stack``: reverse pattern order. ``chain``, ``tree``: ascending frequency (in the whole
    table). ``auto``: least expected cost, with Kleene variables last, in ascending frequency. ``given``: frequencies that replace the measured ones
    if they cover the branch (``auto``, ``chain``)."""
    events, payload = buffers.events, buffers.payload
    counts = {name: int(events.taken_by(indexes[name]).sum()) for name in branch_plan.branch.variables}
    if engine == "eager":
        return Order("eager", branch_plan.branch.variables, counts)
    if engine == "stack":
        return Order("stack", branch_plan.branch.variables[::-1], counts)
    if given and engine != "tree" and set(branch_plan.branch.variables) <= set(given):
        return Order("chain", ascending(branch_plan, given), counts)
    rarest = ascending(branch_plan, counts)
    singles = [name for name in rarest if branch_plan.branch.closure(name) is None]
    if engine != "auto" or len(singles) < 2 or sum(counts.values()) < MIN_EVENTS:
        return Order("chain" if engine == "auto" else engine, rarest, counts)
    guess = _guessed(branch_plan, rarest[: len(singles)], counts, events, payload)
    pairs = len(singles) * (len(singles) - 1)
    if guess < max(CHEAP * sum(counts.values()), MEASURING * pairs):
        return Order("chain", rarest, counts, cost=guess)
    ordered = {name: _buffer(buffers, indexes[name]) for name in singles}
    measured = {
        (one.given, one.variable): one
        for x, y in combinations(singles, 2)
        for one in selectivities(branch_plan, x, y, ordered, events, payload)
    }
    best, cost = _cheapest(singles, counts, measured)
    return Order("auto", (*best, *rarest[len(singles) :]), counts, tuple(measured.values()), cost)


def _guessed(
    branch_plan: BranchPlan, order: tuple[str, ...], counts: Mapping[str, int], events: Events, payload: Payload
) -> float:
    """The partial matches of an order, assuming uniformly distributed events and values and that predicates other than equalities hold."""
    rows = _sample(np.arange(len(events)), SAMPLE)
    ahead = events.partition_end[rows] if events.window is None else events.window.end[rows]
    behind = events.partition_start[rows] if events.window is None else events.window.begin[rows]
    size = cost = float(counts[order[0]])
    for at, name in enumerate(order[1:], 1):
        state = state_of(replace(branch_plan, alternatives=((),)), order[:at], name)
        low, high = (rows if state.after else behind), (rows if state.before and not state.after else ahead)
        size *= float((high - low).mean()) * counts[name] / len(events)
        size /= max((payload.codes((column, term.column))[1] for column, term in state.equalities), default=1) or 1
        cost += size
    return cost


def _cheapest(
    names: list[str], counts: Mapping[str, int], measured: Mapping[tuple[str, str], Selectivity]
) -> tuple[tuple[str, ...], float]:
    """The order of the least expected cost; ties go to the first in ascending frequency."""

    def grown(bound: tuple[str, ...], size: float, name: str) -> tuple[float, float]:
        return _grown(size * counts[name], [measured[other, name] for other in bound])

    search = _all_orders if len(names) <= MAX_SEARCHED else _greedy
    return search(names, grown)


Grown = Callable[[tuple[str, ...], float, str], tuple[float, float]]
"""(bound variables, their number of partial matches, the next variable) → (partial matches with it, the cost of finding them)."""


def _all_orders(names: list[str], grown: Grown) -> tuple[tuple[str, ...], float]:
    """Dynamic programming over sets of variables: the cheapest order of each, from smaller sets to larger ones. (The number of a set's partial
    matches hardly depends on the order, so only its cheapest order is kept.)
    """
    layer: dict[frozenset[str], tuple[float, float, tuple[str, ...]]] = {frozenset(): (0.0, 1.0, ())}
    for _ in names:
        longer: dict[frozenset[str], tuple[float, float, tuple[str, ...]]] = {}
        for chosen, (cost, size, order) in layer.items():
            for name in (name for name in names if name not in chosen):
                larger, more = grown(order, size, name)
                key = chosen | {name}
                if key not in longer or cost + more < longer[key][0]:
                    longer[key] = (cost + more, larger, (*order, name))
        layer = longer
    cost, _, order = layer[frozenset(names)]
    return order, cost


def _greedy(names: list[str], grown: Grown) -> tuple[tuple[str, ...], float]:
    order: tuple[str, ...] = ()
    size, cost = 1.0, 0.0
    while len(order) < len(names):
        candidates = [(grown(order, size, name), at, name) for at, name in enumerate(names) if name not in order]
        (size, more), _, name = min(candidates, key=lambda one: (one[0][1], one[1]))
        order, cost = (*order, name), cost + more
    return order, cost


def _grown(pairs: float, found: list[Selectivity]) -> tuple[float, float]:
    """(how many of ``pairs`` of a partial match over bound variables and an event fit, the cost of finding them)."""
    if not found:
        return pairs, pairs
    searched = pairs * min(one.admitted for one in found) * min(one.equal for one in found)
    ranged = searched * prod(one.ranged for one in found)
    fit = ranged * prod(one.satisfied for one in found)
    compared = SEARCHED * searched if ranged < searched else 0.0
    return fit, fit + compared + (TRIED * ranged if any(one.filtered for one in found) else 0.0)


def selectivities(
    branch_plan: BranchPlan,
    x: str,
    y: str,
    buffers: Mapping[str, OrderedBuffer],
    events: Events,
    payload: Payload,
) -> tuple[Selectivity, Selectivity]:
    """The selectivities of the events of the single-event variable ``y`` given one event of ``x``, and the reverse, on the same sample of pairs."""
    plan = replace(branch_plan, alternatives=((),))
    state, reverse = state_of(plan, (x,), y), state_of(plan, (y,), x)
    rows, buffer = _sample(buffers[x].rows, SAMPLE), buffers[y]
    if not len(rows) or not len(buffer.rows):
        return Selectivity(x, y, 0.0), Selectivity(y, x, 0.0)
    begin, end = _ranges(events, buffer, rows, bool(state.after), bool(state.before))
    pairs = int(np.maximum(end - begin, 0).sum())
    admitted = pairs / (len(rows) * len(buffer.rows))
    left, right = _picked(
        buffer, begin, end, np.unique(np.linspace(0, max(pairs - 1, 0), PAIRS).astype(np.int64)[:pairs])
    )
    frame = {x: rows[left], y: right}
    return (
        _with_predicates(Selectivity(x, y, admitted), state, payload, frame, len(events)),
        _with_predicates(Selectivity(y, x, admitted), reverse, payload, frame, len(events)),
    )


def _buffer(buffers: Buffers, index: int) -> OrderedBuffer:
    buffer = buffers.fill(index)
    assert isinstance(buffer, OrderedBuffer)
    return buffer


def _picked(buffer: OrderedBuffer, begin: IntArray, end: IntArray, at: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs at the positions ``at`` among all pairs, without making the others."""
    ends = np.cumsum(np.maximum(end - begin, 0))
    left = np.searchsorted(ends, at, side="right")
    offset = at - (ends[left] - np.maximum(end - begin, 0)[left])
    return left, buffer.rows[begin[left] + offset]


def _with_predicates(
    found: Selectivity, state: State, payload: Payload, pairs: Mapping[str, IntArray], width: int
) -> Selectivity:
    """``found`` with the shares of these pairs that satisfy the predicates between the two variables."""
    rows, right = Frame(pairs), pairs[found.variable]
    wanted = keys(payload, state.equalities, width)
    equal = np.ones(len(right), dtype=np.bool_)
    if wanted is not None:
        equal = (wanted.own[right] == needles(wanted, rows)) & (wanted.own[right] >= 0)
    pair = {found.given, found.variable}
    between = [part for part in state.comparisons if set(variables(part.predicate.condition)) == pair]
    ranges = {part.predicate for part in between if comparable(part, payload)}
    ranges |= {
        part.predicate
        for part in state.differences
        if {*variables(part.predicate.condition)} == pair and searchable(part, payload)
    }
    others = {part.predicate for part in between} - ranges
    others |= {part for part in state.filters if set(variables(part.condition)) == pair} - ranges
    ranged, satisfied = _hold(ranges, payload, rows), _hold(others, payload, rows)
    return replace(
        found,
        equal=_part(equal),
        ranged=_part(ranged),
        satisfied=_part(satisfied[ranged]),
        filtered=bool(others),
    )


def _hold(predicates: Iterable[Predicate], payload: Payload, rows: Frame) -> BoolArray:
    holds = np.ones(len(next(iter(rows.values()))), dtype=np.bool_)
    for predicate in predicates:
        holds &= evaluate(condition(predicate, payload), payload, rows).holds
    return holds


def _part(holds: BoolArray) -> float:
    """The share of a sample for which something holds; never 0, since a sample without a hit does not prove that there is none."""
    return max(float(holds.mean()), 0.5 / len(holds)) if len(holds) else 1.0


def _ranges(
    events: Events, buffer: OrderedBuffer, rows: IntArray, after: bool, before: bool
) -> tuple[IntArray, IntArray]:
    """The slots of the events that order and window admit, per given event."""
    low, high = events.partition_start[rows], events.partition_end[rows]
    if events.window is not None:
        low, high = events.window.begin[rows], events.window.end[rows]
    if after:
        low = np.maximum(low, events.tie_end[rows])
    if before:
        high = np.minimum(high, events.tie_start[rows])
    return buffer.slots[low], buffer.slots[np.maximum(low, high)]


def _sample(values: IntArray, size: int) -> IntArray:
    """An evenly spaced, deterministic sample."""
    if len(values) <= size:
        return values
    return values[np.linspace(0, len(values) - 1, size).astype(np.int64)]
