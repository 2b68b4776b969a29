"""The corpus' pattern texts mean the same to the project's dialect as to the reference's own reader."""

import pytest

from rewrites.dialect import parse_event_pattern, parse_row_pattern
from sparkcep.errors import CepSyntaxError
from tests.corpus import event_cases, row_cases
from tests.reference.text import event_pattern, row_pattern

REFUSED = {"A{0} B", "A{0,0} B"}
"""Row patterns that engines run and the dialect refuses."""


@pytest.mark.parametrize("text", sorted({case.pattern for case in row_cases()}))
def test_row_pattern(text: str) -> None:
    if text in REFUSED:
        with pytest.raises(CepSyntaxError):
            parse_row_pattern(text)
        return
    assert parse_row_pattern(text) == row_pattern(text)
    assert row_pattern(str(row_pattern(text))) == row_pattern(text)


@pytest.mark.parametrize("text", sorted({case.pattern for case in event_cases()}))
def test_event_pattern(text: str) -> None:
    assert parse_event_pattern(text) == event_pattern(text)
    assert event_pattern(str(event_pattern(text))) == event_pattern(text)
