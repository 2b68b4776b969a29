"""EMIT CHANGES of the A-Seq engine: the paper's figures, the corpus, the reference on random streams, overflow."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import comb
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.engines.aseq import engine
from sparkcep.engines.aseq.sequences import check, sequences
from sparkcep.errors import CepAnalysisError, CepDataError, CepUnsupportedError
from sparkcep.pattern.event import elements
from sparkcep.spec.aggregate import AggregateOutput, EmitTime, MatchAggregate
from tests.adapters import event_tables
from tests.corpus import EventCase, event_cases
from tests.draws import draws
from tests.engines.aseq.cases import aggregate_spec
from tests.engines.aseq.test_engine import stream
from tests.properties.strategies import event_cases as random_cases
from tests.reference.aggregates import changes
from tests.reference.branches import UndefinedError
from tests.reference.corpus import event_query
from tests.reference.event_sql import equivalence
from tests.reference.text import event_pattern

COUNT = MatchAggregate("count")


def changed(case: EventCase, source: MatchAggregate) -> list[tuple[Any, Any]]:
    """(emit_time, value) of all partitions together, or, with an equivalence, of one partition of several classes."""
    spec = aggregate_spec(case, [source])
    classes = "class" if any(map(equivalence, case.where)) else None
    outputs = AggregateOutput("t", EmitTime("ts")), *spec.outputs
    spec = replace(spec, outputs=outputs, emit="moment", classes=classes)
    tables = [table.append_column("moment", table["ts"]) for table in event_tables(case)]
    if classes:
        tables = in_one_partition(case, tables)
    check(spec)
    found = engine.compile(spec).run(pa.concat_tables(tables)) if tables else iter(())
    return [tuple(row.values()) for part in found for row in part.to_pylist()]


def in_one_partition(case: EventCase, classes: list[pa.Table]) -> list[pa.Table]:
    """The classes of one partition, and the events of none, as the driver sends them."""
    attributes = [attribute for text in case.where if (attribute := equivalence(text)) is not None]
    others = tuple(event for event in case.events if any(event.get(name) is None for name in attributes))
    rest = replace(case, events=others, where=tuple(text for text in case.where if equivalence(text) is None))
    parts = [(0, table.append_column("moment", table["ts"])) for table in event_tables(rest)] if others else []
    parts += list(enumerate(classes, start=1))
    tables = []
    for number, table in parts:
        for name in (name for name in table.column_names if name.startswith("mask")):
            bits = [word if number else 0 for word in table[name].to_pylist()]
            bits = [word & ~1 if name == "mask0" else word for word in bits]
            if not tables and name == "mask0":
                bits[0] |= 1
            table = table.set_column(table.column_names.index(name), name, pa.array(bits, pa.int64()))
        tables.append(table.append_column("class", pa.array([number] * len(table), pa.int32())))
    return [table.select(tables[0].column_names) for table in tables]


E10 = "a@1 b@2 c@3 a@4 c@5 b@6 d@7 c@8 a@9 d@10"


def at(text: str) -> tuple[dict[str, Any], ...]:
    pairs = (word.split("@") for word in text.split())
    return tuple({"id": f"e{i}", "type": kind.upper(), "ts": int(ts), "x": 1} for i, (kind, ts) in enumerate(pairs))


def test_e10() -> None:
    assert changed(EventCase("case", "SEQ(A,B,C,D)", at(E10), within=7), COUNT) == [(7, 2), (8, 0), (10, 1)]


@pytest.mark.parametrize("case", [case for case in event_cases() if case.changes], ids=str)
def test_corpus(case: EventCase) -> None:
    name, _, rest = next(iter(case.aggregates), "COUNT(*)").partition("(")
    variable, _, column = rest.strip(")").partition(".")
    source = COUNT if variable == "*" else MatchAggregate(name.lower(), variable, column)  # type: ignore[arg-type]
    assert case.changes is not None
    assert changed(case, source) == list(case.changes)


@draws(200)
@given(random_cases(), st.sampled_from(["count", "sum", "min", "max"]))
def test_changes_equal_the_references(case: EventCase, function: str) -> None:
    """One partition, with several classes if there is an equivalence; conditions on single events only."""
    where = tuple(text for text in case.where if equivalence(text) or len(set(re.findall(r"\bv\d+", text))) == 1)
    case = replace(case, partition=(), where=where)
    pattern = event_pattern(case.pattern)
    variable = elements(pattern, negated=False)[0].variable
    source = COUNT if function == "count" else MatchAggregate(function, variable, "x")  # type: ignore[arg-type]
    wanted = ("count", None, None) if function == "count" else (function, variable, "x")
    assume(case.within_events is None and case.order == ("ts",))
    try:
        expected = changes(event_query(case), case.events, wanted)
        sequences(pattern)
    except (UndefinedError, CepUnsupportedError, CepAnalysisError):
        assume(False)
    assert changed(case, source) == expected


def test_overflow_is_an_error_and_decimals_are_exact() -> None:
    pattern = f"SEQ({', '.join(f'A v{i}' for i in range(25))})"
    events = stream("A " * 72)
    with pytest.raises(CepDataError, match="BIGINT"):
        changed(EventCase("case", pattern, events, within=71), COUNT)
    wide = changed(EventCase("case", pattern, events, within=71), MatchAggregate("count", number="decimal"))
    assert wide[-1] == (70, comb(71, 25))
    assert changed(EventCase("case", pattern, events, within=60), COUNT)[-1] == (59, comb(60, 25))


def test_a_long_stream_against_one_window_at_a_time() -> None:
    """Windows of constant content: the count is always that of one window, whatever came before."""
    found = changed(EventCase("case", "SEQ(A a, A b, A c)", stream("A " * 3000), within=20), COUNT)
    assert found[-1] == (19, comb(20, 3))
    assert len(found) == 18


@pytest.mark.parametrize("seed", range(8))
def test_open_ends_and_classes_in_long_streams(seed: int) -> None:
    """Compared with an enumeration of pairs, on streams so long that every queue turns over many times."""
    choose = random.Random(seed)
    first, last, within = seed % 4 > 0, seed % 2 == 0, choose.choice([3, 8, 20, 60])
    items = [*(["NOT C n"] if first else []), "A a", "B b", *(["NOT D m"] if last else [])]
    events = tuple(
        {
            "id": f"e{i}",
            "type": choose.choice("AAABBBCD"),
            "ts": choose.randrange(200),
            "k": choose.choice([1, 2, 3, None]),
        }
        for i in range(200)
    )
    where = ("[k]",) if seed < 5 else ()
    pairs = list(allowed_pairs(events, within, first, last, classed=bool(where)))
    expected, before = [], 0
    for now in sorted({event["ts"] for event in events}):
        alive = sum(end <= now < start + within for start, end in pairs)
        expected += [(now, alive)] if alive != before else []
        before = alive
    assert changed(EventCase("case", f"SEQ({', '.join(items)})", events, within=within, where=where), COUNT) == expected


def allowed_pairs(
    events: tuple[dict[str, Any], ...], within: int, first: bool, last: bool, *, classed: bool
) -> Iterator[tuple[int, int]]:
    """(start, end) of the matches of SEQ([NOT C], A, B[, NOT D]) in each class."""
    for key in (1, 2, 3) if classed else (0,):
        times = {kind: [e["ts"] for e in events if e["type"] == kind and (not key or e["k"] == key)] for kind in "ABCD"}
        for start, end in product(times["A"], times["B"]):
            before = first and any(end - within < time < start for time in times["C"])
            behind = last and any(end < time < start + within for time in times["D"])
            if start < end < start + within and not before and not behind:
                yield start, end


def test_sums_of_doubles_change_only_with_their_values() -> None:
    """At 45 the first events, which are in no match, leave the window, and the sum is computed in another order."""
    kinds = "B" * 10 + "AB" * 15 + "D" * 14
    events = [{"id": f"e{i}", "type": kind, "ts": i, "x": i * 7 % 11 * 0.1} for i, kind in enumerate(kinds)]
    found = changed(EventCase("case", "SEQ(A a, B b)", tuple(events), within=45), MatchAggregate("sum", "a", "x"))
    assert [time for time, _ in found] == list(range(11, 40, 2))
