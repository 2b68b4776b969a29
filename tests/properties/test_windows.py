"""The engines against the reference of windows: random patterns, rows, frames, skip modes; conditions over neighbours and over the match."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.engines.row_match import engine as row_match
from sparkcep.errors import CepDataError
from sparkcep.pattern import row as ir
from sparkcep.spec.row import (
    Aggregate,
    ClassifierAt,
    ColumnAt,
    CurrentRow,
    Frame,
    MatchNumber,
    Navigation,
    Output,
    Skip,
)
from tests.corpus.windows import UNBOUNDED, WindowCase
from tests.draws import draws
from tests.engines.row_match import conditions as of
from tests.engines.row_match import test_against_oracle as drawn
from tests.engines.row_pattern.helpers import make_spec, make_table
from tests.properties.strategies import SKIPS, row_patterns
from tests.reference import rows as reference
from tests.reference.window_corpus import window_found
from tests.reference.windows import Found, Window, window_matches
from tests.window_adapters import window_lines

COUNTED = [
    Output("number", MatchNumber()),
    Output("first", ColumnAt("id", Navigation(last=False))),
    Output("last", ColumnAt("id", Navigation())),
    Output("rows", Aggregate("count")),
    Output("behind", ColumnAt("id", Navigation(physical=1))),
    Output("before", ColumnAt("id", Navigation(last=False, physical=-1))),
]
LISTED = [*COUNTED, Output("labels", Aggregate("array_agg"))]


def free(pattern: ir.RowPattern) -> bool:
    """Whether a window may have the pattern: no ``^``, no ``$``, and a variable at least."""
    anchors = any(isinstance(part, ir.PartitionStart | ir.PartitionEnd) for part in ir.walk(pattern))
    return not anchors and bool(ir.variables(pattern))


PATTERNS = row_patterns().filter(free)
LABELS = st.sampled_from(["", "A", "B", "AB", "AC", "BC", "ABC", "ABC"]).map(frozenset)
PARTITIONS = st.lists(st.lists(LABELS, min_size=1, max_size=6).map(tuple), min_size=1, max_size=2).map(tuple)
SIDE = st.one_of(st.just("x"), st.builds("{}(x, {})".format, st.sampled_from(["PREV", "NEXT"]), st.integers(1, 2)))
COMPARED = st.builds("{} {} {}".format, SIDE, st.sampled_from(["<", ">", "="]), SIDE)
CONDITIONS = st.one_of(
    COMPARED, st.builds("{} IS NULL".format, SIDE), st.builds("{} OR {} IS NULL".format, COMPARED, SIDE)
)


@st.composite
def window_cases(draw: st.DrawFn) -> WindowCase:
    """Variables by labels, or by a comparison with a neighbour, up to two rows away."""
    pattern = draw(PATTERNS)
    names = ir.variables(pattern)
    partitions = draw(PARTITIONS)
    count = sum(map(len, partitions))
    skip = draw(st.sampled_from(SKIPS))
    lengths = st.one_of(st.just(UNBOUNDED), st.integers(0, 4))
    bounded = st.lists(st.integers(0, 5), min_size=count, max_size=count)
    return WindowCase(
        name="drawn",
        pattern=str(pattern),
        partitions=partitions,
        following=tuple(draw(st.one_of(lengths.map(lambda n: [n] * count), bounded))),
        columns={"x": tuple(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))},
        define=draw(st.dictionaries(st.sampled_from(names), CONDITIONS, max_size=2)),
        skip=(skip, draw(st.sampled_from(names)) if skip in ("first", "last") else None),
        seek=draw(st.booleans()),
    )


@draws(300)
@given(window_cases(), st.booleans(), st.sampled_from([COUNTED, LISTED]))
def test_linear_engine_answers_as_the_reference(case: WindowCase, split: bool, outputs: list[Output]) -> None:
    expected = _of_case(case)
    found = _tried(lambda: [(line[0] > 0, *line[1:]) for line in window_lines(case, outputs, split=split)])
    assert found == (None if expected is None else [line[: len(outputs)] for line in expected])


def _of_case(case: WindowCase) -> list[tuple[Any, ...]] | None:
    try:
        found = window_found(case)
    except reference.SkipError:
        return None
    lines: list[tuple[Any, ...]] = []
    base = 0
    for labels in case.partitions:
        for row in range(base, base + len(labels)):
            end = min(row + case.following[row], base + len(labels) - 1)
            ahead, steps = found[row] or (0, ())
            lines.append((found[row] is not None, *_places(row, end, ahead, len(steps)), [name for name, _ in steps]))
        base += len(labels)
    return lines


def _places(row: int, end: int, ahead: int, length: int) -> tuple[Any, ...]:
    """First row, last row, how many; the row behind and the one before, inside the frame; from 1."""
    if not length:
        return None, None, 0, None, None
    first, last = row + ahead, row + ahead + length - 1
    return first + 1, last + 1, length, last + 2 if last < end else None, first if ahead else None


def _tried(run: Any) -> Any:
    try:
        return run()
    except CepDataError:
        return None


@draws(300)
@given(
    drawn.patterns.filter(free),
    drawn.partitions,
    drawn.defines,
    st.one_of(st.none(), st.integers(0, 3)),
    st.booleans(),
    st.data(),
)
def test_search_answers_as_the_reference(
    pattern: ir.RowPattern, parts: list[list[str]], defines: Any, following: int | None, seek: bool, data: st.DataObject
) -> None:
    names = ir.variables(pattern)
    kept = tuple(define for define in defines if define.variable in names)
    if not kept or any(isinstance(leaf, MatchNumber) for define in kept for leaf in _leaves(define.condition)):
        return
    to = data.draw(st.sampled_from(SKIPS))
    skip = Skip(to, (data.draw(st.sampled_from(names)),) if to in ("first", "last") else ())
    count = sum(map(len, parts))
    values = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=count, max_size=count))
    flags = data.draw(st.lists(st.one_of(st.none(), st.booleans()), min_size=count, max_size=count))
    outputs = (Output("row", CurrentRow("id")), *LISTED, Output("label", ClassifierAt(Navigation())))
    frame = Frame(None if following is None else "following", seek)
    spec = make_spec(pattern, outputs, defines=kept, skip=skip, rows_per_match="window", frame=frame)
    columns = {
        "value": pa.array(values, pa.int64()), "double": pa.array(values, pa.float64()), "money": pa.array(values, pa.int64()).cast(pa.decimal128(21, 2)).cast(pa.decimal128(9, 2)), "flag": pa.array(flags, pa.bool_()),
        "nameA": pa.array(["A"] * count), "nameB": pa.array(["B"] * count), "following": pa.array([following or 0] * count),
    }  # fmt: skip
    table = make_table(spec, parts, **columns)
    found = _tried(
        lambda: [tuple(row.values()) for part in row_match.compile(spec).run(table) for row in part.to_pylist()]
    )
    assert _seen(found) == _searched(table.to_pylist(), pattern, parts, kept, skip, frame, following)


def _leaves(condition: Any) -> list[Any]:
    parts = getattr(condition, "arguments", None)
    return [condition] if parts is None else [leaf for part in parts for leaf in _leaves(part)]


def _seen(found: Any) -> Any:
    """Whether there is a match, first and last row, labels."""
    return None if found is None else [(line[1] > 0, line[2], line[3], line[7]) for line in found]


def _searched(
    rows: list[dict[str, Any]],
    pattern: ir.RowPattern,
    parts: list[list[str]],
    defines: Any,
    skip: Skip,
    frame: Frame,
    following: int | None,
) -> Any:
    tests = {define.variable: define.condition for define in defines}
    lines: list[tuple[Any, ...]] = []
    base = 0
    for labels in parts:
        part = [row | {"labels": held} for row, held in zip(rows[base : base + len(labels)], labels, strict=True)]
        ends = [UNBOUNDED if following is None else following] * len(part)
        window = Window(
            pattern, lambda seen: _holds(seen, tests), ends, reference.Skip(skip.to, skip.variables), frame.seek
        )
        try:
            lines += map(_line, window_matches(window, part))
        except reference.SkipError:
            return None
        base += len(labels)
    return lines


def _holds(frame: Any, tests: dict[str, Any]) -> reference.Holds:
    def holds(variable: str, row: int, bindings: reference.Binding) -> bool:
        if variable not in frame[row]["labels"]:
            return False
        return variable not in tests or of.value(tests[variable], bindings, frame, 0) is True

    return holds


def _line(found: Found) -> tuple[Any, ...]:
    steps = found.match.steps if found.match else ()
    ends = (found.frame[steps[0].row]["id"], found.frame[steps[-1].row]["id"]) if steps else (None, None)
    return found.match is not None, *ends, [step.variable for step in steps]
