"""Splitting a script into statements."""

import pytest

from sparkcep.cli import split_statements

SCRIPTS = [
    ("SELECT 1", ["SELECT 1"]),
    ("SELECT 1;\nSELECT 2;\n", ["SELECT 1", "SELECT 2"]),
    ("SELECT ';' ; -- a; b\nSELECT `;`", ["SELECT ';'", "-- a; b\nSELECT `;`"]),
    ("/* ; */ ;", []),
    ("", []),
]


@pytest.mark.parametrize(("script", "statements"), SCRIPTS)
def test_split(script, statements):
    assert list(split_statements(script)) == statements
