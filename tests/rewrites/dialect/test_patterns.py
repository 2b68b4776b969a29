"""Pattern text → pattern IR, seen through the IR's own text."""

from __future__ import annotations

import pytest

from rewrites.dialect import parse_event_pattern, parse_row_pattern
from sparkcep.errors import CepError, Span
from sparkcep.pattern import event, row

ROW_PATTERNS = [
    ("A", "A"),
    ("A B C", "A B C"),
    ("A B+ C* D?", "A B+ C* D?"),
    ("A+? B*? C??", "A+? B*? C??"),
    ("A{2} B{2,} C{2,3} D{,3}", "A{2} B{2,} C{2,3} D{0,3}"),
    ("A{2}? B{2,}? C{2,3}?", "A{2}? B{2,}? C{2,3}?"),
    ("A{1,} B{0,1}", "A+ B?"),
    ("A|B", "A | B"),
    ("A?|B*|C", "A? | B* | C"),
    ("A??|B", "A?? | B"),
    ("A | B C | D", "A | B C | D"),
    ("(A | B) | (C | D)", "A | B | C | D"),
    ("(A (B C)) | D", "A B C | D"),
    ("((A))", "A"),
    ("((A B))+", "(A B)+"),
    ("(A+)+", "(A+)+"),
    ("(A | B)*? C", "(A | B)*? C"),
    ("^ A $", "^ A $"),
    ("^A$|B", "^ A $ | B"),
    ("()", "()"),
    ("A | ()", "A | ()"),
    ("PERMUTE(A, B, C)", "PERMUTE(A, B, C)"),
    ("PERMUTE(A B, C | D)+", "PERMUTE(A B, C | D)+"),
    ("PERMUTE(A B)+", "PERMUTE(A B)+"),
    ("{- A -} B", "{- A -} B"),
    ("{-A{2}-}", "{- A{2} -}"),
    ("A {- B+ C -}* D", "A {- B+ C -}* D"),
    ("A /* then */ B -- C", "A B"),
    ("`A` `one b`", "A one b"),
    ("Permute b", "Permute b"),
    ("a A", "a A"),
]

EVENT_PATTERNS = [
    ("SEQ(A a, B b)", "SEQ(A a, B b)"),
    ("seq(A a, b B)", "SEQ(A a, b B)"),
    ("SEQ(Kindle, KindleCase, Stylus)", "SEQ(Kindle Kindle, KindleCase KindleCase, Stylus Stylus)"),
    ("SEQ(A, B, A)", "SEQ(A A_1, B B, A A_2)"),
    ("SEQ(A, A x, A)", "SEQ(A A_1, A x, A A_2)"),
    ("SEQ(A, A x)", "SEQ(A A, A x)"),
    ("SEQ(A, !B, NOT C c, ~D)", "SEQ(A A, NOT B B, NOT C c, NOT D D)"),
    ("SEQ(Shelf x, !(Counter y), Exit z)", "SEQ(Shelf x, NOT Counter y, Exit z)"),
    ("SEQ(A a, NOT SEQ(B b, C c), D d)", "SEQ(A a, NOT SEQ(B b, C c), D d)"),
    ("SEQ('SHELF-READING' x, 'EXIT' y)", "SEQ('SHELF-READING' x, EXIT y)"),
    ("SEQ('EXIT', B)", "SEQ(EXIT EXIT, B B)"),
    ("SEQ(`odd type` x, B)", "SEQ('odd type' x, B B)"),
    ("'O''Brien' x", r"'O\'Brien' x"),
    ("SEQ(A a, Stock+ b[])", "SEQ(A a, Stock+ b)"),
    ("SEQ(A a, Stock+ b [ ])", "SEQ(A a, Stock+ b)"),
    ("SEQ(A+ a, B* b[], C? c, D{3} d, E{2,} e, F{2,5} f)", "SEQ(A+ a, B* b, C? c, D{3} d, E{2,} e, F{2,5} f)"),
    ("A+", "A+ A"),
    ("A", "A A"),
    ("ANY v", "ANY v"),
    ("SEQ(ANY+ v[], ANY(A, 'B C') w)", "SEQ(ANY+ v, ANY(A, 'B C') w)"),
    ("AND(A a, OR(B b, SEQ(C c, D d)))", "AND(A a, OR(B b, SEQ(C c, D d)))"),
    ("OR(A, B)", "OR(A A, B B)"),
    ("SEQ(A seq, B match)", "SEQ(A seq, B match)"),
    ("SEQ(SEQ a, B pattern)", "SEQ(SEQ a, B pattern)"),
    ("SEQ(A /* first */ a, -- then\n B b)", "SEQ(A a, B b)"),
]


@pytest.mark.parametrize(("text", "expected"), ROW_PATTERNS)
def test_row_pattern(text: str, expected: str) -> None:
    assert str(parse_row_pattern(text)) == expected


@pytest.mark.parametrize(("text", "expected"), EVENT_PATTERNS)
def test_event_pattern(text: str, expected: str) -> None:
    assert str(parse_event_pattern(text)) == expected


@pytest.mark.parametrize("text", [text for text, _ in ROW_PATTERNS if "`" not in text])
def test_the_text_of_every_row_pattern_node_parses_to_that_node(text: str) -> None:
    for node in row.walk(parse_row_pattern(text)):
        assert node.span
        assert parse_row_pattern(text, node.span) == node


@pytest.mark.parametrize(
    "text", [text for text, _ in EVENT_PATTERNS if "A, B, A" not in text and "A, A x, A" not in text]
)
def test_the_text_of_every_event_pattern_node_parses_to_that_node(text: str) -> None:
    for node in event.walk(parse_event_pattern(text)):
        assert node.span
        if not isinstance(node, event.Not):
            assert parse_event_pattern(text, node.span) == node


@pytest.mark.parametrize("text", [expected for _, expected in ROW_PATTERNS if "one b" not in expected])
def test_row_pattern_text_is_a_fixed_point(text: str) -> None:
    assert str(parse_row_pattern(text)) == text


@pytest.mark.parametrize("text", [expected for _, expected in EVENT_PATTERNS])
def test_event_pattern_text_is_a_fixed_point(text: str) -> None:
    assert str(parse_event_pattern(text)) == text


EMPTY_BRANCHES = [
    ("A|", "A | ()"),
    ("|A", "() | A"),
    ("(A|) B", "(A | ()) B"),
    ("A | | B", "A | () | B"),
    ("PERMUTE(A|, B)", "PERMUTE(A | (), B)"),
    ("{- | A -}", "{- () | A -}"),
]


@pytest.mark.parametrize(("text", "expected"), EMPTY_BRANCHES)
def test_a_branch_may_be_empty(text: str, expected: str) -> None:
    assert str(parse_row_pattern(text)) == expected


BAD_ROW_PATTERNS = [
    "",
    "A||B",
    "A|||B",
    "PERMUTE(A,)",
    "A**",
    "A+?+",
    "A{3,2}",
    "A{0}",
    "PERMUTE()",
    "{- -}",
    "(A",
    "A)",
]
BAD_EVENT_PATTERNS = [
    "",
    "NOT A",
    "SEQ()",
    "SEQ(A",
    "A B C",
    "SEQ(A a, B a)",
    "'x y'",
    "ANY",
    "!!A",
    "FOO(A)",
    "A b[]",
    "A+? b",
    "PATTERN p",
]


@pytest.mark.parametrize("text", BAD_ROW_PATTERNS)
def test_bad_row_pattern(text: str) -> None:
    with pytest.raises(CepError) as caught:
        parse_row_pattern(text)
    assert caught.value.span is not None


@pytest.mark.parametrize("text", BAD_EVENT_PATTERNS)
def test_bad_event_pattern(text: str) -> None:
    with pytest.raises(CepError) as caught:
        parse_event_pattern(text)
    assert caught.value.span is not None


def test_a_pattern_inside_a_statement_keeps_the_statement_s_offsets() -> None:
    sql = "SELECT 'é' PATTERN (A B+)"
    start = sql.index("(") + 1
    pattern = parse_row_pattern(sql, Span(start, len(sql) - 1))
    assert [sql[n.span.start : n.span.end] for n in row.walk(pattern) if n.span] == ["A B+", "A", "B+", "B"]
