"""The engine's guarantees: counts of the stock workload, order and size of the output, laziness, limits, refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engines.event_pattern.engine import compile
from sparkcep.engines.event_pattern.planner.branches import MAX_BRANCHES
from sparkcep.engines.event_pattern.planner.states import ascending, chain
from sparkcep.engines.event_pattern.planner.support import check
from sparkcep.errors import CepAnalysisError, CepError, CepLimitError, CepUnsupportedError
from sparkcep.pattern.event import And, Element, EventPattern, Not, Or, Seq
from sparkcep.spec.event import EventPatternSpec, EventStruct, FirstEvent, LastEvent, Output, WithinEvents
from tests.engines.event_pattern.streams import Clause, answer, call, stream, table, where

A, B, C, D = (Element(name.lower(), (name,)) for name in "ABCD")


class JavaRandom:
    """java.util.Random: the generator of the papers' workloads."""

    def __init__(self, seed: int) -> None:
        self.seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def next_int(self, bound: int) -> int:
        while True:
            self.seed = (self.seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
            bits = self.seed >> 17
            if bound & (bound - 1) == 0:
                return (bound * bits) >> 31
            if bits - bits % bound + bound - 1 < 1 << 31:
                return bits % bound


def stocks() -> tuple[list[int], list[int]]:
    """Symbols and prices of E6: 10,000 events of java.util.Random(11) after one wasted draw."""
    random = JavaRandom(11)
    random.next_int(100)
    events = [(random.next_int(20) + 1, random.next_int(100) + 1, random.next_int(1000)) for _ in range(10_000)]
    return [event[0] for event in events], [event[1] for event in events]


@pytest.mark.parametrize(("length", "expected"), [(2, 1240), (3, 1988), (4, 2621), (5, 2596), (6, 2384)])
def test_e6_stock_sequences(length: int, expected: int) -> None:
    symbols, prices = stocks()
    pattern = Seq(tuple(Element(f"s{i}", (str(i),)) for i in range(1, length + 1)))
    equal = [call("eq", f"s{i}.price", f"s{i + 1}.price") for i in range(1, length)]
    spec = Clause(pattern, predicates=where(*equal)).spec()
    mask = np.arange(10_000) == 0
    for i in range(1, length + 1):
        mask = mask | (np.array(symbols) == i).astype(np.int64) << i
    rank = pa.array(range(1, 10_001), pa.int64())
    rows = pa.table({"mask0": mask, "rank": rank, "price": prices, "id": rank, "time": rank})
    assert sum(part.num_rows for part in compile(spec).run(rows)) == expected


def test_output_columns_and_types() -> None:
    outputs = (
        Output("user", FirstEvent("user")),
        Output("match_end", LastEvent("time")),
        Output("c", EventStruct("c", (("payload", "data"), ("t", "time")))),
        Output("a", EventStruct("a", ())),
        Output("b", EventStruct("b", (("payload", "data"),))),
    )
    spec = EventPatternSpec(("a", "b", "c"), Seq((A, Or((B, C)))), ("mask",), "rank", outputs, "")
    data = pa.array([[("k", 1)], None, [("x", None)]], pa.map_(pa.string(), pa.int32()))
    chunks = pa.table({"mask": [3, 4, 8], "rank": [1, 2, 3], "time": [7, 8, 9], "user": ["u", "v", "w"], "data": data})
    found = pa.concat_tables(compile(spec).run(pa.concat_tables([chunks.slice(0, 1), chunks.slice(1)])))
    assert found.to_pylist() == [
        {"user": "u", "match_end": 8, "c": None, "a": {}, "b": {"payload": None}},
        {"user": "u", "match_end": 9, "c": {"payload": [("x", None)], "t": 9}, "a": {}, "b": None},
    ]
    assert found.schema.names == ["user", "match_end", "c", "a", "b"]
    assert found.schema.field("c").type == pa.struct([("payload", data.type), ("t", pa.int64())])
    assert [part.num_rows for part in compile(spec).run(chunks, output_rows=1)] == [1, 1]


def test_order_is_the_same_for_every_chunk() -> None:
    rows = stream("a1 b1 a2 b2 c1 a3 b3 c2", key=[0, 0, 0, 0, 0, 1, 1, 1])
    clause = Clause(Seq((A, B, C)))
    events = table(clause, rows)
    results = [
        pa.concat_tables(compile(clause.spec()).run(events, chunk=chunk, output_rows=size)).to_pylist()
        for chunk, size in [(1, 1), (2, 3), (100, 100)]
    ]
    assert results[0] == results[1] == results[2]
    assert [row["c"]["id"] for row in results[0]] == ["c1", "c1", "c1", "c2"]


def many(count: int) -> Iterator[pa.Table]:
    """SEQ(A, B, C) over ``count`` of each: count ** 3 matches."""
    clause = Clause(Seq((A, B, C)))
    rows = {"mask0": [3] + [2] * (count - 1) + [4] * count + [8] * count}
    columns = {name: range(3 * count) for name in ("rank", "time", "id")}
    return compile(clause.spec()).run(pa.table({**rows, **columns}), max_partial_matches=10_000_000)


def test_a_consumer_may_stop_early() -> None:
    """A thousand million matches; the first table costs no more than a few chunks."""
    assert next(many(1000)).num_rows == 1 << 16


def test_run_away() -> None:
    with pytest.raises(CepLimitError, match=r"CEP_LIMIT_PARTIAL_MATCHES.*a, b, c") as caught:
        for _ in many(1000):
            pass
    assert "WITHIN" in str(caught.value.hint)


def test_states_ascend_in_frequency() -> None:
    plan = compile(Clause(Seq((A, B, And((C, D)))), within=5).spec()).plan
    states = chain(plan.branches[0], ascending(plan.branches[0], {"a": 9, "b": 1, "c": 5, "d": 5}))
    assert [state.variable for state in states] == ["b", "c", "d", "a"]
    assert [state.after for state in states] == [(), ("b",), ("b",), ()]
    assert [state.before for state in states] == [(), (), (), ("b",)]
    assert [state.unordered for state in states] == [(), (), ("c",), ()]
    assert (states[3].earliest, states[3].latest) == (("b",), ("c", "d"))


def test_a_negation_fences_the_search_for_its_last_endpoint() -> None:
    """Without the fence the 1000 C's after each A are all tried: a million pairs instead of a thousand."""
    n = Element("n", ("N",))
    equal = [call("eq", f"{x}.id", f"{y}.id") for x, y in ("an", "cn", "ac")]
    plan = compile(Clause(Seq((A, Not(n), C)), predicates=where(*equal)).spec()).plan
    states = chain(plan.branches[0], ascending(plan.branches[0], {"a": 1, "c": 2}))
    assert [str(term) for _, term in states[1].fences[0].equalities] == ["a.id"]
    clause = Clause(Seq((A, Not(n), C)))
    kinds = [2, 4, 8] * 1000
    rows = pa.table({"mask0": [3, *kinds[1:]], **{name: range(3000) for name in ("rank", "time", "id")}})
    assert list(compile(clause.spec()).run(rows, max_partial_matches=3000)) == []


REFUSED: list[tuple[EventPattern, dict[str, Any], type[CepError], str]] = [
    (Seq((A, Not(Or((B, Not(D)))), C)), {}, CepUnsupportedError, "UNSUPPORTED_NESTED_NOT"),
    (Seq((Not(A), B)), {}, CepAnalysisError, "ANALYSIS_NEGATION_WITHOUT_WITHIN"),
    (Seq((A, Not(B))), {}, CepAnalysisError, "ANALYSIS_NEGATION_WITHOUT_WITHIN"),
    (And((A, Not(B))), {}, CepAnalysisError, "ANALYSIS_NEGATION_WITHOUT_WITHIN"),
    (Seq((Not(A), Not(B))), {"within": WithinEvents(3)}, CepAnalysisError, "ANALYSIS_NO_POSITIVE_EVENT"),
    (Or((A, Not(B))), {"within": WithinEvents(3)}, CepAnalysisError, "ANALYSIS_NO_POSITIVE_EVENT"),
    (
        Seq((A, Not(B), Not(C), D)),
        {"predicates": where(call("eq", "b.x", "c.x"))},
        CepUnsupportedError,
        "UNSUPPORTED_PREDICATE_OVER_NEGATIONS",
    ),
    (
        And(tuple(Or((Element(f"x{i}", ()), Element(f"y{i}", ()))) for i in range(MAX_BRANCHES.bit_length()))),
        {},
        CepLimitError,
        "LIMIT_BRANCHES",
    ),
]


@pytest.mark.parametrize(("pattern", "options", "error", "text"), REFUSED, ids=[str(case[3]) for case in REFUSED])
def test_refusals(pattern: EventPattern, options: dict[str, Any], error: type[CepError], text: str) -> None:
    with pytest.raises(error, match=text):
        check(pattern, **options)


def test_negation_between_needs_no_window() -> None:
    check(Seq((A, Not(B), C)))
    assert len(answer(Clause(Seq((A, Not(B), C))), stream("a c"))) == 1


def test_support_is_cheap_to_import() -> None:
    code = "import sys, sparkcep.engines.event_pattern.planner.support; print({'numpy', 'polars', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
