"""The reference against itself: two definitions of the same thing must agree, and some strategies contain others."""

from dataclasses import replace

from hypothesis import given

from tests.corpus import EventCase
from tests.draws import draws
from tests.properties.strategies import event_cases
from tests.reference.branches import UndefinedError, branches
from tests.reference.corpus import event_matches, event_query
from tests.reference.events import in_window, placements, streams
from tests.reference.nfa import next_placements

POSITIVE = event_cases(negation=False)


@draws(150)
@given(POSITIVE)
def test_contiguity_is_the_rule_without_ignore(case: EventCase) -> None:
    """Adjacent events among all assignments = NFA^b runs that never ignore (SASE+ section 3.2, step 3)."""
    query = event_query(replace(case, strategy="partition_contiguity"))
    for stream in streams(query, case.events):
        for branch in branches(query.pattern):
            runs = _runs(branch, query, stream, may_ignore=False)
            if runs is None:
                return
            adjacent = [one for one in placements(branch, query, stream) if _adjacent(stream, one)]
            assert _set(runs) == _set(adjacent)


@draws(150)
@given(POSITIVE)
def test_next_matches_are_assignments_in_total_order(case: EventCase) -> None:
    query = event_query(replace(case, strategy="next"))
    for stream in streams(query, case.events):
        for branch in branches(query.pattern):
            runs = _runs(branch, query, stream, may_ignore=True)
            if runs is not None:
                assert _set(runs) <= _set(placements(branch, query, stream))


@draws(100)
@given(event_cases())
def test_non_overlapping_matches_are_matches_apart(case: EventCase) -> None:
    try:
        every = event_matches(case)
    except UndefinedError:
        return
    chosen = event_matches(replace(case, non_overlapping=True))
    assert chosen <= every
    assert bool(chosen) == bool(every)


@draws(100)
@given(event_cases())
def test_a_wider_window_loses_no_positive_match(case: EventCase) -> None:
    query = event_query(case)
    for stream in streams(query, case.events):
        for branch in branches(query.pattern):
            found = placements(branch, query, stream)
            wider = replace(query, within=None if query.within is None else query.within + 1)
            kept = [one for one in found if in_window(query, stream, one)]
            assert all(in_window(wider, stream, one) for one in kept)


def _runs(branch, query, stream, *, may_ignore):  # type: ignore[no-untyped-def]
    try:
        return next_placements(branch, query, stream, may_ignore=may_ignore)
    except UndefinedError:
        return None


def _set(found):  # type: ignore[no-untyped-def]
    return {tuple(sorted(placement.items())) for placement in found}


def _adjacent(stream, placement):  # type: ignore[no-untyped-def]
    places = sorted(stream.places[event] for events in placement.values() for event in events)
    return places == list(range(places[0], places[0] + len(places)))
