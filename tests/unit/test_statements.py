"""Splitting a script into statements, and which of them make a view that other sessions read."""

import pytest

from sparkcep.cli import split_statements
from sparkcep.session.statement import lasting_view

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


LASTING = [
    "CREATE VIEW v AS SELECT 1",
    "create or replace view v AS SELECT 1",
    "CREATE VIEW IF NOT EXISTS v (temporary COMMENT 'x') AS SELECT 1",
    "-- one\nCREATE OR REPLACE GLOBAL TEMPORARY VIEW v AS SELECT 1",
    "ALTER VIEW v AS SELECT 1",
]
PASSING = [
    "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE OR REPLACE TEMPORARY VIEW global AS SELECT 1",
    "CREATE TABLE view AS SELECT 1",
    "INSERT INTO view SELECT 1",
    "SELECT 1 AS view",
]


def test_lasting_views():
    assert [text for text in (*LASTING, *PASSING) if lasting_view(text)] == LASTING
