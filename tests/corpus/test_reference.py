"""The reference matcher gives the corpus's answer for every case."""

import pytest

from tests.corpus import EventCase, RowCase, event_cases, row_cases
from tests.reference.branches import UndefinedError
from tests.reference.corpus import event_aggregate, event_changes, event_matches, row_matches, row_output
from tests.reference.rows import SkipError


@pytest.mark.parametrize("case", row_cases(), ids=str)
def test_row_case(case: RowCase) -> None:
    if case.error:
        with pytest.raises(SkipError):
            row_matches(case)
        return
    if case.matches is not None:
        assert row_matches(case) == case.matches
    if case.output is not None:
        assert row_output(case) == case.output


@pytest.mark.parametrize("case", event_cases(), ids=str)
def test_event_case(case: EventCase) -> None:
    if case.error:
        with pytest.raises(UndefinedError):
            event_matches(case)
        return
    if case.matches is not None:
        assert event_matches(case) == frozenset(case.matches)
        assert len(set(case.matches)) == len(case.matches)
    for text, value in case.aggregates.items():
        assert event_aggregate(case, text) == value, text
    if case.changes is not None:
        assert event_changes(case) == case.changes


def test_names_are_unique() -> None:
    names = [str(case) for case in (*row_cases(), *event_cases())]
    assert len(names) == len(set(names))


def test_size() -> None:
    assert len(row_cases()) >= 120
    assert len(event_cases()) >= 80
