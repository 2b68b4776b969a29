"""Drawn automata and streams: up to five states and three registers, ε-arcs, ignorable arcs, arcs at the window's end, finals with arcs out of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.reference.automaton import Arc, Automaton
from tests.reference.sql import Call, Literal, Node, Ref

STATES = ("s", "a", "b", "c", "d")
REGISTERS = ("r", "p", "t")
SMALL = st.integers(0, 3)
X, TYPE = Ref(None, "x"), Ref(None, "type")


@cache
def events(most: int = 9) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Events of three types with a small number, at times that may be equal and may be apart."""
    event = st.tuples(st.sampled_from("ABC"), st.one_of(st.none(), SMALL), st.integers(0, 2))

    def timed(drawn: list[tuple[str, int | None, int]]) -> list[dict[str, Any]]:
        found, time = [], 0
        for kind, x, gap in drawn:
            time += gap
            found.append({"type": kind, "x": x, "ts": time})
        return found

    return st.lists(event, max_size=most).map(timed)


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    """Any graph: loops, dead ends and unreachable states too."""
    states = STATES[: draw(st.integers(2, 5))]
    names = REGISTERS[: draw(st.integers(0, 3))]
    within = draw(st.one_of(st.none(), st.integers(1, 6)))
    arcs = draw(st.lists(_arc(states, names, within is not None), min_size=1, max_size=8))
    finals = draw(st.lists(st.sampled_from(states), min_size=1, max_size=2, unique=True))
    registers = {name: draw(st.one_of(st.none(), SMALL)) for name in names}
    return Automaton("s", tuple(finals), tuple(arcs), registers, within)


@st.composite
def _arc(draw: st.DrawFn, states: tuple[str, ...], names: tuple[str, ...], windows: bool) -> Arc:
    kinds = ["event"] * 5 + ["epsilon"] + ["window_end"] * windows
    on = draw(st.sampled_from(kinds))
    source, target = draw(st.sampled_from(states)), draw(st.sampled_from(states))
    when = draw(st.one_of(st.none(), _condition(names, on == "event")))
    registers = [Ref(None, name) for name in names]
    given = (*registers, *([X] if on == "event" else []))
    sets = draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
    low, high = draw(
        st.one_of(
            st.just((None, None)), st.just((None, None)), st.just((None, None)), st.tuples(SMALL, st.integers(2, 9))
        )
    )
    return Arc(source, target, on, when, tuple((name, draw(_value(given))) for name in sets), (low, high))


@cache
def _condition(names: tuple[str, ...], event: bool) -> st.SearchStrategy[Node]:
    """A test of the type, of x, of a register, or some of them together."""
    registers: list[Node] = [Ref(None, name) for name in names]
    options: list[st.SearchStrategy[Node]] = []
    if event:
        options.append(st.sampled_from("ABC").map(lambda kind: Call("=", (TYPE, Literal(kind)))))
        options.append(
            st.tuples(st.sampled_from(["<", ">=", "="]), SMALL).map(lambda t: Call(t[0], (X, Literal(t[1]))))
        )
    if registers:
        right = st.one_of(SMALL.map(Literal), st.sampled_from([*registers, *([X] if event else [])]))
        tests = st.tuples(st.sampled_from(["<", ">", "=", "!="]), st.sampled_from(registers), right)
        options.append(tests.map(lambda t: Call(t[0], (t[1], t[2]))))
        options.append(st.sampled_from(registers).map(lambda r: Call("IS NULL", (r,))))
    if not options:
        return st.just(Call("=", (Literal(1), Literal(1))))
    one = st.one_of(options)
    return st.one_of(
        one, one, st.tuples(one, one).map(lambda t: Call("AND", t)), st.tuples(one, one).map(lambda t: Call("OR", t))
    )


@cache
def _value(given: tuple[Node, ...]) -> st.SearchStrategy[Node]:
    leaf = st.one_of(SMALL.map(Literal), *([st.sampled_from(given)] if given else []))
    # bounded, so that cycles of ε-arcs run into values that they have met
    rest = st.tuples(st.sampled_from(["+", "-", "*"]), leaf, leaf).map(lambda t: Call(t[0], (t[1], t[2])))
    return st.one_of(leaf, leaf, rest)
