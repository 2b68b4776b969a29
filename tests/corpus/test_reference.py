"""The reference matcher gives the corpus's answer for every case."""

import pytest

from tests.corpus import AutomatonCase, EventCase, RowCase, automaton_cases, event_cases, row_cases
from tests.reference.automaton import EndlessError
from tests.reference.branches import UndefinedError
from tests.reference.corpus import (
    automaton_matches,
    event_aggregate,
    event_changes,
    event_matches,
    row_matches,
    row_output,
)
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


@pytest.mark.parametrize("case", automaton_cases(), ids=str)
def test_automaton_case(case: AutomatonCase) -> None:
    if case.error:
        with pytest.raises(EndlessError):
            automaton_matches(case)
        return
    assert case.matches is not None
    assert automaton_matches(case) == frozenset(case.matches)
    assert len(set(case.matches)) == len(case.matches)


def test_names_are_unique() -> None:
    names = [str(case) for case in (*row_cases(), *event_cases(), *automaton_cases())]
    assert len(names) == len(set(names))


def test_size() -> None:
    assert len(row_cases()) >= 120
    assert len(event_cases()) >= 80
