"""Drawn automata over drawn streams: the engine finds the reference's set, each match once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.engines.automaton import codes, engine, log
from sparkcep.errors import CepDataError, CepLimitError
from tests.automata import automaton_spec, events_table, found
from tests.draws import draws
from tests.properties.automata import automata, events
from tests.reference.automaton import Automaton, EndlessError, match_automaton

MOST_MATCHES = 20_000


def answers(automaton: Automaton, partitions: list[list[dict[str, Any]]]) -> list[Any] | None:
    """The reference's; None where ε-arcs go on for ever."""
    try:
        return [match_automaton(automaton, part) for part in partitions]
    except EndlessError:
        return None


@draws(400)
@given(automata(), st.lists(events(), min_size=1, max_size=3))
def test_engine_equals_reference(automaton: Automaton, partitions: list[list[dict[str, Any]]]) -> None:
    partitions = [part for part in partitions if part]
    if not partitions:
        return
    expected = answers(automaton, partitions)
    if expected is None:
        with pytest.raises((CepLimitError, CepDataError), match=r"CEP_LIMIT_EPSILON|CEP_DATA_OVERFLOW"):
            found(automaton, partitions)  # what is doubled without end overflows before the limit is reached
        return
    actual = found(automaton, partitions)
    assert [frozenset(matches) for matches in actual] == expected
    assert [len(matches) for matches in actual] == [len(matches) for matches in expected]


@draws(60)
@given(automata(), events(7))
def test_counting_finds_the_same(automaton: Automaton, stream: list[dict[str, Any]]) -> None:
    """With all ε-arcs, and every run asked at every event, there are as many matches; no arc is taken more often than asked."""
    expected = answers(automaton, [stream]) if stream else None
    if expected is None:
        return
    compiled = engine.compile(automaton_spec(automaton, [stream]))
    counts = compiled.analyze(events_table(automaton, [stream])).found
    assert counts["matches", ""][1] == len(expected[0])
    assert all(tried >= taken for (section, _), (_, tried, taken) in counts.items() if section == "arc")


@draws(60)
@given(automata(), events(7))
def test_little_room(automaton: Automaton, stream: list[dict[str, Any]]) -> None:
    if not stream or answers(automaton, [stream]) is None:
        return
    whole = found(automaton, [stream])
    room, matches = log.FIRST_ROOM, log.BATCH_MATCHES
    log.FIRST_ROOM, log.BATCH_MATCHES = 4, 1
    try:
        assert found(automaton, [stream]) == whole
    finally:
        log.FIRST_ROOM, log.BATCH_MATCHES = room, matches


def test_codes_agree_with_the_memory() -> None:
    assert log.FIRST_ROOM & (log.FIRST_ROOM - 1) == 0
    assert codes.FEW > 0
