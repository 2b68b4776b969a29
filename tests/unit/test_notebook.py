"""What a notebook shows, as HTML: tables, drawings with counts, errors."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

import pytest

from rewrites.dialect import parse_row_pattern
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.explanation.automaton import END, Edge, edges
from sparkcep.explanation.counted import Count, counted
from sparkcep.explanation.drawing import Line, svg
from sparkcep.notebook.errors import lines, without_traceback
from sparkcep.notebook.table import table_html
from sparkcep.pattern.row import variables
from sparkcep.spec import EventPatternSpec, RowPatternSpec
from sparkcep.spec.automaton import Arc, AutomatonSpec


def ranks(values):
    cells = re.findall(r"<td(?: class=n)?(?: data-r=(\d+))?>", table_html(["v"], [[value] for value in values]))
    return [int(rank) if rank else None for rank in cells]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 9, None, 100], [1, 0, None, 2]),
        ([2.5, float("nan"), -1.0], [1, 2, 0]),
        ([Decimal("10.0"), Decimal("9.5")], [1, 0]),
        ([datetime.timedelta(days=10), datetime.timedelta(days=9)], [1, 0]),
        (["b", None, "a", "c"], [1, None, 0, 2]),
        ([{"b": 1}, {"a": 1}], [1, 0]),
    ],
)
def test_cells_know_their_rank(values, expected):
    assert ranks(values) == expected


def test_a_table_escapes_what_it_shows():
    page = table_html(["<a>"], [["<b>"], [None]])
    assert "<th>&lt;a&gt;</th>" in page
    assert "&lt;b&gt;" in page
    assert "<i>NULL</i>" in page


def test_an_error_has_its_part_underlined_and_no_traceback():
    sql = "SELECT 1 FROM t"
    error = without_traceback(CepAnalysisError("no t", sql=sql, span=Span(14, 15), hint="u"))
    message, line, caret, hint = error._render_traceback_()
    assert "[CEP_ANALYSIS] no t" in message
    assert "\x1b[4mt\x1b[0m" in line
    assert caret.strip("\x1b[310m").index("^") == "line 1: SELECT 1 FROM t".rindex("t")
    assert hint == "Hint: u"
    assert "KeyboardInterrupt" in lines(KeyboardInterrupt())[0]


def test_counts_stand_on_the_states_of_a_row_pattern():
    pattern = parse_row_pattern("a b+")
    spec = RowPatternSpec(variables(pattern), pattern, ("m",), (), "{}")
    counts = [
        Count("condition", "b: x > 1", 9, 4),
        Count("state", "a", 9, 9),
        Count("state", "b", 5, 0),
        Count("matches", "", 0),
    ]
    found, on = counted(spec, counts, counts[2])
    assert found == edges(spec)
    assert on["a"] == (Line("9 → 9", bold=True),)
    assert on["b"] == (Line("5 → 0", "stopped", bold=True), Line("x > 1: 9 → 4"))
    assert on[END] == (Line("0 matches", "unreached", bold=True),)


def test_counts_stand_on_the_arcs_of_an_automaton_unless_two_share_one():
    arcs = (Arc("", "s", "m"), Arc("", "m", "m", text="x"), Arc("", "m", "m", text="y"), Arc("far", "m", "f"))
    spec = AutomatonSpec(("s", "m", "f"), ("f",), arcs, ("m",), (), "{}")
    counts = [Count("arc", "s -> m", 7, 3), Count("arc", "m -> m", 6, 2), Count("arc", "m -> f (far)", 3, 0)]
    found, on = counted(spec, counts, None)
    assert [str(edge.label) for edge in found[1:5]] == ["", "x", "y", "far"]
    assert on[1] == (Line("7 → 3", bold=True),)
    assert 2 not in on
    assert 3 not in on
    assert on[4][0].fate == "stopped"


def chain(*counts):
    found, on = counted(EVENTS, counts, next((count for count in counts if count.item == "no"), None))
    return [
        (edge.source, edge.target, [line.text for line in on.get(i, ()) if line.text]) for i, edge in enumerate(found)
    ]


EVENTS = EventPatternSpec((), None, ("m",), "r", (), "{}")  # only its kind matters


def test_the_states_of_an_event_pattern_are_those_counted():
    assert chain(
        Count("state", "b", 1, 1),
        Count("state", "b, v", 2, 1),
        Count("predicate", "v: order", 2, 2),
        Count("predicate", "v.x > b.x", 2, 1),
        Count("state", "v[i]", 4, 3),
        Count("matches", "", 1),
    ) == [
        ("start", "b", ["1 → 1"]),
        ("b", "b, v", ["2 → 1", "order: 2 → 2", "v.x > b.x: 2 → 1"]),
        ("b, v", "b, v", ["4 → 3"]),
        ("b, v", END, []),
    ]


def test_several_orders_have_no_conditions_on_their_arrows():
    drawn = chain(
        Count("state", "a", 1, 1),
        Count("state", "a, b", 1, 1),
        Count("predicate", "b: order", 3, 2),
        Count("state", "b", 2, 2),
        Count("state", "b, a", 2, 1),
        Count("matches", "", 2),
    )
    assert [len(texts) for _, _, texts in drawn] == [1, 1, 1, 1, 0, 0]


def test_a_state_that_nothing_got_past_does_not_lead_to_the_match():
    counts = [
        Count("state", name, *n) for name, n in {"a": (3, 3), "a, b": (2, 1), "b": (1, 1), "b, a": (0, 0)}.items()
    ]
    found, on = counted(EVENTS, [*counts, Count("state", "c", 0, 0), Count("matches", "", 1)], None)
    ends = {edge.source: on[i][-1].fate for i, edge in enumerate(found) if edge.target == END}
    assert ends == {"a, b": "", "b, a": "unreached"}


def test_each_of_several_patterns_has_its_end():
    drawn = chain(
        Count("prefix", "p: a", 2), Count("prefix", "q: b", 0), Count("matches", "p", 2), Count("matches", "q", 0)
    )
    assert [(source, target) for source, target, _ in drawn[2:]] == [("p: a", f"{END} of p"), ("q: b", f"{END} of q")]


def test_nothing_counted_is_drawn_too():
    assert chain(Count("matches", "", 0)) == [("start", END, [])]


def test_what_nothing_got_past_is_red():
    pytest.importorskip("pygraphviz", exc_type=ImportError)
    drawn = svg([Edge("start", "a"), Edge("a", END)], {"a": [Line("2 → 0", "stopped")], 1: [Line("0", "unreached")]})
    state = drawn[drawn.index('class="node s1"') :]
    assert 'stroke="#c53030"' in state[: state.index("</g>")]
    assert 'class="edge e1" tabindex="0"' in drawn
    assert "stroke-dasharray" in drawn
