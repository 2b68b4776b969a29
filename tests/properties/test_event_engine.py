"""The skip-till-any engine against the reference: random patterns, streams, windows, predicates and partitions."""

from typing import Any
from unittest.mock import patch

from hypothesis import assume, event, given

from sparkcep.engines.event_pattern.candidates import ranges
from sparkcep.engines.event_pattern.search import order, tree
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from tests.adapters import event_matches, event_tables
from tests.corpus import EventCase
from tests.draws import draws
from tests.properties.strategies import event_cases
from tests.reference.branches import UndefinedError
from tests.reference.corpus import event_matches as reference_matches

OPTIONS: tuple[dict[str, Any], ...] = (
    {"engine": "chain"},
    {"engine": "eager", "negation": "first"},
    {"engine": "stack"},
    {"engine": "stack", "chunk": 1, "output_rows": 1},
    {"engine": "tree", "negation": "first"},
    {"split": True, "negation": "post"},
    {"chunk": 1, "output_rows": 1},
    {"slow": True},
)


@draws(220)
@given(event_cases(kleene=False))
def test_engine_answers_as_the_reference(case: EventCase) -> None:
    _check(case)


@draws(130)
@given(event_cases(over_closures=True))
def test_closures(case: EventCase) -> None:
    _check(case)


@draws(130)
@given(event_cases(groups=True, over_closures=True))
def test_negated_groups(case: EventCase) -> None:
    _check(case)


def _check(case: EventCase) -> None:
    expected = _expected(case)
    event("error" if expected is None else f"{min(len(expected), 5)} matches")
    tables = event_tables(case)
    for options in OPTIONS:
        assert _found(case, tables=tables, **options) == expected, options
    with (
        patch.multiple(ranges, KERNEL_PAIRS=0, SORTED_AFTER=0, SELECTIVE=2.0, BLOCK=2, FANOUT=2),
        patch.multiple(order, MIN_EVENTS=0, CHEAP=-1, MEASURING=-1),  # so that orders are chosen by measured cost
    ):
        assert _found(case, tables=tables) == expected
    with patch.object(tree, "MIN_BLOCK", 1), patch.object(tree, "WINDOWS", 1):  # so that there are several blocks
        assert _found(case, tables=tables, engine="tree", negation="first") == expected


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
        assume("PREDICATE_OVER_NEGATIONS" not in error.code)
        raise


def _plain(match: tuple[Any, ...]) -> tuple[Any, ...]:
    """Below an OR the reference does not tell an empty closure from a branch not taken."""
    return tuple(None if value == () else value for value in match)
