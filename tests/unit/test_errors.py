"""What a user sees of an error."""

import pytest

from sparkcep.errors import MIN_WIDTH, CepAnalysisError, CepSyntaxError, Span


def test_code_message_caret_hint():
    error = CepSyntaxError("PATTERN is missing", sql="SELECT 1\n\tFROM t", span=Span(10, 14), hint="write it")
    assert str(error) == "[CEP_SYNTAX] PATTERN is missing\nline 2: \tFROM t\n        \t^^^^\nHint: write it"


def test_span_over_lines_is_underlined_to_the_end_of_its_first():
    assert str(CepSyntaxError("m", sql="ab\ncd", span=Span(1, 5))).endswith("line 1: ab\n         ^")


def test_sql_is_attached_once():
    error = CepAnalysisError("m", code="NAME", span=Span(0, 1))
    attached = error.in_sql("x")
    assert attached.code == "CEP_ANALYSIS_NAME"
    assert attached.in_sql("y") is attached


LONG = f"SELECT {'x, ' * 50}price FROM t WHERE {'y > 3 AND ' * 20}z"


@pytest.mark.parametrize("word", ["SELECT", "price", "WHERE", "z"])
@pytest.mark.parametrize("width", [1, 40, 88])
def test_a_long_line_is_cut_around_the_span(word, width):
    at = LONG.rindex(word)
    _, line, carets = CepSyntaxError("m", sql=LONG, span=Span(at, at + len(word))).render(width).splitlines()
    assert len(line) <= max(width, MIN_WIDTH + len("line 1: "))
    assert line[carets.index("^") : carets.rindex("^") + 1] == word


def test_a_caret_behind_the_end_of_a_long_line():
    _, line, carets = CepSyntaxError("m", sql=LONG, span=Span(len(LONG), len(LONG))).render(60).splitlines()
    assert carets == " " * len(line) + "^"
