"""Steps 1 to 6 of SASE+ section 3.2: the formulas on the edges of the paper's Query 3 (Figure 2), and the parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkcep.engines.nfa_b.compilation import automata
from sparkcep.engines.nfa_b.conjuncts import normal_form, placed
from sparkcep.engines.nfa_b.structure import Component, lines
from sparkcep.errors import CepLimitError
from sparkcep.pattern.event import And, Element, Or, Seq
from sparkcep.spec.event import EventPatternSpec, Predicate, WithinTime
from sparkcep.spec.expression import AggregateOf, Call, ColumnOf, ElementOf, Expression

A, B, C = (Element(name, (name.upper(),)) for name in "abc")
SPEC = EventPatternSpec(
    variables=("a", "b"),
    pattern=Seq((Element("a", ("Stock",), 1, None), Element("b", ("Stock",)))),
    masks=("mask",),
    rank="rank",
    outputs=(),
    schema="{}",
    predicates=(
        Predicate(ElementOf("a", "high", "first"), "a[1].volume > 1000"),
        Predicate(
            Call("gt", (ElementOf("a", "price"), AggregateOf("avg", "a", "price", True))),
            "a[i].price > avg(a[..i-1].price)",
        ),
        Predicate(
            Call("lt", (ColumnOf("b", "volume"), ElementOf("a", "share", "last"))), "b.volume < 80%*a[a.LEN].volume"
        ),
    ),
    within=WithinTime("time", "deadline"),
    strategy="next",
)


def edges(spec: EventPatternSpec) -> list[str]:
    (automaton,) = automata(spec)
    return [str(edge) for edge in automaton.edges]


def test_query_3() -> None:
    b = "b is Stock AND b.volume < 80%*a[a.LEN].volume"
    take = "a[i] is Stock AND a[i].price > avg(a[..i-1].price)"
    assert edges(SPEC) == [
        "a[1] -begin-> a[i]: a[i] is Stock AND a[1].volume > 1000",
        f"a[i] -take-> a[i]: {take} AND time < a[1].time + WITHIN",
        f"a[i] -proceed-> b: begin of b ({b} AND time < a[1].time + WITHIN)",
        f"a[i] -ignore-> a[i]: NOT ({take}) AND time < a[1].time + WITHIN",
        f"b -begin-> F: {b} AND time < a[1].time + WITHIN",
        f"b -ignore-> b: NOT ({b}) AND time < a[1].time + WITHIN",
    ]


@pytest.mark.parametrize("strategy", ["partition_contiguity", "strict_contiguity"])
def test_contiguity_ignores_nothing(strategy: str) -> None:
    ignores = [edge for edge in edges(replace(SPEC, strategy=strategy, within=None)) if "ignore" in edge]
    assert ignores == ["a[i] -ignore-> a[i]: FALSE", "b -ignore-> b: FALSE"]


def compare(left: Expression, right: Expression) -> Call:
    return Call("lt", (left, right))


COMPONENTS = (Component("a", True, 1, None), Component("b"), Component("c", True, 1, None))


@pytest.mark.parametrize(
    ("condition", "edge"),
    [
        (compare(ElementOf("a", "x", "first"), ElementOf("a", "y", "first")), "begin a"),
        (compare(ElementOf("a", "x"), ElementOf("a", "x", "previous")), "take a"),
        (compare(ElementOf("a", "x"), AggregateOf("max", "a", "x", True)), "take a"),
        (compare(ElementOf("a", "x", "last"), ElementOf("a", "x", "first")), "proceed a"),
        (compare(ElementOf("a", "x", "last"), ColumnOf("b", "x")), "begin b"),
        (compare(ElementOf("c", "x"), ColumnOf("b", "x")), "take c"),
        (compare(ElementOf("c", "x", "first"), AggregateOf("sum", "a", "x")), "begin c"),
        (compare(AggregateOf("count", "c"), AggregateOf("count", "a")), "proceed c"),
        (compare(ElementOf("a", "x"), ColumnOf("b", "x")), "begin b, begin b"),
    ],
)
def test_a_conjunct_stands_where_its_last_identifier_is_instantiated(condition: Call, edge: str) -> None:
    found = placed((Predicate(condition, "p"),), COMPONENTS)
    assert ", ".join(f"{one.kind} {COMPONENTS[one.at].variable}" for one in found) == edge


def test_elements_of_a_complete_closure_become_their_extreme() -> None:
    found = placed((Predicate(compare(ElementOf("a", "x"), ColumnOf("b", "x")), "p"),), COMPONENTS)
    assert [str(one.condition) for one in found] == ["lt(MAX(a.x), b.x)", "eq(COUNT(a.x), COUNT(a.*))"]


PLACES = {"a": 0, "b": 1, "c": 2}
X, Y, Z = (ColumnOf(name, "x") for name in "abc")


def in_normal_form(condition: Expression) -> list[str]:
    return [str(part) for part in normal_form(condition, PLACES)]


def test_conjunctive_normal_form() -> None:
    assert in_normal_form(Call("or", (Call("and", (X, Y)), Z))) == ["or(a.x, c.x)", "or(b.x, c.x)"]
    assert in_normal_form(Call("not", (Call("or", (X, Y)),))) == ["not(a.x)", "not(b.x)"]


def test_what_may_fail_stays_behind_what_guards_it() -> None:
    fails = Call("gt", (Call("add", (Y, Y)), Y))
    assert in_normal_form(Call("or", (Call("and", (X, fails)), Y))) == ["or(a.x, b.x)", f"or(and(a.x, {fails}), b.x)"]
    assert in_normal_form(Call("or", (Call("and", (Z, fails)), Y))) == ["or(c.x, b.x)", f"or({fails}, b.x)"]


def test_what_stays_whole() -> None:
    """Neighbours, and what CASE or COALESCE says."""
    neighbours = Call("or", (Call("and", (X, ElementOf("b", "x", "previous"))), Z))
    choice = Call("or", (Call("and", (X, Y)), Z), whole=True)
    assert normal_form(neighbours, PLACES) == (neighbours,)
    assert normal_form(Call("and", (choice, Call("not", (choice,)))), PLACES) == (choice, Call("not", (choice,)))


def test_large_normal_forms_are_refused() -> None:
    pairs = tuple(Call("and", (ColumnOf("a", str(i)), ColumnOf("b", str(i)))) for i in range(9))
    with pytest.raises(CepLimitError):
        normal_form(Call("or", pairs), PLACES)


def test_lines_are_branches_and_the_orders_of_an_and() -> None:
    pattern = Or((And((A, B)), Seq((A, replace(C, low=0)))))
    found = [" ".join(component.variable for component in line.components) for line in lines(pattern)]
    assert found == ["a b", "b a", "a c", "a"]
