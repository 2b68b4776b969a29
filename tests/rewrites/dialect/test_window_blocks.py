"""Windows with patterns are found, and their blocks cut, wherever they stand."""

from __future__ import annotations

import pytest

from rewrites.dialect.parameters import placeholders
from rewrites.dialect.window_blocks import WindowBlock, find_window_blocks
from sparkcep.errors import CepError, Span

W = "(ORDER BY ts MEASURES LAST(x) AS m ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (a b?) DEFINE a AS x > 1)"


def only(sql: str) -> WindowBlock:
    (block,) = find_window_blocks(sql)
    return block


def text(sql: str, span: Span | None) -> str | None:
    return None if span is None else sql[span.start : span.end]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT pattern(x) OVER (ORDER BY y) FROM t",
        "SELECT count(*) OVER w FROM t WINDOW w AS (ORDER BY pattern)",
        "SELECT 'OVER (ROWS PATTERN (a))'",
        "SELECT x -- OVER ( PATTERN (a)\nFROM t",
        "SELECT over, window FROM pattern",
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS count(*) OVER (ORDER BY pattern (x)) > 1)",
    ],
)
def test_no_window_with_a_pattern(sql: str) -> None:
    assert find_window_blocks(sql) == ()


@pytest.mark.parametrize(
    ("sql", "block", "rows", "where", "tail"),
    [
        (f"SELECT m OVER w FROM t WINDOW w AS {W}", None, "t", None, None),
        (f"SELECT m OVER {W} FROM t", None, "t", None, None),
        (f"SELECT m OVER w FROM t WHERE x > 1 WINDOW w AS {W} ORDER BY m OVER w LIMIT 3", None, "t", "x > 1", "ORDER BY m OVER w LIMIT 3"),
        (f"SELECT a IS DISTINCT FROM b, m OVER w FROM t u JOIN v ON u.a = v.b WINDOW w AS {W}", None, "t u JOIN v ON u.a = v.b", None, None),
        (f"SELECT * FROM (SELECT m OVER w FROM t WINDOW w AS {W}) WHERE m > 1", f"SELECT m OVER w FROM t WINDOW w AS {W}", "t", None, None),
        (f"WITH c AS (SELECT 1) SELECT m OVER w FROM c WINDOW w AS {W};", f"SELECT m OVER w FROM c WINDOW w AS {W}", "c", None, None),
        (f"SELECT m OVER w FROM t WINDOW w AS {W} UNION ALL SELECT 1 FROM u", f"SELECT m OVER w FROM t WINDOW w AS {W}", "t", None, None),
        (f"SELECT 1 FROM u UNION ALL SELECT m OVER w FROM t WINDOW w AS {W} ORDER BY 1", f"SELECT m OVER w FROM t WINDOW w AS {W}", "t", None, None),
        (f"SELECT m OVER w FROM t WHERE limit > 3 AND offset = limit ORDER BY limit, m OVER {W}".replace("OVER w", f"OVER {W}"), None, "t",
         "limit > 3 AND offset = limit", f"ORDER BY limit, m OVER {W}"),
    ],
)  # fmt: skip
def test_blocks(sql: str, block: str | None, rows: str, where: str | None, tail: str | None) -> None:
    found = only(sql)
    assert text(sql, found.span) == (block or sql)
    assert (text(sql, found.rows), text(sql, found.where), text(sql, found.tail)) == (rows, where, tail)


def test_items_and_calls() -> None:
    sql = f"""SELECT DISTINCT a AS b, coalesce(m OVER w, 0) + 1 c, count(*) FILTER (WHERE x > 1) OVER w, first_value(x) IGNORE NULLS OVER w AS f,
              s.t.u d, m OVER {W} e, m OVER (w), sum(x) OVER p, case when a then b end FROM t WINDOW p AS (ORDER BY z), w AS {W}"""
    block = only(sql)
    assert [item.alias.value if item.alias else None for item in block.items] == [
        "b",
        "c",
        None,
        "f",
        "d",
        "e",
        None,
        None,
        None,
    ]
    calls = [text(sql, call.call) for item in block.items for call in item.calls]
    assert calls == ["m", "count(*) FILTER (WHERE x > 1)", "first_value(x) IGNORE NULLS", "m", "m"]
    assert [window.name and window.name.value for window in block.windows] == [None, "w"]
    assert [call.window for item in block.items for call in item.calls] == [1, 1, 1, 0, 1]
    assert [text(sql, span) for span in block.plain] == ["p AS (ORDER BY z)"]
    assert text(sql, block.lead) == " DISTINCT "


def test_blocks_of_a_statement_and_in_each_other() -> None:
    inner = f"SELECT m OVER w FROM t WINDOW w AS {W}"
    sql = f"SELECT m OVER w FROM ({inner}) WINDOW w AS {W}"
    assert {text(sql, block.span) for block in find_window_blocks(sql)} == {sql, inner}


def test_question_marks() -> None:
    sql = f"SELECT m OVER w FROM t WHERE x > ? WINDOW w AS {W}".replace("x > 1)", "x > ?)")
    assert [sql[span.start - 4 : span.start] for span in placeholders(sql)] == ["x > ", "x > "]


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT m OVER w FROM t HAVING x > 1 WINDOW w AS {W}",
        f"FROM t SELECT m OVER {W}",
        f"SELECT 1 FROM t WHERE m OVER {W} > 1",
        f"FROM t |> SELECT m OVER {W}",
        f"SELECT m OVER w2 FROM t WINDOW w AS {W}, w2 AS (w ROWS BETWEEN CURRENT ROW AND CURRENT ROW PATTERN (a))",
    ],
)
def test_refused_by_name(sql: str) -> None:
    with pytest.raises(CepError) as caught:
        find_window_blocks(sql)
    assert caught.value.code == "CEP_UNSUPPORTED_WINDOW_BLOCK"
    assert caught.value.span
    assert caught.value.hint
