"""The shapes of ``row_pattern_shapes.py`` as data: a name, the rows they search, the query.

Only shapes that people run, or that are known to break an engine. Each query ends in an aggregate of one row whose ``found``
is the number of matches (or, with ALL ROWS, of rows). Relations (made by ``row_pattern_shapes.py``):

* ``prices`` (key, ts, price): random walks; ``doubles``: the same, DOUBLE; ``short_prices``: 100 rows a key.
* ``visits`` (key, ts, event): a random walk through a shop's pages; ``visitors``: 4 rows each of 1,000,000 visitors.
* ``hits`` (key, ts): bursts of clicks with pauses; ``ranges`` (key, s, e): overlapping ranges; ``items`` (key, ts, w).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A query over ``relation``. ``order`` and ``value`` are the columns that its ``lag()`` baseline uses."""

    name: str
    relation: str
    clause: str
    select: str = "COUNT(*) AS found"
    order: str = "ts"
    value: str = "price"

    @property
    def query(self) -> str:
        """The statement; PARTITION BY and ORDER BY are the same for all."""
        keys = f"PARTITION BY key ORDER BY {self.order}"
        return f"SELECT {self.select} FROM {self.relation} MATCH_RECOGNIZE ({keys} {self.clause})"


def _funnel(steps: tuple[str, ...]) -> str:
    """Pages seen in this order, others between them."""
    names = [f"step{index}" for index in range(len(steps))]
    pattern = " other*? ".join(names)
    conditions = ", ".join(f"{name} AS {name}.event = '{event}'" for name, event in zip(names, steps, strict=True))
    measures = f"MEASURES FIRST(step0.ts) AS first_ts, LAST({names[-1]}.ts) AS last_ts"
    return f"{measures} PATTERN ({pattern}) DEFINE {conditions}"


def _selective(percent: int) -> str:
    return f"""
    MEASURES FIRST(a.price) AS opening, MAX(b.price) AS peak
    PATTERN (a b{{1,10}}) DEFINE a AS a.price % 100 < {percent}, b AS b.price > a.price
    """


PAIR = "MEASURES LAST(b.price) AS price PATTERN (a b) DEFINE b AS b.price > PREV(b.price)"

HEAD_AND_SHOULDERS = """
MEASURES FIRST(strt.ts) AS first_ts, head.price AS top, LAST(fall.ts) AS last_ts
PATTERN (strt up+ down+ rise* head fall+ right_up+ right_down+)
DEFINE up AS price > PREV(price), down AS price < PREV(price), rise AS price > PREV(price),
       head AS head.price > PREV(head.price) AND head.price > MAX(up.price),
       fall AS price < PREV(price), right_up AS price > PREV(price) AND right_up.price < head.price,
       right_down AS price < PREV(price)
"""

SHAPES = (
    Shape("adjacent pair", "prices", PAIR),
    Shape("adjacent pair, 20,000 keys", "short_prices", PAIR),
    Shape(
        "A+ B+ A+, all rows",
        "prices",
        """MEASURES CLASSIFIER() AS label, MATCH_NUMBER() AS number ALL ROWS PER MATCH PATTERN (a+ b+ a+)
        DEFINE a AS price % 3 <> 0, b AS price % 3 = 0""",
        select="COUNT(*) AS found, SUM(number) AS numbers, COUNT_IF(label = 'b') AS bs, SUM(price) AS price",
    ),
    Shape(
        "B.v > LAST(A.v)",
        "prices",
        """MEASURES FIRST(a.price) AS opening, b.price AS price PATTERN (a+ b)
        DEFINE a AS a.price < 1000, b AS b.price > LAST(a.price) + 3""",
    ),
    Shape(
        "(A+)+ B, never",
        "prices",
        "MEASURES b.ts AS ts PATTERN ((a+)+ b) DEFINE a AS price > -1000000, b AS price < -1000000",
    ),
    Shape(
        "four-step funnel, never",
        "visits",
        _funnel(("view", "cart", "pay", "refund")),
        value="event",
    ),
    Shape(
        "(A?){4000} A{4000}",
        "small",
        "MEASURES COUNT(*) AS length PATTERN ((a?){4000} a{4000}) DEFINE a AS price > -1000000",
    ),
    Shape(
        "A.v >= AVG(A.v)",
        "doubles",
        "MEASURES COUNT(*) AS length, LAST(a.price) AS price PATTERN (a+) DEFINE a AS a.price >= AVG(a.price)",
        select="COUNT(*) AS found, MAX(length) AS longest",
    ),
    Shape(
        "bin packing with exclusion",
        "items",
        """MEASURES MATCH_NUMBER() AS bin, SUM(x.w) AS filled ALL ROWS PER MATCH PATTERN (((x | {- rest -})+))
        DEFINE x AS SUM(x.w) <= 20, rest AS MATCH_NUMBER() > 0 AND COUNT(*) <= 40""",
        select="COUNT(*) AS found, MAX(filled) AS fullest",
        value="w",
    ),
    Shape(
        "merge overlapping ranges",
        "ranges",
        "MEASURES FIRST(s) AS s, MAX(e) AS e PATTERN (j* l) DEFINE j AS NEXT(s) <= MAX(e)",
        select="COUNT(*) AS found, SUM(e - s) AS covered",
        order="s",
        value="e",
    ),
    Shape("head and shoulders", "prices", HEAD_AND_SHOULDERS),
    Shape(
        "SKIP TO LAST of a SUBSET",
        "prices",
        """MEASURES COUNT(*) AS length, LAST(moved.price) AS price AFTER MATCH SKIP TO LAST moved
        PATTERN (strt down+ up+ stop) SUBSET moved = (down, up)
        DEFINE down AS price < PREV(price), up AS price > PREV(price)""",
    ),
    Shape(
        "sessionizing",
        "hits",
        """MEASURES FIRST(ts) AS first_ts, LAST(ts) AS last_ts, COUNT(*) AS length PATTERN (strt b*)
        DEFINE b AS b.ts - PREV(b.ts) <= 100""",
        select="COUNT(*) AS found, MAX(length) AS longest, AVG(last_ts - first_ts) AS lasts",
        value="ts",
    ),
    Shape(
        "longest rising streak",
        "prices",
        "MEASURES COUNT(up.*) AS streak PATTERN (strt up+) DEFINE up AS price > PREV(price)",
        select="COUNT(*) AS found, MAX(streak) AS longest",
    ),
    Shape("two-step funnel, 1M visitors", "visitors", _funnel(("view", "cart")), value="event"),
    Shape("three-step funnel, 1M visitors", "visitors", _funnel(("view", "cart", "pay")), value="event"),
    Shape("first variable 1% selective", "prices", _selective(1)),
    Shape("first variable 10% selective", "prices", _selective(10)),
    Shape("first variable 50% selective", "prices", _selective(50)),
)
