"""A-Seq beyond what the reference can enumerate: long streams, windows, overflow, the paper's examples."""

from __future__ import annotations

import random
from decimal import Decimal
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engines.aseq import engine
from sparkcep.engines.aseq.baselines import dpc, sem
from sparkcep.engines.aseq.events import code, read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.sequences import EITHER, STRICT, TIED, sequences
from sparkcep.errors import CepDataError, CepUnsupportedError
from sparkcep.spec.aggregate import MatchAggregate
from tests.adapters import event_tables
from tests.corpus import EventCase
from tests.engines.aseq.cases import aggregate_spec, aggregates
from tests.properties.test_paper_counts import stocks
from tests.reference.text import event_pattern

COUNT = MatchAggregate("count")
WIDE = MatchAggregate("count", number="decimal")


def stream(text: str, step: int = 1, **columns: Any) -> tuple[dict[str, Any], ...]:
    """``A B C``: one event per word, ``step`` apart."""
    return tuple(
        {"id": f"e{i}", "type": word, "ts": i * step, "x": 1, **columns} for i, word in enumerate(text.split())
    )


def count(pattern: str, events: tuple[dict[str, Any], ...], **options: Any) -> int:
    """COUNT(*) of all partitions together."""
    return sum(line[0] for line in aggregates(EventCase("case", pattern, events, **options), [COUNT]))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("SEQ(A,B,C)", "A B A B C", 3),
        ("SEQ(A,B,C)", "A A B B C C", 8),
        ("SEQ(A a, A b)", "A A A", 3),
        ("A", "A B A", 2),
    ],
)
def test_e9(pattern: str, text: str, expected: int) -> None:
    assert count(pattern, stream(text)) == expected


@pytest.mark.parametrize(("length", "expected"), [(2, 1240), (3, 1988), (4, 2621), (5, 2596), (6, 2384)])
def test_e6(length: int, expected: int) -> None:
    pattern = f"SEQ({', '.join(f'stock{symbol} s{symbol}' for symbol in range(1, length + 1))})"
    assert count(pattern, stocks(10_000), where=("[price]",)) == expected


def test_examples_of_the_paper() -> None:
    prefixes = stream("A B B A A")  # Example 2: (A) 3, (A,B) 2; a b makes (A,B) 5
    assert [count("A", prefixes), count("SEQ(A,B)", prefixes), count("SEQ(A,B)", stream("A B B A A B"))] == [3, 2, 5]
    groups = tuple(event | {"id": i % 3} for i, event in enumerate(stream("A A A B B B A C C C D D D")))
    case = EventCase("case", "SEQ(A,B,C,D)", groups, where=("[id]",))  # Example 5: a prefix counter per id
    assert aggregates(case, [COUNT]) == [(1,), (1,), (1,)]
    assert count("SEQ(A,B,!C,D)", stream("A B C A B D")) == 2  # Example 4: (a1, b2, d1), (a2, b2, d1)
    assert count("SEQ(A,B,C)", stream("A B C C B"), within=5) == 2  # Example 1, as the matches of all windows


PATTERNS = (
    "SEQ(A a, B b, C c)",
    "SEQ(A a, A b, A c, A d)",
    "SEQ(A a, !D n, B b, !C m, A c)",
    "SEQ(!D n, A a, B b, C c)",
    "SEQ(A a, B b, !D n)",
    "SEQ(!D n, A a, !C o, B b, !D m)",
    "AND(A a, B b, C c)",
    "SEQ(AND(A a, ANY b), !D n, AND(B c, C d))",
    "AND(SEQ(A a, B b), A c)",
    "SEQ(OR(A a, SEQ(B b, C c)), A d)",
    "SEQ(A a, B+ b, C c)",
    "SEQ(A+ a, !D n, B{2,} b)",
    "SEQ(A{1,3} a, B? b, C* c)",
    "SEQ(!D n, A+ a, B+ b)",
    "SEQ(A+ a, B+ b, !D n)",
    "SEQ(AND(B a, C b), A+ c)",
    "SEQ(AND(B a, A b), !D n, A{2,} c)",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("within", [None, 5, 17, 60])
def test_kernels_equal_the_plain_recurrence(pattern: str, within: int | None) -> None:
    """Long streams with ties, three partitions in one call: two-stack windows against one counter per START."""
    if within is None and ("SEQ(!" in pattern or pattern.endswith("!D n)")):
        pytest.skip("an open end needs WITHIN")
    choose = random.Random(f"{pattern} {within}")
    events = tuple(
        {"id": i, "type": choose.choice("AABBCD"), "ts": choose.randrange(90), "x": choose.randrange(9), "k": i % 3}
        for i in range(150)
    )
    case = EventCase("case", pattern, events, within=within, partition=("k",))
    plan = engine.compile(aggregate_spec(case, [COUNT])).plan
    table = pa.concat_tables(event_tables(case))
    passes = Passes(read(table, plan.spec), plan.spec.variables, plan.sequences)
    for weighing in (Weighing(), *(Weighing("value", name, "x") for name in "ab")):
        expected = [passes.recounted(weighing, part) for part in range(3)]
        assert passes.doubles(weighing).tolist() == expected
        if weighing.weight == "one":
            assert passes.integers(weighing).tolist() == expected
        else:
            assert passes.integers(Weighing("positive", weighing.variable, "x")).tolist() == expected


def same(length: int) -> str:
    return f"SEQ({', '.join(f'A v{i}' for i in range(length))})"


@pytest.mark.parametrize("within", [None, 1000, 60])
def test_overflow_is_exact(within: int | None) -> None:
    """The largest counts that fit, and the first that do not; then DECIMAL holds it."""
    width = within or 1000
    for size in (60, 66, 67, 68, 69, 70, 100):
        expected = sum(comb(min(at, width - 1), 24) for at in range(size))
        events = stream(" ".join("A" * size))
        if expected < 2**63:
            assert count(same(25), events, within=within) == expected
        else:
            with pytest.raises(CepDataError, match=r"COUNT\(\*\) .* DECIMAL\(38,0\)"):
                count(same(25), events, within=within)
        wide = aggregates(EventCase("case", same(25), events, within=within), [WIDE, MatchAggregate("max", "v3", "x")])
        assert wide == [(expected, 1)]


def test_no_false_alarm() -> None:
    """Prefix counts, and products inside the windows, far past 2^63 that contribute to no match."""
    tail = same(25)[:-1] + ", B b)"
    events = stream("A " * 200 + "C B " + "A " * 200 + "B " + "A " * 30 + "B")
    for within in (None, 100, 1000):
        assert count(tail.replace(", B b", ", !A n, C c, !C m, C d"), events, within=within) == 0
    assert count(tail, stream("A " * 30 + "B " + "A " * 200), within=35) == comb(30, 25)
    assert count(f"SEQ(C c, {tail[4:]}", stream("A " * 200 + "C B " + "A " * 26 + "B"), within=29) == 26


def test_sums_past_bigint() -> None:
    events = tuple(
        {"id": i, "type": "AB"[i % 2], "ts": i, "x": x}
        for i, x in enumerate([2**62, 1, -(2**63), 1, 2**62, 1, 2**63 - 1, 1])
    )
    case = EventCase("case", "SEQ(A a, B b)", events)
    pairs = [(2**62, 4), (-(2**63), 3), (2**62, 2), (2**63 - 1, 1)]
    total = sum(value * times for value, times in pairs)
    assert aggregates(case, [MatchAggregate("sum", "a", "x")]) == [(total,)]  # each sign alone is past 2^63
    lower = tuple(event | {"x": min(event["x"], 1)} for event in events)
    with pytest.raises(CepDataError, match="BIGINT"):
        aggregates(EventCase("case", "SEQ(A a, B b)", lower), [MatchAggregate("sum", "a", "x")])
    wide = aggregates(case, [MatchAggregate("sum", "a", "x", "decimal"), MatchAggregate("sum", "a", "x", "double")])
    assert wide == [(total, float(total))]
    balanced = tuple(
        event | {"x": x} for event, x in zip(events, [2**62, 1, -(2**62), 1, -(2**62), 1, 2**62, 1], strict=True)
    )
    assert aggregates(EventCase("case", "SEQ(A a, B b)", balanced), [MatchAggregate("sum", "a", "x")]) == [(0,)]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["b", None, "a", "c"], pa.string(), ("a", "c")),
        ([1.5, float("nan"), -2.0, None], pa.float64(), (-2.0, None)),
        ([True, False, None, True], pa.bool_(), (False, True)),
        ([3, 1, None, 2], pa.timestamp("us"), (1, 3)),
        ([3, 1, None, 2], pa.date32(), (1, 3)),
        ([3, 1, None, 2], pa.decimal128(30, 0), (1, 3)),
        ([None] * 4, pa.int64(), (None, None)),
    ],
)
def test_extremes_of_every_type(values: list[Any], kind: pa.DataType, expected: tuple[Any, Any]) -> None:
    case = EventCase("case", "A a", stream("A A A A"))
    spec = aggregate_spec(case, [MatchAggregate("min", "a", "y"), MatchAggregate("max", "a", "y")])
    (table,) = event_tables(case)
    column = typed(values, kind)
    (found,) = engine.compile(spec).run(table.append_column("y", column))
    assert found.column(0).combine_chunks() == typed([expected[0]], kind)
    if kind == pa.float64():
        assert np.isnan(found.column(1)[0].as_py())
    else:
        assert found.column(1).combine_chunks() == typed([expected[1]], kind)


def test_sums_of_decimals() -> None:
    """-1.25 twice (once for each b after it), 0.01 once: as the type of SUM, and in units of the last digit."""
    case = EventCase("case", "SEQ(A a, B b)", stream("A B A B"))
    spec = aggregate_spec(case, [MatchAggregate("sum", "a", "y"), MatchAggregate("sum", "a", "y", "unscaled")])
    (table,) = event_tables(case)
    column = pa.array([Decimal("-1.25"), None, Decimal("0.01"), None], pa.decimal128(18, 2))
    (found,) = engine.compile(spec).run(table.append_column("y", column))
    assert found.column(0).type == pa.decimal128(28, 2)
    assert found.column(1).type == pa.decimal128(38, 0)
    assert [found.column(i)[0].as_py() for i in (0, 1)] == [Decimal("-2.49"), Decimal(-249)]


def typed(values: list[Any], kind: pa.DataType) -> pa.Array:
    """``values`` as ``kind``; days and microseconds as integers."""
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).cast(kind)
    plain = pa.int64() if pa.types.is_decimal(kind) or pa.types.is_timestamp(kind) else kind
    return pa.array(values, plain).cast(kind)


def test_sequences_of_and_and_or() -> None:
    """Orders and gaps: EITHER where concurrent events may be neighbours, TIED or STRICT where a third must be kept apart."""
    (only,) = sequences(event_pattern("SEQ(A a, !B n, C c)"))
    assert (only.gaps, only.between) == ((STRICT, STRICT), (("n",),))
    assert [(s.variables, s.gaps[1]) for s in sequences(event_pattern("AND(A a, B b)"))] == [
        (("a", "b"), EITHER),
        (("b", "a"), EITHER),
    ]
    gaps = {(s.variables, s.gaps[1:]) for s in sequences(event_pattern("AND(SEQ(A a, B b), C c)"))}
    around = {(("a", "c", "b"), (STRICT, STRICT)), (("a", "c", "b"), (TIED, STRICT)), (("a", "c", "b"), (STRICT, TIED))}
    assert gaps == around | {(("c", "a", "b"), (EITHER, STRICT)), (("a", "b", "c"), (STRICT, EITHER))}


@pytest.mark.parametrize(
    "pattern",
    [
        "AND(A+ a, B b)",
        "AND(SEQ(A a, !D n, B b), C c)",
        "AND(A a, B b, C c, D d, A e)",
        "SEQ(A a, OR(!B n, !C m), D d)",
    ],
)
def test_refused_patterns(pattern: str) -> None:
    with pytest.raises(CepUnsupportedError, match="A-Seq does not count"):
        sequences(event_pattern(pattern))


def test_empty_and_matchless_tables() -> None:
    case = EventCase("case", "SEQ(A a, B b)", stream("B A"))
    assert aggregates(case, [COUNT]) == []
    plan = engine.compile(aggregate_spec(case, [COUNT])).plan
    (table,) = event_tables(case)
    assert list(engine.AseqEngine(plan).run(table.slice(0, 0))) == []
    assert code(read(table, plan.spec), plan.spec.variables, plan.sequences[0]).row.tolist() == [0, 1]


@pytest.mark.parametrize(
    "pattern", ["A a", "SEQ(A a, B b, C c)", "SEQ(A a, !D n, B b, C c)", "SEQ(A a, A b, B c, A d)"]
)
@pytest.mark.parametrize("within", [None, 4, 25])
def test_the_papers_own_algorithms(pattern: str, within: int | None) -> None:
    """DPC and SEM on random streams with ties, in two partitions."""
    for seed in range(5):
        choose = random.Random(f"{pattern} {within} {seed}")
        events = tuple(
            {"id": i, "type": choose.choice("AABBCD"), "ts": choose.randrange(60), "x": 1, "k": i % 2}
            for i in range(80)
        )
        case = EventCase("case", pattern, events, within=within, partition=("k",))
        plan = engine.compile(aggregate_spec(case, [COUNT])).plan
        data = read(pa.concat_tables(event_tables(case)), plan.spec)
        coded = code(data, plan.spec.variables, plan.sequences[0])
        assert (dpc(coded) if within is None else sem(coded)[0]) == count(
            pattern, events, within=within, partition=("k",)
        )


def test_example_3() -> None:
    """Figure 6: windows of 7 s; two prefix counters are held when d1 arrives, and when d2 does."""
    names = ["A", "B", "C", "A", "C", "B", "D", "C", "A", "D"]
    events = tuple({"id": i, "type": name, "ts": i + 1, "x": 1} for i, name in enumerate(names))
    case = EventCase("case", "SEQ(A a, B b, C c, D d)", events, within=7)
    (table,) = event_tables(case)
    plan = engine.compile(aggregate_spec(case, [COUNT])).plan
    assert sem(code(read(table, plan.spec), plan.spec.variables, plan.sequences[0])) == (3, 2)
    assert count(case.pattern, events, within=7) == 3  # two end at 7 s, one at 10 s
