"""The skip-till-any engine against the reference: random patterns, streams, windows, predicates and partitions."""

from typing import Any

from hypothesis import assume, event, given, settings

from sparkcep.errors import CepAnalysisError
from tests.adapters import event_matches
from tests.corpus import EventCase
from tests.properties.strategies import event_cases
from tests.reference.branches import UndefinedError
from tests.reference.corpus import event_matches as reference_matches


@settings(max_examples=4000, deadline=None)
@given(event_cases(kleene=False))
def test_engine_answers_as_the_reference(case: EventCase) -> None:
    expected = _expected(case)
    event("error" if expected is None else f"{min(len(expected), 5)} matches")
    for options in ({}, {"split": True}, {"chunk": 1, "output_rows": 1}):
        assert _found(case, **options) == expected


def _expected(case: EventCase) -> list[tuple[Any, ...]] | None:
    try:
        return sorted(reference_matches(case), key=repr)
    except UndefinedError:
        return None


def _found(case: EventCase, **options: Any) -> list[tuple[Any, ...]] | None:
    try:
        return sorted(event_matches(case, **options), key=repr)
    except CepAnalysisError as error:
        assume("NO_POSITIVE_EVENT" not in error.code)
        return None
