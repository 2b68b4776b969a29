"""The clauses of ``stream.py``: their text, with ``{}`` for the relation, and what is wanted of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clause:
    """``width``: bytes of the values of a row that a clause keeps; ``least``: events a second that it should take; ``appends``: no row is updated
    by later ones, so that they are those of a table."""

    text: str
    keys: int
    width: int
    least: int = 100_000
    appends: bool = True


CLAUSES = {
    "vshape": Clause(
        """SELECT key, first_price, lowest, last_price, n, ended FROM {} MATCH_RECOGNIZE (PARTITION BY key ORDER BY ts MEASURES
        FIRST(strt.price) AS first_price, LAST(down.price) AS lowest, LAST(up.price) AS last_price, COUNT(*) AS n, LAST(up.ts) AS ended
        PATTERN (strt down+ up+) DEFINE down AS price < PREV(price), up AS price > PREV(price)) AS m""",
        1_000,
        4 + 8 + 8 + 8 + 8 + 4,  # key, price, ts, time, identity, mask
    ),
    "seq3": Clause(
        """SELECT m.key, a.ts AS began, b.price AS price, c.ts AS ended FROM {} MATCH PATTERN (SEQ(A a, B b, C c)
        EVENT TYPE type PARTITION BY key ORDER BY ts WITHIN INTERVAL 100 SECONDS) AS m""",
        10_000,
        4 + 8 + 8 + 8 + 8 + 4,  # key, price, ts, time, identity, mask
    ),
    "count": Clause(
        """SELECT key, emit_time, matches FROM {} MATCH PATTERN (SEQ(A a, B b, C c) EVENT TYPE type PARTITION BY key ORDER BY ts
        WITHIN INTERVAL 20 SECONDS MEASURES COUNT(*) AS matches EMIT CHANGES)""",
        1_000,
        4 + 8 + 8 + 8 + 4,  # key, ts, time, identity, mask
        120_000,
    ),
    "totals": Clause(
        """SELECT key, matches FROM {} MATCH PATTERN (SEQ(A a, B b, C c) EVENT TYPE type PARTITION BY key ORDER BY ts
        WITHIN INTERVAL 20 SECONDS MEASURES COUNT(*) AS matches)""",
        1_000,
        4 + 8 + 8 + 4,  # key, time, identity, mask
        120_000,
        appends=False,
    ),
    "q3": Clause(
        """SELECT m.key, size(a) AS n, match_start, match_end, b.price AS price FROM {} MATCH PATTERN (SEQ(ANY+ a[], ANY b)
        EVENT TYPE type PARTITION BY key ORDER BY ts SKIP TILL NEXT MATCH
        WHERE a[1].type = 'A' AND a[i].price > AVG(a[..i-1].price) AND b.price < a[LAST].price - 7
        WITHIN INTERVAL 20 SECONDS) AS m""",
        1_000,
        4 + 8 + 8 + 8 + 8 + 4,  # key, price, ts, time, identity, mask
        60_000,
    ),
    "window": Clause(
        """SELECT m.key, a.ts AS began, b.ts AS ended FROM {} MATCH PATTERN (SEQ(ANY a, ANY b)
        PARTITION BY key ORDER BY ts WHERE b.price = a.price + 10 WITHIN INTERVAL 1000 SECONDS) AS m""",
        100_000,
        4 + 8 + 8 + 8 + 8 + 4,  # key, price, ts, time, identity, mask
        60_000,
    ),
    "open": Clause(
        """SELECT key, n, ended FROM {} MATCH_RECOGNIZE (PARTITION BY key ORDER BY ts MEASURES COUNT(*) AS n, LAST(ts) AS ended
        PATTERN (a b* c) DEFINE b AS price < 1005, c AS price = 1005) AS m""",
        100_000,
        4 + 8 + 8 + 8 + 4,  # key, ts, time, identity, mask
        60_000,
    ),
}
