"""Several patterns in one pass: the answers of each alone, the paper's Examples 6-9, and the plan."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from sparkcep.engines.aseq import engine
from sparkcep.engines.aseq.sequences import sequences
from sparkcep.engines.aseq.sharing import plan_sharing
from sparkcep.pattern.event import Element, Or, elements
from sparkcep.spec.aggregate import AggregateOutput, MatchAggregate, NamedPattern, PatternName
from tests.adapters import event_tables
from tests.corpus import EventCase
from tests.engines.aseq.cases import aggregate_spec
from tests.engines.aseq.test_engine import COUNT, count, stream
from tests.reference.text import event_pattern

EXAMPLE_6 = {
    "q1": "SEQ(VKindle vk, BKindle bk, VCase vc, BCase bc)",
    "q2": "SEQ(VKindle vk, BKindle bk, VKindleFire vkf)",
    "q3": "SEQ(VKindle vk, BKindle bk, VCase vc, BCase bc, VeBook ve, BeBook be)",
    "q4": "SEQ(VKindle vk, BKindle bk, VCase vc, BCase bc, VLight vl, BLight bl)",
    "q5": "SEQ(ViPad vi, VKindleFire vkf, VKindle vk, BKindle bk)",
}


def counts(patterns: dict[str, str], case: EventCase, sources: Sequence[MatchAggregate]) -> dict[str, list[Any]]:
    """Per pattern the rows of all its partitions, counted in the planned passes."""
    named = tuple(NamedPattern(name, event_pattern(text)) for name, text in patterns.items())
    tests = {e.variable: Element(e.variable, e.types) for one in named for e in elements(one.pattern)}
    case = replace(case, pattern=str(Or(tuple(tests.values()))))
    spec = aggregate_spec(case, sources)
    spec = replace(spec, patterns=named, outputs=(AggregateOutput("pattern", PatternName()), *spec.outputs))
    found: dict[str, list[Any]] = {name: [] for name in patterns}
    for result in engine.compile(spec).run(pa.concat_tables(event_tables(case))):
        for name, *values in zip(*(result.column(i).to_pylist() for i in range(result.num_columns)), strict=True):
            found[name].append(tuple(values))
    return found


@pytest.mark.parametrize("within", [None, 9, 40])
@pytest.mark.parametrize("seed", range(4))
def test_together_as_alone(seed: int, within: int | None) -> None:
    """Random patterns over the same variables, long streams with ties, three partitions."""
    choose = random.Random(seed)
    patterns = {f"p{i}": drawn(choose) for i in range(5)}
    events = tuple(
        {"id": i, "type": choose.choice("AABBCD"), "ts": choose.randrange(80), "x": choose.randrange(9), "k": i % 3}
        for i in range(120)
    )
    case = EventCase("case", "A a", events, within=within, partition=("k",))
    sources = [COUNT, *(MatchAggregate(function, "b", "x") for function in ("sum", "min"))]
    together = counts(patterns, case, [replace(source, number="double") for source in sources])
    for name, text in patterns.items():
        assert sorted(together[name], key=repr) == sorted(counts({name: text}, case, sources)[name], key=repr)


def drawn(choose: random.Random) -> str:
    """SEQ(…) of elements that other patterns have too."""
    parts = ["A a", "B b", "C c", "A+ a", "B+ b", "C{1,2} c"]
    items = [choose.choice([part for part in parts if part[-1] == name]) for name in choose.sample("abc", 3)]
    if choose.random() < 0.5:
        items.insert(choose.randrange(1, 3), "!D d")
    return f"SEQ({', '.join(items)})"


def test_examples_6_and_7() -> None:
    """The five click patterns of the paper: Q1-Q4 share a prefix, Q1, Q3 and Q4 a longer one."""
    text = "VKindle BKindle ViPad VCase VKindleFire BCase VKindle VLight VeBook BeBook BKindle BLight"
    case = EventCase("case", "A a", stream(text), within=100)
    assert counts(EXAMPLE_6, case, [COUNT]) == {"q1": [(1,)], "q2": [(1,)], "q3": [(1,)], "q4": [(1,)], "q5": [(1,)]}
    for windowed in (False, True):
        plan = plan_sharing(
            [(name, sequences(event_pattern(text))) for name, text in EXAMPLE_6.items()], windowed=windowed
        )
        assert plan.passes == ((0, 1, 2, 3, 4),)
        assert plan.cost < plan.alone
        texts = [str(one) for one in plan.shared]
        assert "prefix (vk, bk, vc) of q1, q3, q4" in texts
        assert "prefix (vk, bk) of q1, q2, q3, q4" in texts


def test_examples_8_and_9() -> None:
    """Figures 10 and 11: windows of 9 s, sub-patterns (D, E) and (F, G) shared by two patterns each."""
    names = ["a", "b", "c", "a", "b", "d", "c", "a", "d", "e"]
    events = tuple({"id": i, "type": name.upper(), "ts": i + 1, "x": 1} for i, name in enumerate(names))
    events += ({"id": 10, "type": "F", "ts": 11, "x": 1}, {"id": 11, "type": "G", "ts": 12, "x": 1})
    case = EventCase("case", "A a", events, within=9)
    patterns = {
        "abcde": "SEQ(A a, B b, C c, D d, E e)",
        "bde": "SEQ(B b, D d, E e)",
        "abcdefg": "SEQ(A a, B b, C c, D d, E e, F f, G g)",
        "efg": "SEQ(E e, F f, G g)",
    }
    found = counts(patterns, case, [COUNT])
    assert found == {"abcde": [(1,)], "bde": [(4,)], "abcdefg": [(1,)], "efg": [(1,)]}
    assert [count(text, events, within=9) for text in patterns.values()] == [1, 4, 1, 1]


def test_patterns_with_nothing_in_common() -> None:
    """One pass reads the rows once, but every START event would keep the prefixes of all patterns."""
    long = {name: f"SEQ({', '.join(f'T{name}{i} {name}{i}' for i in range(12))})" for name in "abcdef"}
    plan = plan_sharing([(name, sequences(event_pattern(text))) for name, text in long.items()], windowed=True)
    assert not plan.shared
    assert len(plan.passes) > 1
