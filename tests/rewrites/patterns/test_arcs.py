"""Arcs added to and dropped from the text of an automaton."""

from __future__ import annotations

import pytest

from rewrites.dialect.stored_bodies import check_body
from rewrites.patterns.arcs import arcs, with_arcs, without_arc
from sparkcep.errors import CepError

BODY = """ORDER BY ts REGISTERS (n INT DEFAULT 0) START s FINAL f
ARC s -> s NAMED stay WHEN type = 'A' SET n = n + 1 -- again
ARC s -> f WHEN type = 'B' AND x > 1 /* done */
WITHIN 10"""


def states(body: str) -> list[tuple[str, str, str | None]]:
    assert check_body(body) == "MATCH AUTOMATON"
    return [(arc.source.value, arc.target.value, arc.name and arc.name.value) for arc in arcs(body)]


def test_added_behind_the_last() -> None:
    body = with_arcs(BODY, "ARC s -> g NAMED go ARC g -> f ON EPSILON")
    assert states(body) == [("s", "s", "stay"), ("s", "f", None), ("s", "g", "go"), ("g", "f", None)]
    assert body.endswith("WITHIN 10")


@pytest.mark.parametrize(
    ("wanted", "left"), [("Stay", ("s", "f", None)), ("S -> s", ("s", "f", None)), ("s->f", ("s", "s", "stay"))]
)
def test_dropped(wanted: str, left: tuple[str, str, str | None]) -> None:
    assert states(without_arc(BODY, wanted)) == [left]


@pytest.mark.parametrize("wanted", ["f -> s", "go", "s", "s -> f WHEN x"])
def test_no_such_arc(wanted: str) -> None:
    with pytest.raises(CepError) as raised:
        without_arc(BODY, wanted)
    assert raised.value.hint


def test_two_arcs_between_the_same_states() -> None:
    with pytest.raises(CepError, match="the pattern has 2 arcs s -> f"):
        without_arc(with_arcs(BODY, "ARC s -> f WHEN type = 'C'"), "s -> f")
