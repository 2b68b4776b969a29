"""MatchSpec ↔ JSON: everything that travels comes back equal, and nothing unknown is read."""

import json

import pytest

from rewrites.dialect import parse_event_pattern, parse_row_pattern
from sparkcep.errors import CepInternalError
from sparkcep.spec import EventPatternSpec, RowPatternSpec, event, from_json, row, to_json
from sparkcep.spec.expression import Call, ColumnOf

ROW = RowPatternSpec(
    variables=("A", "B"),
    pattern=parse_row_pattern("^ A+? (B | {- A -}){2,} PERMUTE(A, B) () $"),
    masks=("m",),
    outputs=(
        row.Output("k", row.CurrentRow("k")),
        row.Output("x", row.ColumnAt("x", row.Navigation(("A", "B"), False, True, 2, -1))),
        row.Output("c", row.ClassifierAt(row.Navigation())),
        row.Output("n", row.MatchNumber()),
        row.Output("s", row.Aggregate("sum", "x", ("A",), True, True, "f")),
    ),
    schema='{"type":"struct","fields":[]}',
    rows_per_match="all_omit_empty",
    skip=row.Skip("last", ("A", "B")),
    initial=True,
    defines=(row.Define("B", Call("gt", (row.MatchNumber(), row.ColumnAt("x", row.Navigation()))), "text"),),
    partition=("k",),
)
EVENT = EventPatternSpec(
    variables=("a", "c", "b"),
    pattern=parse_event_pattern("SEQ(A a, NOT ANY(C, 'D-E') c, AND(B+ b[], OR(F f, G? g)))"),
    masks=("m",),
    rank="r",
    outputs=(event.Output("a", event.EventStruct("a", (("x", "y"),))), event.Output("t", event.FirstEvent("ts"))),
    schema="{}",
    predicates=(event.Predicate(Call("lt", (ColumnOf("a", "x"), ColumnOf("b", "x"))), "a.x < b.x"),),
    within=event.WithinEvents(5),
)


@pytest.mark.parametrize("spec", [ROW, EVENT], ids=["row", "event"])
def test_round_trip(spec):
    assert from_json(to_json(spec)) == spec


def test_spans_stay_behind():
    assert "span" not in to_json(ROW)


def test_other_version():
    document = json.loads(to_json(ROW)) | {"version": 99}
    with pytest.raises(CepInternalError, match="version 99"):
        from_json(json.dumps(document))


def test_unknown_class():
    text = to_json(ROW).replace("row.MatchNumber", "os.system")
    with pytest.raises(CepInternalError, match=r"os\.system"):
        from_json(text)
