"""The NFA^b engine against the reference: random patterns, streams, windows and predicates under its three strategies."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, event, given

from sparkcep.engines.nfa_b import search
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from tests.adapters import event_matches, event_tables
from tests.corpus import EventCase
from tests.draws import draws
from tests.properties.strategies import event_cases
from tests.reference.branches import UndefinedError
from tests.reference.corpus import event_matches as reference_matches

STRATEGIES = ("next", "partition_contiguity", "strict_contiguity")

REFUSED = ("PREDICATE_OVER_NEGATIONS", "KLEENE_IN_AND")


@pytest.mark.parametrize("strategy", STRATEGIES)
@draws(120)
@given(case=event_cases(over_closures=True))
def test_engine_answers_as_the_reference(strategy: str, case: EventCase) -> None:
    _check(replace(case, strategy=strategy))


@pytest.mark.parametrize("strategy", STRATEGIES)
@draws(50)
@given(case=event_cases(groups=True, over_closures=True))
def test_negated_groups(strategy: str, case: EventCase) -> None:
    _check(replace(case, strategy=strategy))


@pytest.mark.parametrize("strategy", ("any", *STRATEGIES))
@draws(50)
@given(case=event_cases(over_closures=True))
def test_non_overlapping(strategy: str, case: EventCase) -> None:
    """Under skip till any, concurrent events can leave two matches that nothing tells apart: there the times differ."""
    if strategy == "any":
        times = [one["ts"] for one in case.events]
        assume(len(set(times)) == len(times))
    _check(replace(case, strategy=strategy, non_overlapping=True))


def _check(case: EventCase) -> None:
    expected = _expected(case)
    event("error" if expected is None else f"{min(len(expected), 5)} matches")
    ways: tuple[dict[str, Any], ...] = ({}, {"split": True}, {"output_rows": 1}, {"slow": True})
    if case.strategy != "any":
        ways = (*ways, {"engine": "basic"}, {"engine": "backtrack"})
    tables = event_tables(case)
    for options in ways:
        assert _found(case, tables=tables, **options) == expected, options
    with patch.multiple(search, FIRST_RUNS=2, FIRST_NODES=4, MOST_ENDS=4):
        assert _found(case, tables=tables) == expected


def _expected(case: EventCase) -> list[tuple[Any, ...]] | None:
    try:
        return sorted(map(_plain, reference_matches(case)), key=repr)
    except UndefinedError:
        return None


def _found(case: EventCase, **options: Any) -> list[tuple[Any, ...]] | None:
    try:
        return sorted(map(_plain, event_matches(case, **options)), key=repr)
    except CepAnalysisError as error:
        assume("NO_POSITIVE_EVENT" not in error.code)
        return None
    except CepUnsupportedError as error:
        assume(not any(code in error.code for code in REFUSED))
        raise


def _plain(match: tuple[Any, ...]) -> tuple[Any, ...]:
    """Below an OR the reference does not tell an empty closure from a branch not taken."""
    return tuple(None if value == () else value for value in match)
