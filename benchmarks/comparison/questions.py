"""The questions of the comparison, and how each kind of engine is asked them. No engine is imported here.

In: a Case. Out: SQL, SiddhiQL, or nothing (the engine's own file says it in Python). Events: key INT, ts BIGINT (seconds, one event of each key a
second), type STRING (A … J, uniform), price BIGINT (a random walk of each key). Every question answers with one row of whole numbers.

* ``vee``: falling prices, then rising ones, then one that does not rise, by key: ``strt down+ up+ stp``, and the next may begin where the last rose
  (SKIP TO LAST up), so that the answer is the same for who looks for turning points. (Flink allows no greedy loop at the end: hence ``stp``.)
* ``funnel``: an A, the first B after it, the first C after that, …, all of one key and within ``window`` seconds; each A counts (next match).
* ``sequence``: every A, B, C, … of one key in this order within ``window`` seconds, each price more than ``rise`` above the one before (any match).
  ``rise`` None: no condition on the prices.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
import row_pattern_flink
import scan

TYPES = 10
EVENTS_A_KEY = 1_000
LETTERS = "ABCDEFGHIJ"
VEE_SELECT = row_pattern_flink.SELECT
ROWS = "PARTITION BY key ORDER BY ts"


@dataclass(frozen=True, slots=True)
class Case:
    """One point: the question, over how many rows, its window in seconds, its number of types, the least rise of the price."""

    question: str
    rows: int
    window: int = 100
    length: int = 3
    rise: int | None = 20

    @property
    def types(self) -> str:
        """The pattern's types, in order."""
        return LETTERS[: self.length]

    def request(self, folder: Path) -> dict[str, object]:
        """What every peer is told."""
        return asdict(self) | {"parquet": str(events(self.rows)), "csv": str(csv(self.rows, folder))}


def events(rows: int) -> Path:
    """The Parquet file of so many events, in time order, the keys interleaved."""
    keys = max(rows // EVENTS_A_KEY, 1)
    kinds = scan.draws(rows, TYPES, seed=scan.SEED + 1).replace_strict(dict(enumerate(LETTERS)))
    return scan.cached(f"comparison-{rows}", lambda: pl.read_parquet(scan.prices(rows, keys)).with_columns(type=kinds))


def csv(rows: int, folder: Path) -> Path:
    """The same as a folder with one CSV file, for PyFlink, whose wheel has no Parquet format."""
    made = folder / f"comparison-{rows}.csv"
    if not (made / "rows.csv").exists():
        made.mkdir(parents=True, exist_ok=True)
        frame = pl.read_parquet(events(rows)).select("key", "ts", "type", "price")
        frame.write_csv(made / "rows.csv", include_header=False)
    return made


def sparkcep(case: Case) -> str:
    """The clauses."""
    if case.question == "vee":
        return recognized("ts", row_pattern_flink.PREV_DEFINE)
    names = [(letter, letter.lower()) for letter in case.types]
    last = names[-1][1]
    items = ", ".join(f"{kind} {name}" for kind, name in names)
    if case.question == "funnel":
        clause = f"MATCH PATTERN (SEQ({items}) {ROWS} SKIP TILL NEXT MATCH WITHIN {case.window})"
        return f"SELECT COUNT(*) AS found, SUM({last}.ts) AS total FROM events {clause}"
    where = _where(_rises(case))
    clause = f"MATCH PATTERN (SEQ({items}) {ROWS} {where} WITHIN {case.window})"
    return f"SELECT COUNT(*) AS found, SUM({last}.price) AS total FROM events {clause}"


def flink(case: Case) -> str:
    """MATCH_RECOGNIZE, which has no any match: self-joins there."""
    if case.question == "vee":
        return recognized("rowtime", row_pattern_flink.LAST_DEFINE)
    if case.question == "sequence":
        return self_joins(case)
    first, *rest = case.types
    pattern = " ".join([first, *(f"not_{letter}* {letter}" for letter in rest)])
    others = [f"not_{letter} AS type <> '{letter}'" for letter in rest]
    define = ", ".join([*(f"{letter} AS type = '{letter}'" for letter in case.types), *others])
    return f"""SELECT COUNT(*) AS found, SUM(ending) AS total FROM events MATCH_RECOGNIZE (
      PARTITION BY key ORDER BY rowtime MEASURES {rest[-1]}.ts AS ending ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
      PATTERN ({pattern}) WITHIN INTERVAL '{case.window}' SECOND(6) DEFINE {define})"""


def recognized(order: str, define: str) -> str:
    """The vee as MATCH_RECOGNIZE, with the text of ``row_pattern_flink.py``."""
    clause = row_pattern_flink.CLAUSE.format(order=order, measures=row_pattern_flink.MEASURES, define=define)
    return f"{VEE_SELECT} FROM events {clause.replace('SKIP PAST LAST ROW', 'SKIP TO LAST up')}"


def plain(case: Case) -> str:
    """SQL without patterns, the same text in Spark, DuckDB and Flink: windows, and self-joins where every combination counts."""
    return {"vee": turning_points, "funnel": next_events, "sequence": self_joins}[case.question](case)


def turning_points(case: Case) -> str:
    """A vee is a low turning point between two others; one sort by key and time serves both windows."""
    return f"""WITH moves AS (
      SELECT key, ts, price, SIGN(price - (LAG(price) OVER w)) AS came, SIGN((LEAD(price) OVER w) - price) AS goes
      FROM events WINDOW w AS ({ROWS})),
    turns AS (
      SELECT price, came, goes, LAG(price) OVER w AS first_price, LEAD(price) OVER w AS last_price, LEAD(goes) OVER w AS after
      FROM moves WHERE came IS DISTINCT FROM goes WINDOW w AS ({ROWS}))
    SELECT COUNT(*) AS found, SUM(last_price - first_price) AS gain, SUM(price) AS lowest
    FROM turns WHERE came < 0 AND goes > 0 AND after IS NOT NULL"""


def next_events(case: Case) -> str:
    """From the last type to the second: where the funnel that goes on from here ends. Frames of following rows would be quadratic in Spark."""
    inner = f"(SELECT *, ts AS ending FROM events WHERE type IN ({', '.join(map(repr, case.types))})) e"
    for letter in reversed(case.types[1:]):
        at = f"MIN(CASE WHEN type = '{letter}' THEN ending END) OVER (PARTITION BY key ORDER BY ts DESC ROWS UNBOUNDED PRECEDING)"
        inner = f"(SELECT key, ts, type, {at} AS ending FROM {inner}) {letter.lower()}"
    first = case.types[0]
    return f"SELECT COUNT(*) AS found, SUM(ending) AS total FROM {inner} WHERE type = '{first}' AND ending < ts + {case.window}"


def self_joins(case: Case) -> str:
    """As an expert writes them: bins of a window's length, an event meets those of its own bin and of the next by equality."""
    first, last = case.types[0].lower(), case.types[-1].lower()
    parts = [f"binned {first}"]
    for name in case.types[1:].lower():
        before = chr(ord(name) - 1)
        rise = "" if case.rise is None else f" AND {name}.price > {before}.price + {case.rise}"
        parts.append(
            f"JOIN near {name} ON {name}.key = {first}.key AND {name}.near = {first}.bin AND {name}.type = '{name.upper()}'"
            f" AND {name}.ts > {before}.ts AND {name}.ts < {first}.ts + {case.window}{rise}"
        )
    columns = "key, ts, type, price"
    return f"""WITH binned AS (SELECT {columns}, ts - MOD(ts, {case.window}) AS bin FROM events),
    near AS (SELECT {columns}, bin AS near FROM binned UNION ALL SELECT {columns}, bin - {case.window} AS near FROM binned)
    SELECT COUNT(*) AS found, SUM({last}.price) AS total FROM {" ".join(parts)} WHERE {first}.type = '{case.types[0]}'"""


def duckdb(case: Case) -> str:
    """MATCH_RECOGNIZE, which the peer tries first where the wheel has it; otherwise ``plain``."""
    return sparkcep(case) if case.question == "vee" else plain(case)


def pandas_match_recognize(case: Case) -> str:
    """The vee's rows, which the peer adds up."""
    _, _, clause = recognized("ts", row_pattern_flink.PREV_DEFINE).partition(" FROM events ")
    return f"SELECT key, first_price, lowest, last_price FROM events {clause}"


def siddhi(case: Case) -> str:
    """SiddhiQL: ``every`` begins at each A, ``->`` takes the next event that fits; its ``within`` includes the limit."""
    first, *rest = case.types
    steps = " -> ".join(
        [f"every {first.lower()}=Events[type=='{first}']", *(f"{x.lower()}=Events[type=='{x}']" for x in rest)]
    )
    return f"""@app:playback
    define stream Events (key int, ts long, type string, price long);
    define table Found (ending long);
    partition with (key of Events) begin
    from {steps} within {case.window * 1000 - 1} millisec select {rest[-1].lower()}.ts as ending insert into Found;
    end;"""


def _rises(case: Case) -> list[str]:
    if case.rise is None:
        return []
    pairs = itertools.pairwise(case.types.lower())
    return [f"{name}.price > {before}.price + {case.rise}" for before, name in pairs]


def _where(conditions: list[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""
