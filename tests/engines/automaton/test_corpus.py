"""The engine answers every automaton of the corpus as the corpus says: whole, partition by partition, and with room for little."""

from __future__ import annotations

import pytest

from sparkcep.engines.automaton import log
from sparkcep.errors import CepError
from tests.automata import found
from tests.corpus import AutomatonCase, automaton_cases
from tests.reference.corpus import automaton, automaton_partitions


@pytest.mark.parametrize("case", automaton_cases(), ids=str)
def test_matches(case: AutomatonCase) -> None:
    if case.error:
        with pytest.raises(CepError) as caught:
            found(automaton(case), automaton_partitions(case))
        assert caught.value.code.startswith(case.error)
        return
    partitions = automaton_partitions(case)
    answers = found(automaton(case), partitions)
    lines = [
        (events[first]["id"], events[last]["id"], state, *values)
        for events, matches in zip(partitions, answers, strict=True)
        for first, last, state, values in matches
    ]
    assert case.matches is not None
    assert sorted(lines, key=repr) == sorted(case.matches, key=repr)


@pytest.mark.parametrize("case", [case for case in automaton_cases() if not case.error], ids=str)
def test_little_room(case: AutomatonCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log and the matches are made longer, and what is over is forgotten, between any two events."""
    partitions = automaton_partitions(case)
    whole = found(automaton(case), partitions)
    monkeypatch.setattr(log, "FIRST_ROOM", 4)
    monkeypatch.setattr(log, "BATCH_MATCHES", 1)
    assert found(automaton(case), partitions) == whole
