"""Stored bodies in the place of their names, and where each character comes from."""

from __future__ import annotations

import pytest

from rewrites.dialect import find_sites, parse_clause
from rewrites.patterns import Version, expand
from rewrites.patterns.texts import Expanded
from sparkcep.errors import Span
from tests.rewrites.patterns.stored import BODIES, store

RISING, FALLS = BODIES["rising"], BODIES["falls"]
FROM = "SELECT * FROM t MATCH PATTERN"
WHOLE = {
    f"{FROM} rising": f"{FROM} (\n{RISING}\n)",
    f"{FROM} `Rising` AS m JOIN u MATCH_RECOGNIZE falls AS f ON m.x = f.e": f"{FROM} (\n{RISING}\n) AS m JOIN u MATCH_RECOGNIZE (\n{FALLS}\n) AS f ON m.x = f.e",
    f"SELECT * FROM ({FROM} /* c */ RISING -- d\n) m": f"SELECT * FROM ({FROM} /* c */ (\n{RISING}\n) -- d\n) m",
    "FROM t |> WHERE x > 1 |> MATCH PATTERN rising |> SELECT a.x": f"FROM t |> WHERE x > 1 |> MATCH PATTERN (\n{RISING}\n) |> SELECT a.x",
    "SELECT * FROM t MATCH PATTERNS both": f"SELECT * FROM t MATCH PATTERNS (\n{BODIES['both']}\n)",
    "SELECT * FROM t MATCH AUTOMATON walk": f"SELECT * FROM t MATCH AUTOMATON (\n{BODIES['walk']}\n)",
    "WITH r AS (SELECT * FROM t MATCH_RECOGNIZE falls) SELECT * FROM r": f"WITH r AS (SELECT * FROM t MATCH_RECOGNIZE (\n{FALLS}\n)) SELECT * FROM r",
}
READ = "SEQ(Shelf s, NOT Counter c)"
READ_R = "SEQ(Shelf r_s, NOT Counter r_c)"
INCLUDED = {
    "(PATTERN leaf ORDER BY ts)": "(A a ORDER BY ts)",
    "(SEQ(PATTERN read, E e) ORDER BY ts WITHIN 5)": f"(SEQ({READ}, E e) ORDER BY ts \nWHERE s.area = c.area\nWITHIN 5)",
    "(SEQ(PATTERN read, E e) ORDER BY ts)": f"(SEQ({READ}, E e) ORDER BY ts\nWHERE s.area = c.area\n)",
    "(SEQ(PATTERN read r, E e) ORDER BY ts WHERE e.x = 1)": f"(SEQ({READ_R}, E e) ORDER BY ts WHERE r_s.area = r_c.area AND e.x = 1)",
    "(SEQ(PATTERN read r, E e) ORDER BY ts WHERE e.x = 1 OR e.y)": f"(SEQ({READ_R}, E e) ORDER BY ts WHERE r_s.area = r_c.area AND (e.x = 1 OR e.y))",
    "(SEQ(PATTERN read r, PATTERN read q) ORDER BY ts)": (
        f"(SEQ({READ_R}, SEQ(Shelf q_s, NOT Counter q_c)) ORDER BY ts\nWHERE q_s.area = q_c.area AND r_s.area = r_c.area\n)"
    ),
    "(SEQ(NOT PATTERN leaf n, E e) ORDER BY ts)": "(SEQ(NOT A n_a, E e) ORDER BY ts)",
    "(PATTERN nested n ORDER BY ts)": (
        "(SEQ(SEQ(Shelf n_r_s, NOT Counter n_r_c), Exit n_e) ORDER BY ts\n"
        "WHERE n_r_s.area = n_r_c.area AND (n_r_s.tag = n_e.tag OR n_e.tag IS NULL)\n)"
    ),
    "(SEQ(PATTERN bare q, E e) ORDER BY ts)": (
        "(SEQ(SEQ(A q_A_1, B+ q_k[], A q_A_2), E e) ORDER BY ts\n"
        "WHERE q_k[i].x > q_k[i-1].x AND SUM(q_k[..i-1].x) < 5 AND q_A_1.x = q_A_2.x\n)"
    ),
    "(PATTERN loops l ORDER BY ts)": (
        "(SEQ(A l_a, SEQ(B l_b, SEQ(C l_c, D l_d)+ l_h)+ l_g) ORDER BY ts\nWHERE l_b.x > l_c.h AND l_g[1].l_b.x < l_a.b"
        " AND SUM(l_g.l_h[1].l_c.b) > l_a.g.b AND l_g[i].l_b.g < l_g[i-1].l_h[LAST].l_d.a AND ABS(l_a.g[1].b) > 1\n)"
    ),
    "(PATTERN keyed ORDER BY ts)": "(SEQ(A a, B b) ORDER BY ts\nWHERE [user] AND a.x > 1\n)",
    "(SEQ(PATTERN keyed, E e) ORDER BY ts WHERE [User])": "(SEQ(SEQ(A a, B b), E e) ORDER BY ts WHERE a.x > 1 AND [User])",
    "(/*+ CEP_ENGINE(tree) */ SEQ(PATTERN leaf, E e) ORDER BY ts)": "(/*+ CEP_ENGINE(tree) */ SEQ(A a, E e) ORDER BY ts)",
    "(SEQ(PATTERN rising, E e) ORDER BY ts WITHIN 10)": "(SEQ(SEQ(A a, B b), E e) ORDER BY ts \nWHERE b.x > a.x\nWITHIN 10)",
    "(SEQ(PATTERN leaf l, E e) ORDER BY ts WHERE skip_till_next_match(l_a, e) { e.x > l_a.x })": (
        "(SEQ(A l_a, E e) ORDER BY ts WHERE skip_till_next_match(l_a, e) { e.x > l_a.x })"
    ),
    "(SEQ(PATTERN read, E e) ORDER BY ts WHERE skip_till_next_match(s, e) { e.x > 1 })": (
        f"(SEQ({READ}, E e) ORDER BY ts WHERE skip_till_next_match(s, e) {{ s.area = c.area AND ( e.x > 1 )}})"
    ),
}
UNTOUCHED = [
    "SELECT 1",
    "SELECT * FROM t match_recognize WHERE x",
    "SELECT * FROM t MATCH_RECOGNIZE",
    "SELECT * FROM t AS match_recognize",
    "SELECT pattern p, match pattern FROM t",
    "SELECT * FROM t MATCH PATTERN (SEQ(`PATTERN` p, E e) ORDER BY ts)",
    "SELECT * FROM t MATCH PATTERNS (PATTERN AS A a, q AS B b ORDER BY ts MEASURES COUNT(*) AS n)",
    "SELECT ' FROM t MATCH PATTERN rising' -- FROM t MATCH PATTERN rising",
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b))",
]


class Untouchable:
    """A store that nobody may look at."""

    table, exists, creation = "", True, ""

    def versions(self, name: str | None = None, moment: str | None = None) -> tuple[tuple[Version, ...], int]:
        raise AssertionError(name)


@pytest.mark.parametrize("sql", WHOLE)
def test_uses(sql: str) -> None:
    assert squeezed(expand(sql, store()).text) == squeezed(WHOLE[sql])


@pytest.mark.parametrize("clause", INCLUDED)
def test_inclusions(clause: str) -> None:
    expanded = expand(f"{FROM} {clause}", store())
    assert squeezed(expanded.text) == squeezed(f"{FROM} {INCLUDED[clause]}")
    for site in find_sites(expanded.text):
        parse_clause(expanded.text, site)


@pytest.mark.parametrize("sql", UNTOUCHED)
def test_no_name(sql: str) -> None:
    assert expand(sql, Untouchable()).text == sql


@pytest.mark.parametrize("sql", [*WHOLE, *(f"{FROM} {clause}" for clause in INCLUDED)])
def test_every_character_has_its_place(sql: str) -> None:
    """A copied character is the one at its place; what stands for a name has the name's place in the statement."""
    expanded = expand(sql, store())
    for offset, character in enumerate(expanded.text):
        origin, span = expanded.place(Span(offset, offset + 1))
        assert 0 <= span.start < span.end <= len(origin.text)
        if copied(expanded, offset):
            assert origin.text[span.start : span.end] == character
        while origin.inside is not None:
            origin, span = origin.inside, origin.place
            assert 0 <= span.start < span.end <= len(origin.text)
        assert origin.text == sql


def copied(expanded: Expanded, offset: int) -> bool:
    position = 0
    for piece in expanded.pieces:
        if position <= offset < position + len(piece.text):
            return piece.text == piece.origin.text[piece.span.start : piece.span.end]
        position += len(piece.text)
    raise AssertionError(offset)


def squeezed(text: str) -> str:
    """Space is nobody's business but that of line comments."""
    return " ".join(text.replace("(", " ( ").replace(")", " ) ").split())
