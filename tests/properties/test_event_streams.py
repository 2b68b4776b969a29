"""MATCH PATTERN under skip till any match over a stream: after every turn exactly the matches that are decided, whatever way the rows came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from sparkcep.engines.event_pattern import engine as event_engine
from sparkcep.engines.event_pattern.output.expansion import expand
from sparkcep.engines.event_pattern.planner.branches import Branch, branches
from sparkcep.engines.nfa_b import engine as nfa_engine
from sparkcep.engines.stream import compile
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.pattern.event import EventPattern, elements, looks_ahead
from sparkcep.spec.event import BufferStruct, Engine, EventPatternSpec, FirstEvent, LastEvent, MatchOutput, Output
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.fold import Bucket, step
from tests.adapters import event_pattern_spec, event_tables
from tests.corpus import EventCase, event_cases
from tests.draws import draws
from tests.properties.arrivals import EVER, Arrival, arrivals
from tests.properties.strategies import event_cases as drawn_cases
from tests.properties.strategies import event_patterns
from tests.reference.event_sql import equivalence

_ENGINES = (event_engine, nfa_engine)
HIDDEN = (
    Output("first_deadline", FirstEvent("deadline")),
    Output("last_ceiling", LastEvent("ceiling")),
    Output("end", LastEvent("ts")),
)


@draws(150)
@given(st.data(), drawn_cases(over_closures=True, groups=True), st.integers(2, 11))
def test_a_stream_emits_what_is_decided(data: st.DataObject, case: EventCase, within: int) -> None:
    order = data.draw(st.sampled_from([("ts",), ("ts",), ("ts", "id")]), label="order")
    where = case.where if data.draw(st.booleans(), label="where") else ()
    case = replace(case, within=within, within_events=None, order=order, where=where)
    engine = data.draw(st.sampled_from(["auto", "auto", "tree", "eager", "stack"]), label="engine")
    strategies = ["any", "any", "next", "partition_contiguity", "strict_contiguity"]
    case = replace(case, strategy=data.draw(st.sampled_from(strategies), label="strategy"))
    if case.strategy == "strict_contiguity":  # the table lacks events of no class, which are neighbours all the same
        case = replace(case, where=tuple(text for text in case.where if equivalence(text) is None))
    falls = data.draw(st.dictionaries(st.integers(0, 9), st.integers(1, within - 1), max_size=2), label="falls")
    outputs: list[MatchOutput] = ["all", "all", "all", "non_overlapping", "compressed"]
    output = data.draw(st.sampled_from(outputs), label="output")
    table = _table(case, falls)
    assume(table is not None)
    assert table is not None
    try:
        plan = data.draw(arrivals(table["ts"].to_pylist()), label="arrivals")
        event(_check(_spec(case, output, engine), within, table, plan))
    except CepAnalysisError as error:
        assume("NO_POSITIVE_EVENT" not in error.code)
        raise
    except CepUnsupportedError as error:
        assume(not any(code in error.code for code in ("PREDICATE_OVER_NEGATIONS", "KLEENE_IN_AND")))
        raise


@draws(150)
@given(event_patterns(groups=True))
def test_which_patterns_look_ahead(pattern: EventPattern) -> None:
    try:
        found = branches(pattern)
    except CepAnalysisError:
        assume(False)
    ahead = any(_looks(branch, "after") for branch in found)
    if any(element.low == 0 for element in elements(pattern, negated=False)):
        assert looks_ahead(pattern) >= ahead
    else:
        assert looks_ahead(pattern) == ahead


def _folded(case: EventCase) -> bool:
    return case.within is not None and case.error is None and case.matches is not None


@pytest.mark.parametrize("case", [case for case in event_cases() if _folded(case)], ids=str)
def test_the_corpus(case: EventCase) -> None:
    table = _table(case := _in_thousandths(case), {})
    assert table is not None
    times = table["ts"].to_pylist()
    one_by_one = [Arrival((row,), times[row]) for row in np.argsort(times, kind="stable").tolist()]
    at_once = Arrival(tuple(range(len(times))), EVER)
    for plan in ([*one_by_one, Arrival((), EVER)], [at_once]):
        assert case.within is not None
        _check(_spec(case, "non_overlapping" if case.non_overlapping else "all"), int(case.within), table, plan)


KEPT = {
    "SEQ(A a, B b, C c)": "b1 a2 b3 c4 a5 | a2 b3 a5",
    "SEQ(A a, B+ b)": "b1 a2 b3 c4 b5 | a2 b3 b5",
    "AND(A a, B b)": "b1 a2 c3 | b1 a2",
    "SEQ(A a, NOT B n, C c)": "b1 a2 b3 c4 | a2 b3",
    "SEQ(NOT B n, A a, C c)": "b1 c2 a3 c4 | b1 a3",
    "SEQ(A a, B b, NOT C n)": "c1 b2 a3 c4 b5 c6 | a3 b5 c6",
    "AND(SEQ(A a, B b), NOT C n)": "c1 b2 a3 c4 | c1 a3 c4",
    "OR(SEQ(A a, B b), SEQ(C c, A d))": "b1 a2 b3 | a2",
}
"""Events, and after the bar those that are kept while their windows are open."""


@pytest.mark.parametrize("pattern", KEPT)
def test_what_no_later_match_can_take_goes(pattern: str) -> None:
    events, kept = (part.split() for part in KEPT[pattern].split("|"))
    rows = tuple({"id": name, "type": name[0].upper(), "ts": int(name[1:])} for name in events)
    table = _table(case := EventCase("kept", pattern, rows, within=100), {})
    assert table is not None
    spec = _spec(case, "all")
    bucket = step(spec, compile(spec), Bucket(), [_sent(table)], 50).bucket
    assert bucket.rows is not None
    assert bucket.rows["id"].to_pylist() == kept


@pytest.mark.parametrize("output", ["all", "non_overlapping"])
@pytest.mark.parametrize("pattern", ["SEQ(A a, B b, NOT C n)", "AND(A a, B b, NOT C n)", "SEQ(NOT C n, A+ a, B b)"])
def test_deadlines_that_fall(pattern: str, output: MatchOutput) -> None:
    """A calendar interval may end sooner for a later event; every window closes by itself."""
    times = {"a1": 1, "b2": 2, "a3": 3, "c4": 4, "b5": 5, "a6": 6, "c30": 30}
    rows = tuple({"id": name, "type": name[0].upper(), "ts": ts} for name, ts in times.items())
    table = _table(case := EventCase("falls", pattern, rows, within=12), {2: 8, 5: 9, 6: 1})
    assert table is not None
    slowly = [Arrival((), until) for until in range(7, 30)]
    _check(_spec(case, output), 12, table, [Arrival((0, 1, 2, 3, 4, 5), 0), *slowly, Arrival((6,), EVER)])


def test_an_event_of_an_earlier_match_only_refutes() -> None:
    names = ("a1", "b2", "b3", "c20", "b21", "b22")
    rows = tuple({"id": name, "type": name[0].upper(), "ts": int(name[1:])} for name in names)
    table = _table(case := EventCase("context", "SEQ(NOT A n, ANY a, B b)", rows, within=10), {})
    assert table is not None
    one_by_one = [Arrival((row,), 1 + ts) for row, ts in enumerate(table["ts"].to_pylist())]
    _check(_spec(case, "non_overlapping"), 10, table, [*one_by_one, Arrival((), EVER)])


def test_of_concurrent_events_the_same_are_chosen() -> None:
    """Whichever order of its variables a turn finds best: here a batch binds b first, a turn a."""
    at = (("a1", 1, 9), ("a20", 20, 1), ("a21", 20, 2), ("b30", 30, 1), ("b31", 30, 2))
    rows = tuple({"id": name, "type": name[0].upper(), "ts": ts, "x": x} for name, ts, x in at)
    table = _table(case := EventCase("ties", "SEQ(A a, B b)", rows, within=15, where=("a.x != b.x",)), {})
    assert table is not None
    _check(_spec(case, "non_overlapping"), 15, table, [Arrival((0, 1, 2), 20), Arrival((3, 4), 31), Arrival((), EVER)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"within": None}, "MATCH PATTERN without WITHIN"),
        ({"within": None, "within_events": 5}, "WITHIN 5 EVENTS"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    case = EventCase("refused", "SEQ(A a, B b)", (), within=10)
    with pytest.raises(CepUnsupportedError, match=f"{message} over a stream") as raised:
        compile(_spec(replace(case, **change), "all"))
    assert raised.value.code == "CEP_UNSUPPORTED_STREAM"
    descending = replace(_spec(case, "all"), order=(OrderColumn("ts", descending=True),))
    with pytest.raises(CepUnsupportedError, match="a descending ORDER BY"):
        compile(descending)


def _in_thousandths(case: EventCase) -> EventCase:
    """Times on a stream are integers."""
    assert case.within is not None
    events = tuple({**event, "ts": round(event["ts"] * 1000)} for event in case.events)
    return replace(case, events=events, within=round(case.within * 1000))


def _check(spec: StreamSpec, within: int, table: pa.Table, plan: list[Arrival]) -> str:
    """Fold ``table`` as ``plan`` says; after every turn compare what has been emitted and what is kept. Returns how it went."""
    assert isinstance(spec.of, EventPatternSpec)
    clause = spec.of
    every = _answers(clause, _ENGINES[clause.strategy != "any"].compile(clause).run(table))
    moments = {line: _moment(clause, line) for line in every}
    sent = _sent(table)
    decide, bucket, emitted, early = compile(spec), Bucket(), Counter[Any](), False
    for at, arrival in enumerate(plan):
        new = [sent.take(list(arrival.rows))] if arrival.rows else []
        turn = step(spec, decide, bucket, new, arrival.until)
        bucket = turn.bucket
        emitted += _answers(clause, turn.found)
        assert emitted == Counter({line: n for line, n in every.items() if moments[line] <= arrival.until})
        assert turn.late is None
        assert turn.due is None or turn.due > arrival.until
        _check_kept(clause, within, bucket, arrival.until)
        if not any(later.rows for later in plan[at + 1 :]):
            left = [moments[line] for line in every - emitted]
            assert not left or (turn.due is not None and turn.due <= min(left))
        early |= arrival.until < EVER and bool(emitted)
    assert bucket.rows is None
    return f"{'some' if every else 'no'} matches, {'some' if early else 'none'} before the end"


def _sent(table: pa.Table) -> pa.Table:
    """Without what only all rows of a partition can tell."""
    mask = pc.bit_wise_and(table["mask0"], ~1)
    return table.set_column(table.schema.get_field_index("mask0"), "mask0", mask).drop_columns(["rank"])


def _check_kept(clause: EventPatternSpec, within: int, bucket: Bucket, until: int) -> None:
    """A row goes when the window it opens has closed; where a match looks both ahead and behind, after another window."""
    if bucket.rows is None or clause.strategy == "strict_contiguity":  # there rows of all partitions stay as neighbours
        return
    final = bucket.rows.filter(pc.less(bucket.rows["ts"], until))
    ends = np.asarray(final["ceiling"])
    parts = branches(clause.pattern)
    if _waits(clause) or any(_looks(part, "after") and _looks(part, "before") for part in parts):
        ends = np.asarray(final["ts"]) + 2 * within
    assert (ends > until).all()


def _moment(clause: EventPatternSpec, line: tuple[Any, ...]) -> int:
    """The least ``until`` by which a match (of COMPRESSED MATCHES: a row) is known."""
    *values, first_deadline, last_ceiling, end = line
    if _waits(clause):
        return int(last_ceiling)
    if clause.matches != "all":
        return int(end) + 1
    names = [element.variable for element in elements(clause.pattern, negated=False)]
    bound = {name for name, value in zip(names, values, strict=True) if value not in (None, ())}
    (branch,) = (branch for branch in branches(clause.pattern) if set(branch.variables) == bound)
    return int(first_deadline) if _looks(branch, "after") else int(end) + 1


def _waits(clause: EventPatternSpec) -> bool:
    """Whether matches are compared, or share a row, and some are not known at their end."""
    return clause.matches != "all" and any(_looks(branch, "after") for branch in branches(clause.pattern))


def _looks(branch: Branch, side: str) -> bool:
    """Whether a negated event may lie after the match's end, or before its start."""
    return any(not getattr(negation, side) for part in branch.alternatives for negation in part)


def _spec(case: EventCase, output: MatchOutput, engine: Engine = "auto") -> StreamSpec:
    clause = event_pattern_spec(replace(case, non_overlapping=False))
    outputs = clause.outputs
    if output == "compressed":
        outputs = (Output("last", LastEvent("id")), Output("buffer", BufferStruct((("id", "id"),))))
    clause = replace(clause, matches=output, engine=engine, outputs=(*outputs, *HIDDEN))
    attributes = (equivalence(text) for text in case.where)
    return StreamSpec(
        of=clause,
        keys=tuple(dict.fromkeys([*case.partition, *(name for name in attributes if name is not None)])),
        order=tuple(OrderColumn(name) for name in case.order),
        time="ts",
        identity="identity",
        schema="{}",
        deadline="deadline",
    )


def _table(case: EventCase, falls: dict[int, int]) -> pa.Table | None:
    """The events as the batch engine reads them. ``falls``: by how much the deadline of a time comes earlier (as for a month in spring).
    ``ceiling``: the greatest deadline so far in the partition."""
    parts = []
    for part in event_tables(case):
        early = [falls.get(time, 0) for time in part["ts"].to_pylist()]
        deadline = np.asarray(part["deadline"]) - np.array(early, np.int64)
        part = part.set_column(part.schema.get_field_index("deadline"), "deadline", pa.array(deadline))
        part = part.append_column("ceiling", pa.array(np.maximum.accumulate(_candidates(part, deadline))))
        parts.append(part)
    if not parts:
        return None
    table = pa.concat_tables(parts)
    places = {
        row["id"]: place for place, row in enumerate(case.events)
    }  # of concurrent events the first comes first, whatever its partition
    return table.append_column("identity", pa.array([places[name] for name in table["id"].to_pylist()]))


def _candidates(part: pa.Table, deadline: Any) -> Any:
    """Only events that a variable can take count."""
    masks = [np.asarray(part[name]) for name in part.column_names if name.startswith("mask")]
    taken = (masks[0] > 1) | np.any(masks[1:], axis=0) if len(masks) > 1 else masks[0] > 1
    return np.where(taken, deadline, 0)


def _answers(clause: EventPatternSpec, found: Any) -> Counter[Any]:
    return Counter(line for table in found for line in _lines(clause, table))


def _lines(clause: EventPatternSpec, table: pa.Table) -> Iterator[tuple[Any, ...]]:
    kleene = [element.kleene for element in elements(clause.pattern, negated=False)]
    for row in table.to_pylist():
        if "buffer" in row:
            buffer = row.pop("buffer")
            walks = expand(buffer["variable"], buffer["event"], buffer["previous"], buffer["other"], kleene)
            row = {"matches": tuple(sorted((tuple(map(_plain, match)) for match in walks), key=repr))} | row
        yield tuple(map(_plain, row.values()))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(item["id"] for item in value)
    return value["id"] if isinstance(value, dict) else value
