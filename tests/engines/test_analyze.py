"""EXPLAIN ANALYZE PATTERN's counts, against counts made by walking the automaton and by trying all combinations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pyarrow as pa
import pytest

from rewrites.dialect import parse_event_pattern, parse_row_pattern
from sparkcep.engines.engine import evaluation
from sparkcep.engines.row_pattern import engine as row_pattern
from sparkcep.explanation.automaton import END, START, edges
from sparkcep.pattern.event import elements
from sparkcep.spec import AnalyzeSpec
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, MatchAggregate, NamedPattern
from sparkcep.spec.event import EventPatternSpec, Predicate
from sparkcep.spec.expression import Call, ColumnOf
from sparkcep.spec.row import ColumnAt, Define, Navigation
from tests.engines.row_match.helpers import spec_of, table_of
from tests.engines.row_pattern.helpers import make_spec, make_table

PATTERNS = [
    "A B C",
    "A+ B? C",
    "A (B | C)* D",
    "(A | A B){2} C",
    "A{2,3}? B",
    "PERMUTE(A, B, C)",
    "(A B){40} C",
    "A B $",
]


def counted(run, table):
    """{(section, item): (tried, taken)} of one batch."""
    (result,) = run(table)
    return {(row["section"], row["item"]): _numbers(row) for row in result.to_pylist()}


def _numbers(row):
    return tuple(None if row[name] is None else int(row[name]) for name in ("tried", "taken"))


def walked(spec, partitions):
    """(tried, taken) per state: every row begins a partial match, which goes wherever the automaton's edges lead."""
    steps = edges(spec)
    after = {}
    for step in steps:
        after.setdefault(step.source, []).append(step.target)
    found = {name: [0, 0] for name in after if name != START}
    for rows in partitions:
        at = set()
        for row in rows:
            at |= set(after[START])
            here, at = at, set()
            for name in (name for name in here if not name.startswith(END)):
                found[name][0] += 1
                if name[0] in row:
                    found[name][1] += 1
                    at |= set(after[name])
    return {name: tuple(numbers) for name, numbers in found.items()}


@pytest.mark.parametrize("text", PATTERNS)
def test_states_of_a_row_pattern(text):
    random = Random(7)
    partitions = [["".join(random.sample("ABCD", 2)) for _ in range(random.randint(1, 30))] for _ in range(5)]
    spec = make_spec(parse_row_pattern(text), variables=("A", "B", "C", "D"))
    table = make_table(spec, partitions)
    found = counted(evaluation(AnalyzeSpec(spec)), table)
    states = {item: numbers for (section, item), numbers in found.items() if section == "state"}
    expected = walked(spec, partitions)
    if len(expected) > 60:
        names = {name[0] for name in expected}
        expected = {v: tuple(sum(n[i] for name, n in expected.items() if name[0] == v) for i in (0, 1)) for v in names}
    assert states == expected
    assert found["input", ""] == (table.num_rows, 5)
    assert found["matches", ""] == (sum(part.num_rows for part in row_pattern.compile(spec).run(table)), None)


def _less(variable):
    """x < A.x"""
    first = ColumnAt("x", Navigation(("A",), running=True))
    return Define(variable, Call("lt", (ColumnAt("x", Navigation((variable,), running=True)), first)), "x < A.x")


def test_search_of_a_match_dependent_condition():
    """A B with B.x < A.x over 3 5 4 4: 5 and 4 are no B of 3, the first 4 is one of 5; the last 4 has none after it."""
    spec = spec_of(parse_row_pattern("A B"), _less("B"), variables=("A", "B"))
    found = counted(evaluation(AnalyzeSpec(spec)), table_of(spec, {"x": [3, 5, 4, 4]}))
    assert found["search", "B"] == (2, 1)
    assert found["state", "B"] == (3, 3)
    assert found["matches", ""] == (1, None)


def test_search_is_counted_once_when_a_match_outgrows_its_room():
    rows = 5000
    spec = spec_of(parse_row_pattern("A B+"), _less("B"), variables=("A", "B"))
    found = counted(evaluation(AnalyzeSpec(spec)), table_of(spec, {"x": [rows, *range(rows - 1)]}))
    searched = [numbers for (section, _), numbers in found.items() if section == "search"]
    assert [sum(numbers) for numbers in zip(*searched, strict=True)] == [rows - 1, rows - 1]


TYPES = "aabcabbcacb"
VALUES = [5, 3, 4, 9, 1, 6, 2, 8, 7, 3, 5]


def event_table(variables, types=TYPES, values=VALUES):
    bits = [
        (at == 0) | sum(2 << i for i, name in enumerate(variables) if name == kind) for at, kind in enumerate(types)
    ]
    return pa.table({"m": pa.array(bits, pa.int64()), "r": pa.array(range(1, len(bits) + 1)), "x": pa.array(values)})


def event_spec(text, *predicates):
    pattern = parse_event_pattern(text)
    return EventPatternSpec(
        tuple(element.variable for element in elements(pattern)),
        pattern,
        ("m",),
        "r",
        (),
        "{}",
        predicates,
        engine="eager",
    )


def test_states_and_predicates_of_the_chain():
    rises = Predicate(Call("lt", (ColumnOf("a", "x"), ColumnOf("b", "x"))), "a.x < b.x")
    spec = event_spec("SEQ(a, b, c)", rises)
    table = event_table(spec.variables)
    found = counted(evaluation(AnalyzeSpec(spec)), table)
    events = list(enumerate(zip(TYPES, VALUES, strict=True)))
    a, b, c = ([(at, value) for at, (kind, value) in events if kind == name] for name in "abc")
    pairs = [(x, y) for x, y in product(a, b) if x[0] < y[0]]
    rising = [(x, y) for x, y in pairs if x[1] < y[1]]
    matches = [(x, y, z) for (x, y), z in product(rising, c) if y[0] < z[0]]
    assert found == {
        ("input", ""): (11, 1),
        ("state", "a"): (len(a), len(a)),
        ("state", "a, b"): (len(a) * len(b), len(rising)),
        ("predicate", "b: order"): (len(a) * len(b), len(pairs)),
        ("predicate", "a.x < b.x"): (len(pairs), len(rising)),
        ("state", "a, b, c"): (len(rising) * len(c), len(matches)),
        ("predicate", "c: order"): (len(rising) * len(c), len(matches)),
        ("matches", ""): (len(matches), None),
    }


def test_negation_and_a_missing_event():
    spec = event_spec("SEQ(a, NOT b, c)")
    found = counted(evaluation(AnalyzeSpec(spec)), event_table(spec.variables))
    free = [p for p in product(range(11), range(11)) if p[0] < p[1] and "b" not in TYPES[p[0] : p[1]]]
    assert found["matches", ""] == (len([p for p in free if TYPES[p[0]] + TYPES[p[1]] == "ac"]), None)
    spec = event_spec("SEQ(a, z)")
    found = counted(evaluation(AnalyzeSpec(spec)), event_table(spec.variables))
    assert found == {("input", ""): (11, 1), ("state", "z"): (0, 0), ("matches", ""): (0, None)}


def test_prefixes_of_aseq():
    text = "SEQ(a, b, c)"
    events = event_spec(text)
    outputs = (AggregateOutput("n", MatchAggregate("count")),)
    spec = AggregateSpec(events.variables, events.pattern, ("m",), "r", outputs, "{}")
    found = counted(evaluation(AnalyzeSpec(spec)), event_table(events.variables))
    ordered = [
        ["".join(TYPES[i] for i in rows) for rows in product(range(11), repeat=n) if list(rows) == sorted(set(rows))]
        for n in (1, 2, 3)
    ]
    assert [found["prefix", name][0] for name in ("a", "a, b", "a, b, c")] == [
        found_at.count(prefix) for found_at, prefix in zip(ordered, ("a", "ab", "abc"), strict=True)
    ]
    assert found["matches", ""] == found["prefix", "a, b, c"]


def test_prefixes_of_several_patterns():
    """Each pattern has the counts that it has alone, behind its name."""
    texts = {"p": "SEQ(a, b, c)", "q": "SEQ(a, OR(b, c))", "none": "SEQ(z, a)"}
    variables = ("a", "b", "c", "z")
    patterns = {name: event_spec(text).pattern for name, text in texts.items()}
    outputs = (AggregateOutput("n", MatchAggregate("count")),)
    alone = AggregateSpec(variables, patterns["p"], ("m",), "r", outputs, "{}")
    several = replace(alone, patterns=tuple(NamedPattern(*item) for item in patterns.items()))

    def found(spec):
        return counted(evaluation(AnalyzeSpec(spec)), event_table(variables))

    expected = {("input", ""): (11, 1)}
    for name, pattern in patterns.items():
        own = found(replace(alone, pattern=pattern)).items()
        expected |= {
            (section, f"{name}: {item}" if item else name): number
            for (section, item), number in own
            if section != "input"
        }
    assert found(several) == expected
    assert expected["matches", "none"][0] == 0 < expected["matches", "p"][0]


@pytest.mark.parametrize(("strategy", "reached"), [("partition_contiguity", (4, 2, 1)), ("next", (4, 4, 3))])
def test_prefixes_under_other_strategies(strategy, reached):
    """a a b c a b b c a c b: two a have a b for a neighbour, one of them a c after it; ignoring, all four find a b, three then a c."""
    spec = replace(event_spec("SEQ(a, b, c)"), strategy=strategy)
    found = counted(evaluation(AnalyzeSpec(spec)), event_table(spec.variables))
    assert tuple(found["prefix", name][0] for name in ("a", "a, b", "a, b, c")) == reached
    assert found["matches", ""] == found["prefix", "a, b, c"]


def test_conditions_under_other_strategies():
    """a1=5 a2=3 b3=4 c4=9 a5=1 b6=6 b7=2 c8=8 a9=7 c10=3 b11=5. Each a has a b after it; with b > a no b is after 7. After the b of each,
    6 for 5 and 1, 4 for 3, a c above it is 8, 8 and 9; c > b leaves them all, c > 8 only the 9 of 3, 4."""
    rises = Predicate(Call("lt", (ColumnOf("a", "x"), ColumnOf("b", "x"))), "a.x < b.x")
    goes_on = Predicate(Call("lt", (ColumnOf("b", "x"), ColumnOf("c", "x"))), "b.x < c.x")
    never = Predicate(Call("lt", (ColumnOf("c", "x"), ColumnOf("a", "x"))), "c.x < a.x")
    spec = replace(event_spec("SEQ(a, b, c)", rises, goes_on, never), strategy="next")
    found = counted(evaluation(AnalyzeSpec(spec)), event_table(spec.variables))
    assert found == {
        ("input", ""): (11, 1),
        ("prefix", "a"): (4, None),
        ("prefix", "a, b"): (3, None),
        ("condition between", "a.x < b.x"): (4, 3),
        ("prefix", "a, b, c"): (0, None),
        ("condition between", "b.x < c.x"): (3, 3),
        ("condition between", "c.x < a.x"): (3, 0),
        ("matches", ""): (0, None),
    }


def test_condition_of_a_negated_item_under_other_strategies():
    """SEQ(a, NOT b, c): with b < a only smaller ones refute: 5 … 9 has a 4 inside, 3 … 9 none, 1 … 8 none, 7 … 3 no b."""
    smaller = Predicate(Call("lt", (ColumnOf("b", "x"), ColumnOf("a", "x"))), "b.x < a.x")
    spec = replace(event_spec("SEQ(a, NOT b, c)", smaller), strategy="next")
    found = counted(evaluation(AnalyzeSpec(spec)), event_table(spec.variables))
    assert found["prefix", "a, c"] == (3, None)
    assert found["condition between", "b.x < a.x"] == (1, 3)
    assert found["matches", ""] == (3, None)
