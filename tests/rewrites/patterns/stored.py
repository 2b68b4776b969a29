"""A store of patterns for tests: what is in it, and at which moment."""

from __future__ import annotations

from rewrites.dialect.stored_bodies import clause_of
from rewrites.patterns import FixedPatterns, Version

BODIES = {
    "rising": "SEQ(A a, B b)\nORDER BY ts WHERE b.x > a.x WITHIN 10 -- a rise",
    "wrong_where": "SEQ(A a, B b) ORDER BY ts\nWHERE b.x > a.x AND b.y >",
    "falls": "ORDER BY ts MEASURES LAST(ts) AS e\nPATTERN (a b+) DEFINE b AS x < PREV(x)",
    "both": "p AS SEQ(A a, B b), q AS A c ORDER BY ts MEASURES COUNT(*) AS n",
    "walk": "ORDER BY ts START s FINAL f ARC s -> f NAMED go WHEN x > 1 ARC s -> s NAMED stay WHEN x <= 1",
    "read": "SEQ(Shelf s, NOT Counter c)\nWHERE s.area = c.area",
    "bare": "SEQ(A, B+ k[], A) WHERE k[i].x > k[i-1].x AND SUM(k[..i-1].x) < 5 AND A_1.x = A_2.x",
    "nested": "SEQ(PATTERN read r, Exit e) WHERE r_s.tag = e.tag OR e.tag IS NULL",
    "keyed": "SEQ(A a, B b) WHERE [user] AND a.x > 1",
    "only_a": "SEQ(A a, B b) WHERE [user = 7]",
    "braces": "SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.x > 1 }",
    "self": "SEQ(A a, PATTERN other)",
    "other": "SEQ(B b, PATTERN self)",
    "ten": "SEQ(PATTERN two a, PATTERN two b, PATTERN two c, PATTERN two d, PATTERN two e)",
    "two": "SEQ(PATTERN one a, PATTERN one b, PATTERN one c, PATTERN one d, PATTERN one e)",
    "one": "SEQ(PATTERN leaf a, PATTERN leaf b, PATTERN leaf c, PATTERN leaf d)",
    "leaf": "A a",
    "loops": "SEQ(A a, SEQ(B b, SEQ(C c, D d)+ h)+ g) WHERE b.x > c.h AND g[1].b.x < a.b AND SUM(g.h[1].c.b) > a.g.b"
    " AND g[i].b.g < g[i-1].h[LAST].d.a AND ABS(a.g[1].b) > 1",
}
NOW = 100


def store() -> FixedPatterns:
    """BODIES, one version each; ``later`` takes effect in the future, ``gone`` was dropped, ``changing`` has a change planned."""
    found = [Version(name, 1, "create", clause_of(body), body) for name, body in BODIES.items()]
    later = Version("later", 1, "alter", "MATCH PATTERN", "A a ORDER BY ts", effective=200, effective_text="2030-01-01")
    gone = [Version("gone", 1, "create", "MATCH PATTERN", "A a"), Version("gone", 2, "drop", "MATCH PATTERN", "")]
    walk = BODIES["walk"]
    changing = [
        Version("changing", 1, "create", "MATCH AUTOMATON", walk),
        Version("changing", 2, "alter", "MATCH AUTOMATON", walk, effective=200, effective_text="2030-01-01"),
    ]
    return FixedPatterns((*found, later, *gone, *changing), NOW)
