"""What a user sees of an error."""

from sparkcep.errors import CepAnalysisError, CepSyntaxError, Span


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
