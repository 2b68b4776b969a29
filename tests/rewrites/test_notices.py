"""What a clause is warned of, and what it is not."""

from __future__ import annotations

import pytest

from rewrites.bind.notices import notices
from rewrites.dialect import find_sites, parse_clause

CASES = {
    "own_last": ("ORDER BY ts PATTERN (a b+) DEFINE b AS b.v > LAST(b.v)", ["LAST(b.v)"]),
    "last_of_another": ("ORDER BY ts PATTERN (a b+) DEFINE b AS b.v > LAST(a.v)", []),
    "own_last_with_offset": ("ORDER BY ts PATTERN (a b+) DEFINE b AS b.v > LAST(b.v, 1)", []),
    "own_last_inside_prev": ("ORDER BY ts PATTERN (a b+) DEFINE b AS b.v > PREV(LAST(b.v))", []),
    "swallowing": ("ORDER BY ts PATTERN (a b* c) DEFINE c AS v > 3", ["b"]),
    "reluctant": ("ORDER BY ts PATTERN (a b*? c) DEFINE c AS v > 3", []),
    "bounded": ("ORDER BY ts PATTERN (a b{,3} c) DEFINE c AS v > 3", []),
    "no_order": ("PATTERN (a b)", ["MATCH_RECOGNIZE"]),
    "order_is_the_key": ("PARTITION BY k ORDER BY k PATTERN (a b)", ["k"]),
    "order_is_constant": ("ORDER BY 1 PATTERN (a b)", ["1"]),
    "order_has_more_than_the_key": ("PARTITION BY k ORDER BY k, ts PATTERN (a b)", []),
    "order_by_a_function": ("ORDER BY monotonically_increasing_id() PATTERN (a b)", []),
}


@pytest.mark.parametrize(("body", "places"), CASES.values(), ids=CASES)
def test_notices(body: str, places: list[str]) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({body})"
    (site,) = find_sites(text)
    found = notices(parse_clause(text, site))
    assert [text[notice.span.start : notice.span.end] for notice in found] == places


def test_registers_that_no_path_has_set() -> None:
    text = """SELECT * FROM t MATCH AUTOMATON (ORDER BY ts REGISTERS (a INT, b INT, c INT DEFAULT 0, d INT) START s FINAL f
      ARC s -> m WHEN a > 1 AND c > 1 AND d IS NULL SET b = x
      ARC m -> f WHEN b > 1 SET a = b)"""
    (site,) = find_sites(text)
    (notice,) = notices(parse_clause(text, site))
    assert (
        str(notice) == "no arc has set the register a here, so it is NULL; give it a DEFAULT, or ask whether it IS NULL"
    )
    assert text[notice.span.start - 5 : notice.span.end + 4] == "WHEN a > 1"
