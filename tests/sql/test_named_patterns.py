"""Named patterns over real Spark: what is stored, who sees it when, and the same rows as the body written in its place."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepAnalysisError, CepError

RISE = "SEQ(A a, B b)\nORDER BY ts WHERE b.x > a.x + :more WITHIN 3 -- it's a rise of \\ a kind"
FALL = "ORDER BY ts MEASURES LAST(ts) AS e PATTERN (a b+) DEFINE b AS x < PREV(x)"
READ = "SEQ(A s, NOT C n, B e) WHERE s.x < e.x AND (n.x = s.x OR n.x = e.x)"
CLIMB = """ORDER BY ts REGISTERS (top INT) START s FINAL f
  ARC s -> m WHEN type = 'A' SET top = x ARC m -> m WHEN x <= top ARC m -> f WHEN type = 'B' AND x > top SET top = x WITHIN 3"""
COUNTS = "p AS SEQ(A a, B b), q AS A c ORDER BY ts MEASURES COUNT(*) AS n"
ROWS = "('A', 1, 5), ('C', 2, 9), ('B', 3, 7), ('A', 4, 6), ('C', 5, 1), ('B', 6, 9), ('B', 7, 2)"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in a schema of its own, with the patterns and a small table."""
    session = new(spark)
    schema = f"named_{time.monotonic_ns()}"
    session.sql(f"CREATE SCHEMA {schema}")
    session.sql(f"USE {schema}")
    for name, body in (("rise", RISE), ("fall", FALL), ("read", READ), ("counts", COUNTS), ("climb", CLIMB)):
        session.sql(f"CREATE PATTERN {name} AS ({body}\n) COMMENT 'the {name}'")
    yield session
    spark.sql(f"DROP SCHEMA {schema} CASCADE")


def new(session: SparkSession) -> SparkSession:
    """Another session in the same schema."""
    schema = session.catalog.currentDatabase()
    other = session.newSession()
    other.sql(f"USE {schema}")
    other.sql(f"CREATE TEMP VIEW e AS SELECT * FROM VALUES {ROWS} AS e(type, ts, x)")
    return other


def rows(session: SparkSession, sql: str, **parameters: object) -> list[tuple[object, ...]]:
    return sorted(map(tuple, session.sql(sql, parameters or None).collect()), key=repr)


STATEMENTS = {
    "whole": ("SELECT a.x, b.x FROM e MATCH PATTERN rise", f"SELECT a.x, b.x FROM e MATCH PATTERN ({RISE}\n)"),
    "rows": ("SELECT m.e FROM e MATCH_RECOGNIZE fall AS m", f"SELECT m.e FROM e MATCH_RECOGNIZE ({FALL}) AS m"),
    "several": ("SELECT * FROM e MATCH PATTERNS counts", f"SELECT * FROM e MATCH PATTERNS ({COUNTS})"),
    "joined": (
        "WITH f AS (SELECT * FROM e MATCH_RECOGNIZE fall) SELECT a.x, f.e FROM e MATCH PATTERN `rise` m JOIN f ON f.e > a.x",
        f"WITH f AS (SELECT * FROM e MATCH_RECOGNIZE ({FALL})) SELECT a.x, f.e FROM e MATCH PATTERN ({RISE}\n) m JOIN f ON f.e > a.x",
    ),
    "automaton": ("SELECT * FROM e MATCH AUTOMATON climb", f"SELECT * FROM e MATCH AUTOMATON ({CLIMB})"),
    "counted": (
        "SELECT COUNT(*), SUM(b.x) FROM e MATCH PATTERN rise",
        f"SELECT COUNT(*), SUM(b.x) FROM e MATCH PATTERN ({RISE}\n)",
    ),
    "included": (
        "SELECT s.ts, e.ts, z.ts FROM e MATCH PATTERN (SEQ(PATTERN read, ANY z) ORDER BY ts WHERE z.x > 1 OR z.x < 1)",
        "SELECT s.ts, e.ts, z.ts FROM e MATCH PATTERN (SEQ(SEQ(A s, NOT C n, B e), ANY z) ORDER BY ts"
        " WHERE s.x < e.x AND (n.x = s.x OR n.x = e.x) AND (z.x > 1 OR z.x < 1))",
    ),
    "included twice": (
        "SELECT r_s.ts, r_e.ts, q_s.ts, q_e.ts FROM e MATCH PATTERN (SEQ(PATTERN read r, PATTERN read q) ORDER BY ts)",
        "SELECT r_s.ts, r_e.ts, q_s.ts, q_e.ts FROM e MATCH PATTERN (SEQ(A r_s, NOT C r_n, B r_e, A q_s, NOT C q_n, B q_e)"
        " ORDER BY ts WHERE r_s.x < r_e.x AND (r_n.x = r_s.x OR r_n.x = r_e.x) AND q_s.x < q_e.x AND (q_n.x = q_s.x OR q_n.x = q_e.x))",
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_name_answers_as_its_body(session: SparkSession, name: str) -> None:
    named, written = STATEMENTS[name]
    found = rows(session, named, more=0)
    assert found == rows(session, written, more=0)
    assert found


def test_stored_in_tables_and_views(session: SparkSession) -> None:
    """A view has the version that held when it was made."""
    session.sql(f"CREATE PATTERN sinking AS ({FALL})")
    session.sql("CREATE TABLE falls AS SELECT * FROM e MATCH_RECOGNIZE sinking")
    session.sql("CREATE TABLE climbs AS SELECT match_start, match_end, top FROM e MATCH AUTOMATON climb")
    assert rows(session, "SELECT * FROM climbs") == [(4, 6, 9)]
    session.sql("CREATE TEMP VIEW seen AS SELECT * FROM e MATCH_RECOGNIZE sinking")
    before = rows(session, "SELECT * FROM e MATCH_RECOGNIZE sinking")
    assert rows(session, "SELECT * FROM falls") == rows(session, "SELECT * FROM seen") == before
    session.sql(
        "ALTER PATTERN sinking REPLACE AS (ORDER BY ts MEASURES FIRST(ts) AS e PATTERN (a b+) DEFINE b AS x < PREV(x))"
    )
    assert rows(session, "SELECT * FROM e MATCH_RECOGNIZE sinking") != before
    assert rows(session, "SELECT * FROM seen") == before


def test_other_sessions_see_each_change_at_once(session: SparkSession) -> None:
    other = new(session)
    query = "SELECT COUNT(*) FROM e MATCH PATTERN growing"
    for number, types in enumerate(["A", "A, B", "A, B, C"]):
        session.sql(f"CREATE OR REPLACE PATTERN growing AS (ANY({types}) v ORDER BY ts)")
        assert rows(session, query) == rows(other, query) == [([2, 5, 7][number],)]
    other.sql("DROP PATTERN Growing")
    for one in (session, other):
        with pytest.raises(CepAnalysisError, match="there is no pattern growing"):
            one.sql(query)
    assert "growing" not in [row.name for row in session.sql("SHOW PATTERNS").collect()]


def test_a_change_holds_from_its_time_on(session: SparkSession) -> None:
    query = "SELECT COUNT(*) FROM e MATCH PATTERN p"
    session.sql("CREATE PATTERN p AS (A a ORDER BY ts)")
    session.sql("ALTER PATTERN p REPLACE AS (B a ORDER BY ts) EFFECTIVE FROM current_timestamp() + INTERVAL 1 HOUR")
    assert rows(session, query) == [(2,)]
    described = {row.info_name: row.info_value for row in session.sql("DESCRIBE PATTERN p").collect()}
    assert described["Body"] == "A a ORDER BY ts"
    assert [value for name, value in described.items() if name.startswith("From ")] == ["B a ORDER BY ts"]
    session.sql("ALTER PATTERN p REPLACE AS (B a ORDER BY ts) EFFECTIVE FROM current_timestamp() + INTERVAL 2 SECONDS")
    time.sleep(3)
    assert rows(session, query) == [(3,)]
    session.sql("ALTER PATTERN p REPLACE AS (C a ORDER BY ts) EFFECTIVE FROM :then", {"then": "2020-01-01"})
    assert rows(session, query) == [(2,)]


def test_arcs_come_and_go(session: SparkSession) -> None:
    query = "SELECT match_end FROM e MATCH AUTOMATON walk"
    session.sql(
        "CREATE PATTERN walk AS (ORDER BY ts START s FINAL f ARC s -> m WHEN type = 'A' ARC m -> m WHEN type <> 'B' ARC m -> f NAMED at_b WHEN type = 'B' WITHIN 3)"
    )
    assert rows(session, query) == [(3,), (6,)]
    session.sql("ALTER PATTERN walk ADD ARC m -> f NAMED at_c WHEN type = 'C'")
    assert rows(session, query) == [(2,), (3,), (5,), (6,)]
    session.sql("ALTER PATTERN walk DROP ARC at_b")
    assert rows(session, query) == [(2,), (5,)]
    with pytest.raises(CepError, match="the pattern has no arc at_b"):
        session.sql("ALTER PATTERN walk DROP ARC at_b")


def test_show_and_describe(session: SparkSession) -> None:
    session.sql(f"CREATE PATTERN shown_a AS ({READ}) COMMENT 'the first'")
    session.sql("CREATE OR REPLACE PATTERN Shown_A AS (A a ORDER BY ts)")
    shown = session.sql("SHOW PATTERNS LIKE 'cou* | *HOWN*|[r]ise'")
    assert shown.columns == ["name", "clause", "since", "comment"]
    found = [(row.name, row.clause, row.comment) for row in shown.collect()]
    assert found == [("counts", "MATCH PATTERNS", "the counts"), ("Shown_A", "MATCH PATTERN", None)]
    described = {row.info_name: row.info_value for row in session.sql("DESC PATTERN EXTENDED shown_a").collect()}
    assert described["Body"] == "A a ORDER BY ts"
    assert described["Version 2"].startswith("replace by ")
    assert described["Version 1"].endswith(READ)
    stored = rows(
        session, "SELECT pattern, version, change, body, comment FROM sparkcep_patterns WHERE lower(pattern) = 'rise'"
    )
    assert stored == [("rise", 1, "create", RISE, "the rise")]


def test_nothing_is_changed_by_rewriting(session: SparkSession) -> None:
    before = rows(session, "SHOW PATTERNS")
    assert sparkcep.rewrite("CREATE PATTERN never_made AS (A a ORDER BY ts)", session).startswith("INSERT INTO")
    assert sparkcep.rewrite("DROP PATTERN rise", session).startswith("INSERT INTO")
    session.sql("CREATE PATTERN IF NOT EXISTS rise AS (A a ORDER BY ts)")
    session.sql("DROP PATTERN IF EXISTS nobody")
    assert rows(session, "SHOW PATTERNS") == before


def test_errors_name_both_places(session: SparkSession) -> None:
    session.sql("CREATE PATTERN wrong AS (SEQ(A a, B b) ORDER BY ts\n  WHERE b.prise > a.x)")
    with pytest.raises(CepError) as raised:
        session.sql("SELECT *\nFROM e MATCH PATTERN wrong AS m")
    assert str(raised.value).splitlines() == [
        "[CEP_ANALYSIS_UNKNOWN_COLUMN] the input has no column prise",
        "line 2: FROM e MATCH PATTERN wrong AS m",
        "                             ^^^^^",
        "in pattern wrong, line 2:   WHERE b.prise > a.x",
        "                                    ^^^^^",
        "Hint: available: type, ts, x",
    ]


def test_what_spark_cannot_parse(session: SparkSession) -> None:
    """Spark's own syntax errors are about the user's text, also where a name stands in it."""
    with pytest.raises(PySparkException) as raised:
        session.sql("SELECT * FROM e MATCH_RECOGNIZE fall WHERE x >")
    assert "SELECT * FROM e MATCH_RECOGNIZE fall WHERE x >" in str(raised.value)
    with pytest.raises(CepAnalysisError, match="EFFECTIVE FROM needs a timestamp") as refused:
        session.sql("ALTER PATTERN fall REPLACE AS (ORDER BY ts PATTERN (a)) EFFECTIVE FROM tomorrow")
    assert str(refused.value).splitlines()[2].endswith(" " * 20 + "^" * len("tomorrow"))


def test_explain_shows_the_body(session: SparkSession) -> None:
    lines = [row.plan for row in session.sql("EXPLAIN PATTERN SELECT * FROM e MATCH_RECOGNIZE fall").collect()]
    start = lines.index("== with the named patterns in their places ==")
    assert lines[start + 1 : start + 4] == ["SELECT * FROM e MATCH_RECOGNIZE (", FALL, ")"]
    assert "pattern       a b+" in lines
    counted = [
        row.plan for row in session.sql("EXPLAIN ANALYZE PATTERN SELECT * FROM e MATCH_RECOGNIZE fall").collect()
    ]
    assert counted[-1].startswith("matches")
    assert FALL in str(sparkcep.explain("SELECT * FROM e MATCH_RECOGNIZE fall", session))


def test_by_execute_immediate(session: SparkSession) -> None:
    rise = "SELECT a.x, b.x FROM e MATCH PATTERN rise WHERE a.x > :low"
    wanted = rows(session, rise, low=4, more=1)
    assert wanted
    assert rows(session, f"EXECUTE IMMEDIATE '{rise}' USING 4 AS low, 1 AS more") == wanted
    read = "SELECT s.x FROM e MATCH PATTERN (PATTERN read ORDER BY ts) WHERE s.x > ?"
    assert rows(session, f"EXECUTE IMMEDIATE '{read}' USING 5") == rows(session, read.replace("?", "5"))
    fall = "SELECT e FROM e MATCH_RECOGNIZE fall WHERE e > ?"
    assert rows(session, f"EXECUTE IMMEDIATE '{fall}' USING 3") == rows(session, fall.replace("?", "3"))


def test_over_a_dataframe(session: SparkSession) -> None:
    found = sparkcep.match(session.table("e"), "PATTERN read ORDER BY ts")
    written = sparkcep.match(
        session.table("e"), f"{READ} ORDER BY ts".replace(" WHERE", " ORDER BY ts WHERE").removesuffix(" ORDER BY ts")
    )
    assert sorted(map(tuple, found.collect())) == sorted(map(tuple, written.collect())) != []


def test_the_table_can_be_named(session: SparkSession) -> None:
    session = new(session)
    session.conf.set("sparkcep.patterns.table", "shared.of_all")
    session.sql("CREATE SCHEMA IF NOT EXISTS shared")
    try:
        session.sql("CREATE PATTERN own AS (A a ORDER BY ts)")
        assert [row.name for row in session.sql("SHOW PATTERNS").collect()] == ["own"]
        assert rows(session, "SELECT pattern FROM shared.of_all") == [("own",)]
        session.conf.set("sparkcep.patterns.table", "e")
        with pytest.raises(CepAnalysisError, match="`e` is no table of patterns"):
            session.sql("SHOW PATTERNS")
        session.conf.set("sparkcep.patterns.table", "a b")
        with pytest.raises(CepAnalysisError, match=r"sparkcep\.patterns\.table is a b"):
            session.sql("SHOW PATTERNS")
    finally:
        session.sql("DROP SCHEMA shared CASCADE")


def test_a_table_without_a_metastore_has_a_folder_of_its_own(session: SparkSession) -> None:
    """The files of an application that has ended would be in the way of the next one's table."""
    described = {row.col_name: row.data_type for row in session.sql("DESCRIBE EXTENDED sparkcep_patterns").collect()}
    assert re.search(r"/sparkcep_patterns-[0-9a-f]{12}$", described["Location"])


def test_sessions_that_create_at_the_same_time(spark: SparkSession) -> None:
    """Other names do not meet, not even where the table is made; of one name one body holds, for all sessions the same."""
    spark.sql("CREATE SCHEMA crowd")
    try:
        sessions = [new(spark) for _ in range(6)]
        for one in sessions:
            one.sql("USE crowd")

        def create(number: int) -> str:
            sessions[number].sql(f"CREATE PATTERN own_{number} AS (A a ORDER BY ts)")
            try:
                sessions[number].sql(f"CREATE PATTERN one AS (A a ORDER BY ts WITHIN {number + 1})")
            except (CepError, PySparkException) as error:
                return str(error)
            return ""

        with ThreadPoolExecutor(6) as pool:
            said = list(pool.map(create, range(6)))
        names = [[row.name for row in one.sql("SHOW PATTERNS").collect()] for one in sessions]
        assert names == [["one", *(f"own_{number}" for number in range(6))]] * 6
        bodies = {one.sql("DESCRIBE PATTERN one").where("info_name = 'Body'").first().info_value for one in sessions}
        assert len(bodies) == 1
        assert "" in said
        assert all("exists already" in text or "CEP_ANALYSIS_PATTERN_CHANGED" in text for text in said if text)
    finally:
        spark.sql("DROP SCHEMA crowd CASCADE")
