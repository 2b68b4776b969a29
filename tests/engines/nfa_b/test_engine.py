"""Counts on the paper's own stream (semantics page, E5), the three algorithms, compressed matches, limits and faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sparkcep.engines.event_pattern.output.expansion import expand
from sparkcep.engines.nfa_b import engine
from sparkcep.engines.nfa_b.evaluation import searches
from sparkcep.errors import CepAnalysisError, CepDataError, CepLimitError, CepUnsupportedError
from sparkcep.pattern.event import And, Element, Not, Seq
from sparkcep.spec.event import Engine, Predicate, Strategy, WithinEvents
from sparkcep.spec.expression import Call, ColumnOf, ElementOf
from tests.engines.nfa_b.trades import Name, spec, table

SMALL = 8_000


def found(predicate: Name, strategy: Strategy, size: int = 100_000, **options: Any) -> pa.Table:
    clause = spec(predicate, strategy, **options)
    return pa.concat_tables(engine.compile(clause).run(table(size)))


@pytest.mark.parametrize(
    ("predicate", "strategy", "count", "length"),
    [
        ("p1", "partition_contiguity", 14986, 250.0),
        ("p1", "next", 14986, 250.0),
        ("p2", "partition_contiguity", 102, 3.3),
        ("p2", "next", 14986, 141.2),
    ],
)
@pytest.mark.parametrize("algorithm", ["auto", "basic", "backtrack"])
def test_e5(predicate: Name, strategy: Strategy, count: int, length: float, algorithm: Engine) -> None:
    matches = found(predicate, strategy, engine=algorithm)
    assert matches.num_rows == count
    assert round(pc.mean(pc.list_value_length(matches.column("a"))).as_py(), 1) == length


@pytest.mark.parametrize("predicate", ["p1", "p2", "p3"])
def test_algorithms_agree(predicate: Name) -> None:
    for matches in ("all", "non_overlapping"):
        lines = [
            sorted(map(str, found(predicate, "next", SMALL, engine=way, matches=matches, within=60).to_pylist()))
            for way in ("auto", "basic", "backtrack")
        ]
        assert lines[0] == lines[1] == lines[2] != []


@pytest.mark.parametrize("algorithm", ["auto", "basic"])
@pytest.mark.parametrize("predicate", ["p1", "p2", "p3"])
def test_expansion_equals_all_matches(predicate: Name, algorithm: Engine) -> None:
    every = found(predicate, "next", SMALL, within=60).to_pylist()
    buffers = found(predicate, "next", SMALL, within=60, matches="compressed", engine=algorithm).column("buffer")
    expanded = [
        {"a": list(closure), "b": last}
        for buffer in buffers.to_pylist()
        for closure, last in expand(
            *(buffer[name] for name in ("variable", "event", "previous", "other")), (True, False)
        )
    ]
    assert sorted(map(str, expanded)) == sorted(map(str, every))
    assert len(buffers) <= len(every)
    ends = [buffer["event"][-1]["ts"] for buffer in buffers.to_pylist()]
    assert len(set(ends)) == len(ends)


def test_merged_runs_share_their_nodes() -> None:
    """Equivalent runs are merged: fewer steps, and rows of the buffer smaller than their matches."""
    clause = spec("p1", "next", within=200)
    counters = []
    for way in ("auto", "basic"):
        (search,) = searches(engine.compile(replace(clause, engine=way)).plan, table(SMALL))
        nodes = sum(ends.count for ends in search.ends())
        counters.append((search.counters.steps, nodes))
    assert counters[0] < counters[1]


def test_match_buffer_is_freed_of_what_left_the_window() -> None:
    """Memory follows the window, not the stream: 100,000 events fit where 200,000 nodes were made."""
    clause = engine.compile(spec("p1", "next", matches="non_overlapping"))
    rows = sum(part.num_rows for part in clause.run(table(), max_nodes=1 << 15))
    assert rows > 0


def test_a_buffer_without_bounds_is_refused() -> None:
    never = Predicate(Call("lt", (ColumnOf("b", "volume"), ColumnOf("b", "volume"))), "b.volume < b.volume")
    clause = replace(spec("p1", "next"), within=None, predicates=(never,))
    with pytest.raises(CepLimitError) as raised:
        list(engine.compile(clause).run(table(), max_nodes=1 << 15))
    assert raised.value.code == "CEP_LIMIT_MATCH_BUFFER"


def test_overflow_names_the_condition() -> None:
    big = Call("mul", (Call("mul", (ElementOf("a", "wide"), ElementOf("a", "wide"))), ElementOf("a", "wide")))
    predicate = Predicate(Call("gt", (big, ElementOf("a", "wide", "previous"))), "a[i].wide ...")
    clause = replace(spec("p1", "next"), predicates=(predicate,))
    data = table(SMALL).append_column("wide", pc.add(table(SMALL).column("ts"), 1 << 40))
    with pytest.raises(CepDataError) as raised:
        list(engine.compile(clause).run(data))
    assert raised.value.code == "CEP_DATA_ARITHMETIC_OVERFLOW"
    assert "a[i].wide ..." in raised.value.message


A, B = Element("a", ("A",)), Element("b", ("B",))
CLOSURE = Element("a", ("A",), 1, None)


@pytest.mark.parametrize(
    ("changes", "error", "code"),
    [
        ({"pattern": And((CLOSURE, B))}, CepUnsupportedError, "KLEENE_IN_AND"),
        ({"pattern": Seq((A, Not(B))), "within": None}, CepAnalysisError, "NEGATION_WITHOUT_WITHIN"),
    ],
)
def test_refused_by_name(changes: dict[str, Any], error: type[Exception], code: str) -> None:
    clause = replace(spec("p1", "next"), **{"pattern": Seq((CLOSURE, B)), "predicates": (), **changes})
    with pytest.raises(error) as raised:
        engine.compile(clause)
    assert code in raised.value.code  # type: ignore[attr-defined]


def test_more_components_than_bits_of_a_word() -> None:
    pattern = Seq(tuple(Element(f"v{i}", ()) for i in range(61)))
    with pytest.raises(CepLimitError):
        engine.compile(replace(spec("p1", "next"), pattern=pattern, predicates=(), within=WithinEvents(5)))
