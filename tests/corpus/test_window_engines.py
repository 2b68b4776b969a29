"""The row pattern engine answers every case of windows whose conditions look at a row and its neighbours."""

import pytest

from sparkcep.errors import CepError
from sparkcep.spec.row import Aggregate, ColumnAt, CurrentRow, MatchNumber, Navigation, Output
from tests.adapters import row_source
from tests.corpus import RowCase
from tests.corpus.windows import WindowCase, window_cases
from tests.reference.window_corpus import window_found
from tests.window_adapters import window_lines

MATCH_DEPENDENT = ("SUM(", "LAST(A", "(A.x")
CASES = [
    case
    for case in window_cases()
    if not any(word in text for text in case.define.values() for word in MATCH_DEPENDENT)
]

COUNTED = [
    Output("row", CurrentRow("id")),
    Output("number", MatchNumber()),
    Output("first", ColumnAt("id", Navigation(last=False))),
    Output("last", ColumnAt("id", Navigation())),
    Output("rows", Aggregate("count")),
]
LISTED = [*COUNTED, Output("ids", Aggregate("array_agg", "id")), Output("labels", Aggregate("array_agg"))]
"""What lists rows is taken from matches written out; ``COUNTED`` from what matches share, where they overlap."""


@pytest.mark.parametrize("split", [False, True], ids=["all", "split"])
@pytest.mark.parametrize("outputs", [COUNTED, LISTED], ids=["counted", "listed"])
@pytest.mark.parametrize("case", [case for case in CASES if not case.error], ids=str)
def test_window_matches(case: WindowCase, outputs: list[Output], split: bool) -> None:
    lines = [(line[0], line[1] > 0, *line[2:]) for line in window_lines(case, outputs, split=split)]
    assert lines == [line[: len(outputs)] for line in expected(case)]


@pytest.mark.parametrize("case", [case for case in CASES if case.measures and case.output], ids=str)
def test_window_measures(case: WindowCase) -> None:
    like = RowCase("", case.pattern, case.partitions, subset=case.subset)
    asked = [row_source(text, like, False) for text in case.measures.values()]
    kept = [(i, source) for i, source in enumerate(asked) if source is not None]
    outputs = [Output("number", MatchNumber()), *(Output(f"m{i}", source) for i, source in kept)]
    assert case.output is not None
    for line, wanted in zip(window_lines(case, outputs), case.output, strict=True):
        if line[0] > 0:
            assert list(line[1:]) == [wanted[i] for i, _ in kept]


@pytest.mark.parametrize("case", [case for case in CASES if case.error], ids=str)
def test_window_error(case: WindowCase) -> None:
    for outputs in (COUNTED, LISTED):
        with pytest.raises(CepError) as raised:
            window_lines(case, outputs)
        assert raised.value.code == case.error


def expected(case: WindowCase) -> list[tuple[object, ...]]:
    """(row, has a match, its first and last row, how many, all of them, their variables)."""
    lines: list[tuple[object, ...]] = []
    for row, found in enumerate(window_found(case), 1):
        ahead, labels = found or (0, ())
        ids = [row + ahead + i for i in range(len(labels))]
        ends = (ids[0], ids[-1]) if ids else (None, None)
        lines.append((row, found is not None, *ends, len(ids), ids, [name for name, _ in labels]))
    return lines
