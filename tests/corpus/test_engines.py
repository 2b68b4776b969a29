"""Every engine answers every case of the corpus that it does not refuse by name."""

from dataclasses import replace
from typing import Any

import pytest

from sparkcep.errors import CepError
from sparkcep.spec.row import Aggregate, ClassifierAt, ColumnAt, CurrentRow, MatchNumber, Navigation, Output
from tests.adapters import event_gap, event_matches, measure_outputs, row_gap, row_outputs
from tests.corpus import EventCase, RowCase, event_cases, row_cases

ROW_CASES = [case for case in row_cases() if row_gap(case) is None]
EVENT_CASES = [case for case in event_cases() if event_gap(case) is None]

ID = ColumnAt("id", Navigation(last=False))
MATCH_ROWS = [
    Output("row", CurrentRow("id")),
    Output("n", MatchNumber()),
    Output("c", ClassifierAt(Navigation(running=True))),
]
MATCH_SPANS = [
    Output("n", MatchNumber()),
    Output("first", ID),
    Output("last", ColumnAt("id", Navigation())),
    Output("rows", Aggregate("count")),
    Output("start", CurrentRow("id")),
]


@pytest.mark.parametrize("split", [False, True], ids=["all", "split"])
@pytest.mark.parametrize("case", [case for case in ROW_CASES if case.matches is not None], ids=str)
def test_row_matches(case: RowCase, split: bool) -> None:
    every_row = replace(case, rows_per_match="all_show_empty")
    assert row_outputs(every_row, MATCH_ROWS, split=split) == list(expected_rows(case))
    assert row_outputs(replace(case, rows_per_match="one"), MATCH_SPANS, split=split) == list(_expected_spans(case))


@pytest.mark.parametrize("split", [False, True], ids=["all", "split"])
@pytest.mark.parametrize("case", [case for case in ROW_CASES if case.output is not None], ids=str)
def test_row_output(case: RowCase, split: bool) -> None:
    outputs, kept = measure_outputs(case)
    assert case.output is not None
    if case.rows_per_match != "one":
        outputs, kept = [Output("row", CurrentRow("id")), *outputs], [-1, *kept]
    if not outputs:
        pytest.skip("every measure of this case is computed around the engine")
    lead = 0 if case.rows_per_match == "one" else 1
    expected = [tuple(line[position + lead] for position in kept) for line in case.output]
    assert row_outputs(case, outputs, split=split) == expected


@pytest.mark.parametrize("case", [case for case in ROW_CASES if case.error], ids=str)
def test_row_error(case: RowCase) -> None:
    with pytest.raises(CepError) as raised:
        row_outputs(case, MATCH_SPANS)
    assert raised.value.code.startswith(str(case.error))


@pytest.mark.parametrize("how", ["all", "split", "small chunks"])
@pytest.mark.parametrize("case", [case for case in EVENT_CASES if case.matches is not None], ids=str)
def test_event_matches(case: EventCase, how: str) -> None:
    options: dict[str, Any] = {"chunk": 2, "output_rows": 1} if how == "small chunks" else {"split": how == "split"}
    found = event_matches(case, **options)
    assert sorted(found, key=repr) == sorted(case.matches or (), key=repr)


@pytest.mark.parametrize("case", [case for case in EVENT_CASES if case.error], ids=str)
def test_event_error(case: EventCase) -> None:
    with pytest.raises(CepError) as raised:
        event_matches(case)
    assert raised.value.code.startswith(str(case.error))


def expected_rows(case: RowCase) -> Any:
    """(row, MATCH_NUMBER, CLASSIFIER) of ALL ROWS PER MATCH."""
    for number, start, steps in _numbered(case):
        if not steps:
            yield start + 1, number, None
        for offset, (variable, excluded) in enumerate(steps):
            if not excluded:
                yield start + offset + 1, number, variable


def _expected_spans(case: RowCase) -> Any:
    for number, start, steps in _numbered(case):
        ends = (start + 1, start + len(steps)) if steps else (None, None)
        yield number, *ends, len(steps), start + 1


def _numbered(case: RowCase) -> Any:
    """The expected matches with their numbers, which restart in each partition."""
    ends: list[int] = []
    for labels in case.partitions:
        ends.append((ends[-1] if ends else 0) + len(labels))
    counted: dict[int, int] = {}
    for start, steps in case.matches or ():
        partition = next(index for index, end in enumerate(ends) if start < end)
        counted[partition] = counted.get(partition, 0) + 1
        yield counted[partition], start, steps
