"""The row pattern engine against the reference: random patterns, rows, skip modes, row modes and measures."""

from dataclasses import replace
from typing import Any

from hypothesis import event, given

from sparkcep.errors import CepDataError
from sparkcep.spec.row import CurrentRow, Output
from tests.adapters import measure_outputs, row_outputs
from tests.corpus import RowCase
from tests.draws import draws
from tests.properties.strategies import row_cases
from tests.reference.corpus import row_output
from tests.reference.rows import SkipError


@draws(400)
@given(row_cases())
def test_engine_answers_as_the_reference(case: RowCase) -> None:
    expected = _expected(case)
    event("error" if expected is None else f"{len(expected)} rows")
    assert _found(case, False) == expected
    assert _found(case, True) == expected


def _expected(case: RowCase) -> list[tuple[Any, ...]] | None:
    try:
        return list(row_output(case))
    except SkipError:
        return None


def _found(case: RowCase, split: bool) -> list[tuple[Any, ...]] | None:
    outputs, kept = measure_outputs(case)
    assert len(kept) == len(case.measures)
    if case.rows_per_match != "one":
        outputs = [Output("row", CurrentRow("id")), *outputs]
    try:
        return row_outputs(case, outputs, split=split)
    except CepDataError:
        return None


@draws(150)
@given(row_cases())
def test_matches_are_the_same_whatever_is_asked(case: RowCase) -> None:
    """Every row of every match, by classifier: the sharpest view of a match."""
    sharp = {"n": "MATCH_NUMBER()", "c": "RUNNING LAST(CLASSIFIER())", "k": "FINAL COUNT(*)"}
    shown = replace(case, measures=sharp, rows_per_match="all_show_empty")
    assert _found(shown, False) == _expected(shown)
