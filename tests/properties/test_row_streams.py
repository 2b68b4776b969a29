"""MATCH_RECOGNIZE on a stream: a fold over any split of any rows, under any watermarks, against the batch engine.

Sound: what is emitted is part of the batch answer, whatever comes later. Complete: after a row that no variable takes, or when WITHIN has closed,
it is the batch answer. Lean: no row is kept that cannot matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from sparkcep.engines import stream
from sparkcep.engines.row_match import engine as row_match
from sparkcep.engines.row_match.search import MAX_STEPS
from sparkcep.engines.row_pattern import engine as row_pattern
from sparkcep.engines.row_pattern.stream import decider
from sparkcep.errors import CepDataError, CepError, CepUnsupportedError
from sparkcep.pattern import row as ir
from sparkcep.spec.expression import Call
from sparkcep.spec.row import (
    Aggregate,
    ColumnAt,
    Define,
    Frame,
    MatchNumber,
    Navigation,
    Output,
    RowPatternSpec,
    Skip,
    Within,
    sources,
)
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.fold import Bucket, step
from tests.adapters import measure_outputs, row_pattern_spec, row_table
from tests.corpus import RowCase
from tests.draws import draws
from tests.engines.row_match import test_against_oracle as match_dependent
from tests.engines.row_match import test_slow_path as slow
from tests.engines.row_match.conditions import call, current, total
from tests.engines.row_pattern.helpers import A, B, D, alt, make_spec, make_table, plus, rep, seq
from tests.properties.strategies import row_cases
from tests.reference import rows as rows_reference
from tests.row_streams import BEHIND, FOREVER, KEYS, Moment, batch, behind, moments, placed, stream_spec

WILD = 64
"""Rows that every variable takes: more than any drawn pattern needs to come to an end."""

MOSTLY = st.sampled_from([True, True, False])


@st.composite
def schedules(draw: st.DrawFn, parts: Sequence[pa.Table]) -> list[tuple[list[pa.Table], int]]:
    """Turns in which all rows come, each before the watermark passes it, in any order; in the end all are final."""
    rows = pa.concat_tables(parts)
    times = rows["ts"].to_numpy()
    last = int(times.max()) + 1
    untils = draw(st.one_of(st.just(range(1, last)), st.lists(st.integers(0, last), max_size=5).map(sorted)))
    untils = [*untils, last]
    latest = np.searchsorted(untils, times, side="right")
    chosen = draw(st.lists(st.integers(0, 11), min_size=len(times), max_size=len(times)))
    arrival = [min(int(late), some) for late, some in zip(latest, chosen, strict=True)]
    return [
        ([rows.filter(pa.array([at == turn for at in arrival]))], until) for turn, until in enumerate(untils)
    ]  # fmt: skip


def times_of(draw: st.DrawFn, count: int) -> list[int]:
    """Times in order, some of them equal."""
    return np.cumsum(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))).tolist()


@st.composite
def cases(draw: st.DrawFn) -> tuple[StreamSpec, list[pa.Table]]:
    """A row-only pattern that a stream can run, in one of three forms: one word of nodes, several, and as if it were match-dependent."""
    case: RowCase = draw(row_cases())
    pattern = case.pattern.replace("^", "()").replace("$", "()")
    pattern = draw(st.sampled_from([pattern, f"A+ ({pattern})", f"(A | B)* C ({pattern})", f"({pattern}) B*"]))
    texts = {name: text.replace("NEXT", "PREV") for name, text in case.measures.items()}
    case = replace(case, pattern=pattern, initial=False, measures=texts if draw(MOSTLY) else {})
    before = ColumnAt("id", Navigation(last=False, physical=-draw(st.integers(0, 2))))
    outputs = (Output("number", MatchNumber()), Output("before", before), *measure_outputs(case)[0])
    spec = row_pattern_spec(case, outputs)
    assume(_least(spec.pattern) < WILD)
    form = draw(st.sampled_from(["plain", "wide", "searched"]))
    if form == "wide":
        wide = ir.Alternate((spec.pattern, rep(D, 70, 70)))
        spec = replace(spec, pattern=wide, variables=(*spec.variables, "D"))
    if form == "searched":
        true = call("ge", Aggregate("count", None, None, True), Aggregate("count", None, None, True))
        spec = replace(spec, defines=tuple(Define(name, true) for name in spec.variables))
    parts = [row_table(case, index) for index in range(len(case.partitions))]
    event(f"{form} {spec.skip.to} {spec.rows_per_match}")
    return stream_spec(spec), [
        placed(part, key, times_of(draw, part.num_rows)) for key, part in zip(KEYS, parts, strict=False)
    ]


def _least(pattern: ir.RowPattern) -> int:
    """How many rows a match takes at least."""
    match pattern:
        case ir.Variable():
            return 1
        case ir.Quantified(item=item, low=low):
            return low * _least(item)
        case ir.Alternate(items=items):
            return min(map(_least, items))
        case ir.Concat(items=items) | ir.Permute(items=items):
            return sum(map(_least, items))
        case ir.Excluded(item=item):
            return _least(item)
    return 0


def stopped(spec: StreamSpec, parts: Sequence[pa.Table]) -> list[pa.Table]:
    """The partitions, each with a last row that no variable takes."""
    late = 1 + max(part["ts"][-1].as_py() for part in parts)
    return _continued(spec, parts, 0, 1, late)


def _continued(
    spec: StreamSpec, parts: Iterable[pa.Table], bits: int, count: int, ts: int, within: int = 0
) -> list[pa.Table]:
    assert isinstance(spec.of, RowPatternSpec)
    return [
        pa.concat_tables([part, behind(part, spec.of, bits, count, ts, index, within)])
        for index, part in enumerate(parts)
    ]


def with_future(spec: StreamSpec, moment: Moment, bits: int, count: int, within: int = 0) -> list[pa.Table]:
    """What is final now, and what might come."""
    return _continued(spec, moment.final.values(), bits, count, moment.until, within)


def is_begun(emitted: dict[Any, list[Any]], answer: dict[Any, list[Any]]) -> bool:
    """Whether what was emitted of each partition is what its answer begins with."""
    return all(answer[key][: len(lines)] == lines for key, lines in emitted.items())


@draws(100)
@given(st.data(), cases())
def test_row_only_patterns(data: st.DataObject, case: tuple[StreamSpec, list[pa.Table]]) -> None:
    spec, parts = case
    whole = stopped(spec, parts)
    try:
        expected = batch(spec, whole)
    except CepDataError:
        assume(False)
    turns = data.draw(schedules(parts))
    ends = [part.slice(part.num_rows - 1) for part in whole]
    for moment in moments(spec, [*turns, (ends, FOREVER)]):
        assert is_begun(moment.emitted, expected)
        if moment.until < FOREVER:
            _check_against_futures(spec, moment, sum(len(part) for part in parts))
    assert moment.emitted == {key: lines for key, lines in expected.items() if lines}
    assert moment.step.due is None
    kept = moment.step.bucket.rows
    assert (0 if kept is None else kept.num_rows) <= len(parts) * _back(spec)


def _check_against_futures(spec: StreamSpec, moment: Moment, count: int) -> None:
    """Nothing is emitted that a later row contradicts; kept is exactly what follows the first row whose match may take a row to come."""
    assert isinstance(spec.of, RowPatternSpec)
    wild = (2 << len([name for name in spec.of.variables if name != "D"])) - 2
    spans = replace(
        spec,
        of=replace(
            spec.of, outputs=(spec.of.outputs[0], Output("last", ColumnAt("id", Navigation()))), rows_per_match="one"
        ),
    )
    try:
        answer = batch(spec, with_future(spec, moment, wild, WILD)) if moment.final else {}
        found = batch(spans, with_future(spec, moment, wild, WILD)) if moment.final else {}
    except CepDataError:
        return
    assert is_begun(moment.emitted, answer)
    needed = 0
    for key, part in moment.final.items():
        ids = part["id"].to_pylist()
        undecided = [start for start, last in found[key] if last is not None and last >= BEHIND > start]
        begin = ids.index(undecided[0]) if undecided else len(ids)
        needed += len(ids) - max(begin - _back(spec), 0)
    bucket = moment.step.bucket.rows
    held = 0 if bucket is None else int((bucket["ts"].to_numpy() < moment.until).sum())
    assert held == needed


def _back(spec: StreamSpec) -> int:
    assert isinstance(spec.of, RowPatternSpec)
    return max((-leaf.at.physical for leaf in sources(spec.of) if isinstance(leaf, ColumnAt)), default=0)


def _anchorless(pattern: Any) -> Any:
    match pattern:
        case ir.PartitionStart() | ir.PartitionEnd():
            return ir.Empty()
        case ir.Concat(items=items) | ir.Alternate(items=items) | ir.Permute(items=items):
            return type(pattern)(tuple(map(_anchorless, items)))
        case ir.Quantified() | ir.Excluded():
            return replace(pattern, item=_anchorless(pattern.item))
    return pattern


def _backwards(condition: Any) -> Any:
    """PREV for NEXT."""
    match condition:
        case Call(operator=operator, arguments=arguments):
            return Call(operator, tuple(map(_backwards, arguments)))
        case ColumnAt(column=column, at=at):
            return ColumnAt(column, replace(at, physical=-abs(at.physical)))
    return condition


WITHIN = 3
INSIDE = Within("ts", "deadline")


@st.composite
def dependent_cases(draw: st.DrawFn) -> tuple[StreamSpec, list[pa.Table]]:
    """Conditions over the rows of the match, with WITHIN or without."""
    defines = {one.variable: _backwards(one.condition) for one in draw(match_dependent.defines)}
    within = draw(MOSTLY)
    if within:
        inside = INSIDE.condition
        defines = {name: call("and", inside, defines[name]) if name in defines else inside for name in "ABCD"}
    pattern = _anchorless(draw(match_dependent.patterns))
    pattern = draw(st.sampled_from([pattern, seq(plus(A), pattern), seq(pattern, plus(B))]))
    ways = rows_reference._Backtracker(lambda *_: True, 6).paths(pattern, 0, (), False)
    assume(sum(1 for _ in islice(ways, match_dependent.MOST_WAYS)) < match_dependent.MOST_WAYS)
    skip = draw(match_dependent.skips)
    unmatched = draw(st.booleans())
    spec = make_spec(
        pattern,
        match_dependent.OUTPUTS,
        skip=skip,
        defines=tuple(Define(name, condition) for name, condition in defines.items()),
        rows_per_match="all_with_unmatched" if unmatched and not _excludes(pattern) else "all_show_empty",
        within=INSIDE if within else None,
    )
    labels = draw(match_dependent.partitions)
    rows = match_dependent._table(spec, labels)
    cuts = np.cumsum([0, *map(len, labels)]).tolist()
    parts = [rows.slice(low, high - low) for low, high in pairwise(cuts)]
    event(f"within {within} {skip.to}")
    return stream_spec(spec, within=within), [
        placed(part, key, times_of(draw, part.num_rows), WITHIN) for key, part in zip(KEYS, parts, strict=False)
    ]


def _excludes(pattern: ir.RowPattern) -> bool:
    return any(isinstance(node, ir.Excluded) for node in ir.walk(pattern))


@draws(100)
@given(st.data(), dependent_cases())
def test_match_dependent_patterns(data: st.DataObject, case: tuple[StreamSpec, list[pa.Table]]) -> None:
    spec, parts = case
    within = spec.deadline is not None
    whole = parts if within else stopped(spec, parts)
    try:
        expected = batch(spec, whole)
    except CepDataError:
        assume(False)
    turns = data.draw(schedules(parts))
    ends = [] if within else [part.slice(part.num_rows - 1) for part in whole]
    for moment in moments(spec, [*turns, (ends, FOREVER)]):
        assert is_begun(moment.emitted, expected)
        if moment.until < FOREVER and moment.final:
            for bits in (0, 0b1110, 0b0100):
                try:
                    assert is_begun(moment.emitted, batch(spec, with_future(spec, moment, bits, 3, WITHIN)))
                except CepDataError:
                    continue
            if within:
                _check_deadlines(spec, moment)
    assert moment.emitted == {key: lines for key, lines in expected.items() if lines}
    kept = moment.step.bucket.rows
    assert (0 if kept is None else kept.num_rows) <= len(parts) * _back(spec)
    assert moment.step.due is None


def _check_deadlines(spec: StreamSpec, moment: Moment) -> None:
    """Nothing is kept from before the first row whose deadline is to come, and before ``due`` time alone decides nothing."""
    bucket = moment.step.bucket
    needed = 0
    for part in moment.final.values():
        is_open = np.flatnonzero(part["deadline"].to_numpy() > moment.until)
        begin = int(is_open[0]) if len(is_open) else part.num_rows
        needed += part.num_rows - max(begin - _back(spec), 0)
    kept = 0 if bucket.rows is None else bucket.rows.num_rows
    assert kept - _pending(bucket.rows, moment.until) <= needed
    if moment.step.due is not None:
        assert moment.step.due > moment.until
    later = FOREVER if moment.step.due is None else moment.step.due - 1
    idle = step(spec, stream.compile(spec), bucket, [], later)
    assert sum(table.num_rows for table in idle.found) == 0
    assert (0 if idle.bucket.rows is None else idle.bucket.rows.num_rows) == kept


def _pending(rows: pa.Table | None, until: int) -> int:
    return 0 if rows is None else int((rows["ts"].to_numpy() >= until).sum())


@pytest.mark.parametrize("keys", [["a", None, "b"], [float("nan"), None, 0.5], [True, False, None], []], ids=str)
def test_partitions_go_on_whatever_their_keys(keys: list[Any]) -> None:
    """NULL is a key, and NaN; rows may be equal in all that orders them; without PARTITION BY there is one partition."""
    of = make_spec(seq(A, B), (Output("number", MatchNumber()),))
    spec = replace(stream_spec(of), keys=("key",) if keys else ())
    decide, bucket, counted = stream.compile(spec), Bucket(), []
    for turn in range(6):
        rows = make_table(spec.of, [["A"] if turn % 2 == 0 else ["B"]] * max(len(keys), 1))
        rows = rows.set_column(rows.schema.get_field_index("key"), "key", pa.array(keys or [0]))
        rows = rows.append_column("ts", pa.array([turn] * len(rows))).append_column("hash", pa.array([7] * len(rows)))
        done = step(spec, decide, bucket, [rows.slice(at, 1) for at in reversed(range(len(rows)))], turn + 1)
        counted.append(sorted(number for table in done.found for number in table["number"].to_pylist()))
        bucket = done.bucket
        assert (0 if bucket.rows is None else bucket.rows.num_rows) == (len(rows) if turn % 2 == 0 else 0)
    each = max(len(keys), 1)
    assert counted == [[], [1] * each, [], [2] * each, [], [3] * each]


def row_by_row(spec: StreamSpec, part: pa.Table, most_steps: int = MAX_STEPS) -> list[int]:
    """How many output rows there are after each row of a partition."""
    batch = row_match.compile(spec.of, most_steps) if spec.of.defines else row_pattern.compile(spec.of)  # type: ignore[arg-type, union-attr]
    decide, bucket, emitted = decider(spec, batch), Bucket(), [0]
    for at in range(part.num_rows):
        done = step(spec, decide, bucket, [part.slice(at, 1)], at + 1)
        bucket = done.bucket
        emitted.append(emitted[-1] + sum(table.num_rows for table in done.found))
    return emitted[1:]


def numbered(spec: StreamSpec, labels: Sequence[str]) -> pa.Table:
    """One partition: a row for each item, at times 0, 1, …."""
    assert isinstance(spec.of, RowPatternSpec)
    count = len(labels)
    rows = make_table(spec.of, [list(labels)], value=pa.array(range(count)), zero=pa.array([0] * count))
    return placed(rows, 1, range(count))


def test_a_condition_that_python_evaluates() -> None:
    defines = (Define("C", slow.equals(slow.path(), "ABC")),)
    spec = stream_spec(make_spec(seq(plus(alt(A, B)), ir.Variable("C")), defines=defines))
    assert row_by_row(spec, numbered(spec, "ABCAC")) == [0, 0, 1, 1, 1]


RATIO = call("gt", call("div", current("value"), current("zero")), current("value"))
TOTAL = call("lt", total("sum", "value", "A"), current("zero"))
FAILING = [
    (make_spec(seq(A, B), defines=(Define("B", RATIO),)), "AB", "CEP_DATA_DIVIDE_BY_ZERO"),
    (make_spec(seq(plus(alt(A, B)), D), defines=(Define("D", TOTAL),)), [*["AB"] * 40, "D"], "CEP_LIMIT_MATCH_STEPS"),
    (make_spec(seq(A, B), skip=Skip("first", ("A",))), "ABC", "CEP_DATA_SKIP_TO_START"),
    (make_spec(seq(A, B), skip=Skip("last", ("C",))), "ABC", "CEP_DATA_SKIP_TO_ABSENT"),
]


@pytest.mark.parametrize(("of", "labels", "code"), FAILING, ids=[code for *_, code in FAILING])
def test_errors_are_those_of_the_batch_engine(of: RowPatternSpec, labels: Sequence[str], code: str) -> None:
    spec = stream_spec(of)
    with pytest.raises(CepError) as raised:
        row_by_row(spec, numbered(spec, labels), most_steps=100)
    assert raised.value.code == code


NEXT = Output("next", ColumnAt("id", Navigation(physical=1)))
LATER = Define("B", call("lt", current("id"), current("id", 1)))
REFUSED = [
    (make_spec(seq(ir.PartitionStart(), A)), "the anchor ^ over"),
    (make_spec(alt(A, seq(B, ir.PartitionEnd()))), "the anchor $ over"),
    (make_spec(A, initial=True), "INITIAL over"),
    (make_spec(A, (NEXT,)), "NEXT in MEASURES over"),
    (make_spec(seq(A, B), defines=(LATER,)), "NEXT in the condition of B over"),
    (make_spec(A, rows_per_match="window", frame=Frame()), "a window with a PATTERN over"),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_a_stream_does_not_decide_is_refused_by_name(spec: RowPatternSpec, message: str) -> None:
    with pytest.raises(CepUnsupportedError) as raised:
        stream.compile(stream_spec(spec))
    assert raised.value.code == "CEP_UNSUPPORTED_STREAM"
    assert raised.value.message.startswith(message)
    assert raised.value.hint
