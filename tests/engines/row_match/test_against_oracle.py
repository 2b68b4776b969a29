"""Random patterns x labels x match-dependent conditions x options: the engine equals brute-force backtracking."""

from __future__ import annotations

from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.engines.row_match import engine as row_match
from sparkcep.errors import CepDataError
from sparkcep.pattern.row import Alternate, Concat, Empty, Excluded, PartitionEnd, PartitionStart, Permute, Quantified
from sparkcep.spec.row import (
    MOMENTS,
    Aggregate,
    ClassifierAt,
    ColumnAt,
    CurrentRow,
    MatchNumber,
    Navigation,
    Output,
    Skip,
)
from tests.draws import draws
from tests.engines.row_match import conditions as of
from tests.engines.row_pattern.helpers import A, B, C, D, make_spec, make_table, rep
from tests.reference import rows as reference

MOST_WAYS = 1_500
NAMES = ("A", "B", "C")

parts = st.sampled_from([A, A, B, B, C, A, B, C, Empty(), PartitionStart(), PartitionEnd()])
quantifiers = st.sampled_from([(0, None), (1, None), (1, None), (0, 1), (2, None), (0, 2), (1, 3), (2, 2), (0, 0)])


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    repeated = st.builds(lambda item, q, greedy: Quantified(item, *q, greedy), inner, quantifiers, st.booleans())
    return st.one_of(
        several.map(Concat), several.map(Concat), several.map(Alternate), several.map(Permute), inner.map(Excluded),
        repeated, repeated,
    )  # fmt: skip


patterns = st.recursive(parts, _composed, max_leaves=6)
labelled_rows = st.lists(st.sampled_from(["A", "B", "C", "AB", "ABC", "ABC", "BC", ""]), min_size=1, max_size=6)
partitions = st.lists(labelled_rows, min_size=1, max_size=2)
variables = st.sampled_from([(), ("A",), ("B",), ("C",), ("A", "B"), ("B", "C")])
columns = st.sampled_from(["value", "value", "id"])
logical, physical = st.sampled_from([0, 0, 0, 1, 1, 2]), st.sampled_from([0, 0, 0, -1, 1, -2, 2])


def _navigation(names: tuple[str, ...], last: bool, n: int, by: int) -> Navigation:
    return Navigation(names or None, last, True, n, by)


navigations = st.builds(_navigation, variables, st.booleans(), logical, physical)
values = st.builds(ColumnAt, columns, navigations)
functions = st.sampled_from(["count", "sum", "min", "max"])
totals = st.builds(
    lambda function, column, names, condition: Aggregate(function, column, names or None, True, False, condition),
    functions, columns, variables, st.sampled_from([None, None, "flag"]),
)  # fmt: skip
counts = variables.map(lambda names: Aggregate("count", None, names or None, True))
numbers = st.one_of(values, values, values, totals, counts, st.just(MatchNumber()), values.map(lambda v: v))
numbers = st.one_of(
    numbers, numbers, st.builds(lambda o, a, b: of.call(o, a, b), st.sampled_from(["add", "sub"]), numbers, numbers)
)
comparisons = st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne", "eq_null_safe"])
classifiers = st.builds(ClassifierAt, navigations)
moments = st.builds(
    lambda o, function, names, condition, a: of.call(o, Aggregate(function, "double", names or None, True, False, condition), a),
    comparisons, st.sampled_from(MOMENTS), variables, st.sampled_from([None, None, "flag"]), values,
)  # fmt: skip
means = st.builds(
    lambda o, names, condition, n, a: of.call(o, of.call("sub", Aggregate("avg", "money", names or None, True, False, condition), n), a),
    comparisons, variables, st.sampled_from([None, None, "flag"]), values, values,
)  # fmt: skip
averages = st.builds(lambda o, a, names: of.call(o, a, of.average("value", *names)), comparisons, values, variables)
tests = st.one_of(
    st.builds(of.call, comparisons, numbers, numbers),
    st.builds(of.call, comparisons, numbers, numbers),
    st.builds(of.call, comparisons, classifiers, classifiers),
    st.builds(
        lambda o, a, n: of.call(o, a, of.current(n)), comparisons, classifiers, st.sampled_from(["nameA", "nameB"])
    ),
    averages,
    moments,
    means,
    st.builds(lambda a: of.call("is_null", a), numbers),
)
logic = st.one_of(
    tests, tests, tests, st.builds(of.call, st.sampled_from(["and", "or"]), tests, tests),
    st.builds(lambda a: of.call("not", a), tests),
)  # fmt: skip
defines = st.lists(logic, min_size=1, max_size=3).map(
    lambda found: tuple(of.define(name, test) for name, test in zip(NAMES, found, strict=False))
)
skips = st.one_of(
    st.sampled_from([Skip(), Skip(), Skip("next_row")]),
    st.builds(Skip, st.sampled_from(["first", "last"]), st.sampled_from([("A",), ("B",), ("B", "C")])),
)

OUTPUTS = (
    Output("id", CurrentRow("id")),
    Output("number", MatchNumber()),
    Output("of", ClassifierAt(Navigation(running=True))),
    Output("sum", Aggregate("sum", "value", None, True)),
)


def _table(spec: Any, parts: list[list[str]]) -> pa.Table:
    count = sum(map(len, parts))
    data = [None if i % 5 == 3 else i * 7 % 4 - 1 for i in range(count)]
    flags = pa.array([None if i % 7 == 2 else i % 3 != 1 for i in range(count)], pa.bool_())
    names = {f"name{name}": pa.array([name] * count) for name in "AB"}
    double = pa.array([None if value is None else value * 1.7 for value in data], pa.float64())
    money = pa.array(
        [None if value is None else Decimal(value) + Decimal("0.37") for value in data], pa.decimal128(9, 2)
    )
    names["money"] = money
    return make_table(spec, parts, value=pa.array(data, pa.int64()), double=double, flag=flags, **names)


def _expected(spec: Any, parts: list[list[str]], data: list[dict[str, Any]]) -> list[tuple[Any, ...]] | str:
    out: list[tuple[Any, ...]] = []
    at = 0
    for labels in parts:
        rows = data[at : at + len(labels)]
        at += len(labels)
        try:
            matches = _matches(spec, labels, rows)
        except reference.SkipError:
            return "skip"
        for match in matches:
            running: int | None = None
            for step in match.steps:
                value = rows[step.row]["value"]
                running = running if value is None else value + (running or 0)
                if not step.excluded:
                    out.append((rows[step.row]["id"], match.number, step.variable, running))
            if not match.steps:
                out.append((rows[match.start]["id"], match.number, None, None))
    return out


def _matches(spec: Any, labels: list[str], rows: list[dict[str, Any]]) -> list[reference.Match]:
    conditions = {define.variable: define.condition for define in spec.defines}
    found: list[reference.Match] = []

    def holds(variable: str, row: int, bindings: reference.Binding) -> bool:
        if variable not in labels[row]:
            return False
        condition = conditions.get(variable)
        return condition is None or of.value(condition, bindings, rows, len(found) + 1) is True

    start = 0
    while start < len(rows) and not (spec.initial and start > 0):
        steps = reference.first_match(spec.pattern, holds, len(rows), start)
        if steps is None:
            start += 1
            continue
        found.append(reference.Match(len(found) + 1, start, steps))
        start = reference._next_start(found[-1], reference.Skip(spec.skip.to, spec.skip.variables))
    return found


def _actual(spec: Any, table: pa.Table) -> list[tuple[Any, ...]] | str:
    try:
        return [tuple(row.values()) for part in row_match.compile(spec).run(table) for row in part.to_pylist()]
    except CepDataError as error:
        assert error.code.startswith("CEP_DATA_SKIP_TO")
        return "skip"


def _check(spec: Any, parts: list[list[str]]) -> None:
    ways = reference._Backtracker(lambda *_: True, 6).paths(spec.pattern, 0, (), False)
    assume(sum(1 for _ in islice(ways, MOST_WAYS)) < MOST_WAYS)
    table = _table(spec, parts)
    found, expected = _actual(spec, table), _expected(spec, parts, table.to_pylist())
    assert found == expected, f"{spec.pattern} {spec.defines}"


@draws(400)
@given(patterns, partitions, defines, skips, st.booleans())
def test_engine_equals_backtracking(
    pattern: Any, parts: list[list[str]], conditions: Any, skip: Skip, initial: bool
) -> None:
    spec = make_spec(pattern, OUTPUTS, skip=skip, initial=initial, defines=conditions, rows_per_match="all_show_empty")
    _check(spec, parts)


@draws(100)
@given(patterns, partitions, defines, skips)
def test_wide_programs(pattern: Any, parts: list[list[str]], conditions: Any, skip: Skip) -> None:
    """The same pattern with a second branch that never matches, in Thompson's form."""
    wide = Alternate((pattern, rep(D, 70, 70)))
    _check(make_spec(wide, OUTPUTS, skip=skip, defines=conditions, rows_per_match="all_show_empty"), parts)
