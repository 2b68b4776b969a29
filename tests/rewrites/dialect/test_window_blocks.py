"""Windows with patterns are found, and their blocks cut, wherever they stand."""

from __future__ import annotations

import pytest

from rewrites.dialect.parameters import placeholders
from rewrites.dialect.window_blocks import WindowBlock, find_window_blocks
from sparkcep.errors import CepError, CepSyntaxError, Span

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
        (f"SELECT m OVER w FROM t WHERE x > 1 WINDOW w AS {W} ORDER BY m OVER w LIMIT 3", None, "t", "x > 1", "ORDER BY m OVER w | LIMIT 3"),
        (f"SELECT a IS DISTINCT FROM b, m OVER w FROM t u JOIN v ON u.a = v.b WINDOW w AS {W}", None, "t u JOIN v ON u.a = v.b", None, None),
        (f"SELECT * FROM (SELECT m OVER w FROM t WINDOW w AS {W}) WHERE m > 1", f"SELECT m OVER w FROM t WINDOW w AS {W}", "t", None, None),
        (f"WITH c AS (SELECT 1) SELECT m OVER w FROM c WINDOW w AS {W};", f"SELECT m OVER w FROM c WINDOW w AS {W}", "c", None, None),
        (f"SELECT m OVER w FROM t WINDOW w AS {W} UNION ALL SELECT 1 FROM u", f"SELECT m OVER w FROM t WINDOW w AS {W}", "t", None, None),
        (f"SELECT 1 FROM u UNION ALL SELECT m OVER w FROM t WINDOW w AS {W} ORDER BY 1", f"SELECT m OVER w FROM t WINDOW w AS {W}", "t", None, None),
        (f"SELECT m OVER w FROM t WHERE limit > 3 AND offset = limit ORDER BY limit, m OVER {W}".replace("OVER w", f"OVER {W}"), None, "t",
         "limit > 3 AND offset = limit", f"ORDER BY limit, m OVER {W}"),
        (f"SELECT m OVER w FROM t ORDER BY CASE WHEN limit IS NULL THEN 1 END, offset DESC WINDOW w AS {W} LIMIT 2 OFFSET 1", None, "t", None,
         "ORDER BY CASE WHEN limit IS NULL THEN 1 END, offset DESC | LIMIT 2 | OFFSET 1"),
        (f"SELECT m OVER w FROM t DISTRIBUTE BY x SORT BY y WINDOW w AS {W}", None, "t", None, "DISTRIBUTE BY x | SORT BY y"),
        (f"SELECT 1 FROM u UNION SELECT m OVER {W} FROM t ORDER BY 1 WINDOW p AS (ORDER BY z)", f"SELECT m OVER {W} FROM t", "t", None, None),
    ],
)  # fmt: skip
def test_blocks(sql: str, block: str | None, rows: str, where: str | None, tail: str | None) -> None:
    found = only(sql)
    assert text(sql, found.span) == (block or sql)
    assert (text(sql, found.rows), text(sql, found.where)) == (rows, where)
    assert " | ".join(sql[span.start : span.end] for span in found.tail) == (tail or "")


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
        f"SELECT m OVER w FROM t WINDOW w AS {W}, v AS w",
        f"SELECT 1 FROM u UNION ALL SELECT m OVER w FROM t ORDER BY 1 WINDOW w AS {W}",
    ],
)
def test_refused_by_name(sql: str) -> None:
    with pytest.raises(CepError) as caught:
        find_window_blocks(sql)
    assert caught.value.code == "CEP_UNSUPPORTED_WINDOW_BLOCK"
    assert caught.value.span
    assert caught.value.hint


@pytest.mark.parametrize(
    ("rest", "code", "place"),
    [
        ("WINDOW w nonsense here", "CLAUSE", "nonsense"),
        ("WINDOW w JOIN u", "CLAUSE", "JOIN"),
        ("WINDOW w LATERAL VIEW explode(x) e AS z", "CLAUSE", "LATERAL"),
        ("WINDOW w, ticks c", "CLAUSE", "ticks"),
        ("WINDOW w, v (ORDER BY ts)", "CLAUSE", "v"),
        ("WINDOW w LIMIT", "CLAUSE", "LIMIT"),
        ("WINDOW w, ORDER BY ts", "COMMA", ","),
        ("GROUP BY ts, WINDOW w", "COMMA", ","),
        ("WHERE WINDOW w", "EMPTY", "WHERE"),
        ("WINDOW w ORDER BY", "EMPTY", "ORDER BY"),
        ("WHERE ts > 1 WINDOW w WHERE ts < 3", "DUPLICATE_CLAUSE", "WHERE"),
        ("WINDOW w WINDOW v AS (ORDER BY ts)", "DUPLICATE_CLAUSE", "WINDOW"),
        ("WINDOW w ORDER BY ts WINDOW v AS (ORDER BY ts)", "DUPLICATE_CLAUSE", "WINDOW"),
        ("WINDOW w WHERE ts < 3", "CLAUSE_ORDER", "WHERE"),
        ("ORDER BY ts QUALIFY m OVER w > 1 WINDOW w", "CLAUSE_ORDER", "QUALIFY"),
        ("LIMIT 3 WINDOW w", "CLAUSE_ORDER", "WINDOW"),
        ("WINDOW w SORT BY ts DISTRIBUTE BY x", "CLAUSE_ORDER", "DISTRIBUTE BY"),
        ("WINDOW w, `W` AS (ORDER BY ts)", "DUPLICATE_NAME", "`W`"),
    ],
)
def test_sections_that_do_not_follow_the_grammar(rest: str, code: str, place: str) -> None:
    sql = f"SELECT m OVER w FROM t {rest}".replace("WINDOW w", f"WINDOW w AS {W}")
    with pytest.raises(CepSyntaxError) as caught:
        find_window_blocks(sql)
    assert (caught.value.code, text(sql, caught.value.span)) == (f"CEP_SYNTAX_{code}", place)
    assert caught.value.span is not None
    assert caught.value.span.start == sql.rindex(f" {place}" if place != "," else ", ") + (place != ",")


def test_nothing_behind_from() -> None:
    with pytest.raises(CepSyntaxError, match="FROM is empty"):
        find_window_blocks(f"SELECT m OVER {W} FROM WHERE x > 1")
