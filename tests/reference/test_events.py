"""The event reference on what the corpus' texts do not show: normal form, API, counts of the papers' generators."""

import pytest

from sparkcep.pattern import event as ir
from tests.reference.aggregates import aggregate
from tests.reference.branches import UndefinedError, branches, negations
from tests.reference.events import Condition, Query, match_events
from tests.reference.nfa import linear
from tests.reference.text import event_pattern


def stream(types: str) -> list[dict[str, object]]:
    return [{"type": letter, "ts": at} for at, letter in enumerate(types)]


def test_matches_name_positions() -> None:
    query = Query(event_pattern("SEQ(A a, B+ b, C? c)"))
    expected = {
        (("a", 0), ("b", (1,)), ("c", None)),
        (("a", 0), ("b", (1,)), ("c", 2)),
    }
    assert match_events(query, stream("ABC")) == expected


def test_conditions_are_callables_over_lists() -> None:
    later = Condition({"a": "whole", "b": "whole"}, lambda bound: bound["b"][0]["ts"] - bound["a"][0]["ts"] > 1)
    query = Query(event_pattern("SEQ(A a, B b)"), conditions=(later,))
    assert match_events(query, stream("ABB")) == {(("a", 0), ("b", 2))}


def test_optional_parts_and_or_become_branches() -> None:
    found = branches(event_pattern("SEQ(A? a, OR(B b, SEQ(C c, D d)))"))
    assert [str(branch) for branch in found] == [
        "B b",
        "SEQ(C c, D d)",
        "SEQ(A a, B b)",
        "SEQ(A a, C c, D d)",
    ]


def test_negations_know_their_neighbours() -> None:
    (branch,) = branches(event_pattern("SEQ(A a, AND(B b, C c), NOT N, D d)"))
    ((item, before, after),) = negations(branch)
    assert (str(item), sorted(before), sorted(after)) == ("NOT N N", ["a", "b", "c"], ["d"])


def test_orders_of_an_and_keep_its_sequences() -> None:
    (branch,) = branches(event_pattern("AND(SEQ(A a, B b), C c)"))
    orders = sorted("".join(element.variable for element in order) for order in linear(branch))
    assert orders == ["abc", "acb", "cab"]


def test_a_closure_in_an_and_has_no_next_match() -> None:
    with pytest.raises(UndefinedError):
        match_events(Query(event_pattern("AND(A+ a, B b)"), "next"), stream("AB"))


def test_count_of_a_power_set() -> None:
    """2^n - 1 closures (semantics page, ANY)."""
    query = Query(event_pattern("SEQ(A a, B+ b, C c)"))
    assert len(match_events(query, stream("A" + "B" * 8 + "C"))) == 255


def test_count_of_equal_types() -> None:
    query = Query(ir.Seq(tuple(ir.Element(f"v{index}", ("A",)) for index in range(3))))
    events = stream("AAAAAA")
    assert aggregate(sorted(match_events(query, events), key=repr), events, ("count", None, None)) == 20
