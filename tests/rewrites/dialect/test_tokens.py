"""Tokens: exact offsets, words cut, brackets matched; the compiled sqlglot is refused."""

from __future__ import annotations

import pytest

from rewrites.dialect.tokens import require_plain_sqlglot, split_commas, tokenize
from sparkcep.errors import CepInternalError, CepSyntaxError

TEXTS = [
    ("ORDER   BY x", ["ORDER", "BY", "x"]),
    ("ORDER /* c */ BY x", ["ORDER", "BY", "x"]),
    ("A??|B||C{-}", ["A", "?", "?", "|", "B", "|", "|", "C", "{", "-", "}"]),
    ("{-A{2}-}}", ["{", "-", "A", "{", "2", "}", "-", "}", "}"]),
    ("[..i-1]", ["[", ".", ".", "i", "-", "1", "]"]),
    ("1L + 1.0BD", ["1L", "+", "1.0BD"]),
    ("`a``b`.c", ["`a``b`", ".", "c"]),
    ("'it''s' r'\\d' \"q\"", ["'it'", "'s'", "r'\\d'", '"q"']),
    ("SHOW TABLES; CACHE TABLE x", ["SHOW", "TABLES", ";", "CACHE", "TABLE", "x"]),
    ("SELECT /*+ HINT(a) */ é", ["SELECT", "é"]),
    ("a -- b\nc /* d /* e */ f */ g", ["a", "c", "g"]),
    ("a -- b \\\nc \\\n d\ne '-- \\\n' f r'\\' -- \n g", ["a", "e", "'-- \\\n'", "f", "r'\\'", "g"]),
    ("EXPLAIN SELECT 1", ["EXPLAIN", "SELECT", "1"]),
]


@pytest.mark.parametrize(("sql", "texts"), TEXTS)
def test_items(sql: str, texts: list[str]) -> None:
    assert [sql[token.span.start : token.span.end] for token in tokenize(sql).items] == texts


def test_brackets() -> None:
    tokens = tokenize("a (b [c) d]")
    assert tokens.partner == (-1, 5, -1, -1, -1, 1, -1, -1)


def test_commas_inside_brackets_do_not_split() -> None:
    parts = split_commas(tokenize("a, f(b, c)[1, 2], {d, e}").items)
    assert [" ".join(token.text for token in part) for part in parts] == ["a", "f ( b , c ) [ 1 , 2 ]", "{ d , e }"]


@pytest.mark.parametrize("sql", ["SELECT 'x", 'SELECT "x', "SELECT `x"])
def test_what_does_not_end_is_underlined(sql: str) -> None:
    with pytest.raises(CepSyntaxError) as caught:
        tokenize(sql)
    assert caught.value.span
    assert caught.value.span.start == 7


def test_compiled_sqlglot_is_refused() -> None:
    require_plain_sqlglot("/x/sqlglot/parser.py")
    with pytest.raises(CepInternalError, match="plain sqlglot"):
        require_plain_sqlglot("/x/sqlglot/parser.cpython-311-x86_64-linux-gnu.so")
