"""Cutting the time line into shards changes where matches are found, never which: whole multisets, on against off."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from rewrites.emit.shards import apart
from rewrites.rules import time_shards
from sparkcep.errors import CepAnalysisError
from tests.spark_setup import ADAPTIVE

TIMES = {
    "bigint": ("CAST(t AS BIGINT)", "6", "6"),
    "int from below zero": ("CAST(t - 40 AS INT)", "6", "7"),
    "double": ("CAST(t AS DOUBLE) / 10 - 3", "0.6D", "0.6D"),
    "mixed": ("CAST(t AS INT)", "5.5", "11"),
    "timestamp": ("TIMESTAMP '1969-12-31 23:59:50' + MAKE_DT_INTERVAL(0, 0, 0, t)", "6 SECONDS", "INTERVAL 6 SECONDS"),
    "timestamp_ntz": ("TIMESTAMP_NTZ '1969-12-31 23:59:50' + MAKE_DT_INTERVAL(0, 0, 0, t)", "6 SECONDS", "auto"),
    "date": ("DATE_ADD(DATE '1969-12-01', t)", "6 DAYS", "INTERVAL 7 DAYS"),
    "months": ("DATE_ADD(DATE '2023-11-20', t * 3)", "INTERVAL 1 MONTH", "auto"),
}
"""The time column made of an INT t from 0 on, WITHIN, the shards' length."""

PATTERNS = {
    "sequence": "SEQ(A a, B b, C c)",
    "conjunction of sequences": "AND(SEQ(A a, B b), C c)",
    "disjunction": "OR(SEQ(A a, B b), SEQ(B b2, C c))",
    "closure first": "SEQ(A+ a, B b)",
    "optional first": "SEQ(A? a, B b, C c)",
    "negation last": "SEQ(A a, C c, NOT B n)",
    "negation in a conjunction": "AND(A a, C c, NOT B n)",
    "negated sequence": "SEQ(NOT SEQ(A x, B y), C c, A a)",
}


@pytest.fixture(scope="module")
def streams(spark: SparkSession) -> Iterator[SparkSession]:
    """``stream``: 90 events of three types, several at one time, some of them equal in all columns."""
    source = random.Random(7)
    rows = [(source.choice("AABC"), source.randrange(60), source.randrange(2), source.randrange(3)) for _ in range(85)]
    session = spark.newSession()
    for name, value in {"sparkcep.sharding": "auto", **ADAPTIVE}.items():
        session.conf.set(name, value)
    session.createDataFrame([*rows, *rows[:5]], "type STRING, t INT, k INT, x INT").createOrReplaceTempView("stream")
    yield session


def answers(session: SparkSession, queries: dict[str, str], hint: str) -> dict[str, Counter]:
    """The rows of each query with shards and without, in one statement; ``{hint}`` in a query is where they are switched."""
    found: dict[str, Counter] = {f"{name} {side}": Counter() for name in queries for side in ("on", "off")}
    parts = []
    for name, query in queries.items():
        for side, said in (("on", hint), ("off", "CEP_SHARDING(off)")):
            text = query.replace("{hint}", f"/*+ {said} */")
            parts.append(f"SELECT '{name} {side}' AS name, TO_JSON(STRUCT(m.*)) AS row FROM {text} AS m")
    for name, row in session.sql(" UNION ALL ".join(parts)).collect():
        found[name][row] += 1
    return found


def check(session: SparkSession, queries: dict[str, str], hint: str) -> None:
    """Each query finds something, and the same on either side."""
    found = answers(session, queries, hint)
    for name in queries:
        assert found[f"{name} off"], name
        assert found[f"{name} on"] == found[f"{name} off"], name


def test_patterns(streams: SparkSession) -> None:
    queries = {n: f"stream MATCH PATTERN ({{hint}} {pattern} ORDER BY t WITHIN 5)" for n, pattern in PATTERNS.items()}
    check(streams, queries, "CEP_SHARD_LENGTH(5)")


@pytest.mark.parametrize("kind", [["bigint", "int from below zero", "mixed"], ["timestamp", "timestamp_ntz"]])
def test_times(streams: SparkSession, kind: list[str]) -> None:
    check_times(streams, kind)


@pytest.mark.parametrize("kind", ["double", "date", "months"])
def test_other_times(streams: SparkSession, kind: str) -> None:
    check_times(streams, [kind])


def check_times(session: SparkSession, kinds: list[str]) -> None:
    """A negation that looks back, and a window whose ends fall on shards' ends."""
    queries = {
        kind: f"""(SELECT *, {TIMES[kind][0]} AS ts FROM stream)
          MATCH PATTERN ({{hint}} SEQ(NOT B n, A a, C c) ORDER BY ts, x WITHIN {TIMES[kind][1]})"""
        for kind in kinds
    }
    check(session, queries, f"CEP_SHARD_LENGTH({TIMES[kinds[0]][2]})")


def test_keys_and_counts(streams: SparkSession) -> None:
    """Keys are cut where that is asked for; A-Seq counts in shards too."""
    keyed = """stream MATCH PATTERN (
      {hint} SEQ(A a, B b, C c) PARTITION BY k ORDER BY t WHERE [x] AND a.t + 1 < b.t WITHIN 9)"""
    counted = """(SELECT COUNT(*) AS n, SUM(b.x) AS s, MIN(c.x) AS m FROM stream MATCH PATTERN (
      {hint} SEQ(A a, B b, C c) ORDER BY t WITHIN 9))"""
    assert "AggregateSpec" in sparkcep.rewrite(f"SELECT * FROM {counted.replace('{hint}', '')}", streams)
    check(streams, {"keyed": keyed, "counted": counted}, "CEP_SHARDING(all) CEP_SHARD_LENGTH(9)")


def test_far_from_zero(streams: SparkSession) -> None:
    """Arithmetic on shards does not overflow where the times themselves do not."""
    low, high = "(-9223372036854775807L - 1)", "9223372036854775700L"
    query = f"""(SELECT type, CASE WHEN u < 30 THEN {low} + u ELSE {high} + u END AS ts
      FROM (SELECT *, CAST(t AS BIGINT) AS u FROM stream)) MATCH PATTERN ({{hint}} AND(A a, B b, NOT C c) ORDER BY ts WITHIN 4L)"""
    check(streams, {"far": query}, "CEP_SHARDING(auto)")


def plan(session: SparkSession, query: str) -> str:
    return "\n".join(row[0] for row in session.sql(f"EXPLAIN PATTERN {query}").collect())


MEASURED = """(SELECT ELEMENT_AT(ARRAY('A', 'A', 'B', 'C'), CAST(PMOD(HASH(id), 4) AS INT) + 1) AS type, id, {time} AS ts FROM RANGE(120))"""
"""Events whose time line Spark can look at before it is cut."""


def test_a_length_from_the_time_line_itself(streams: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the time is, also where there is none, and where it spans more than a BIGINT holds."""
    small = f"SELECT * FROM {MEASURED.format(time='id + 0')} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN 5)"
    assert "shards of 4 × WITHIN" in plan(streams, small)
    monkeypatch.setattr(time_shards, "MEASURED_BYTES", 0)
    times = {
        "bigint": ("id * 3 - 100", "SEQ(A a, B b, C c) ORDER BY ts WITHIN 20"),
        "double": ("id / 10D", "AND(A a, B b, NOT C c) ORDER BY ts WITHIN 0.5"),
        "timestamp": (
            "TIMESTAMP '1969-12-31 23:58:50' + MAKE_DT_INTERVAL(0, 0, 0, id)",
            "SEQ(NOT B n, A a, C c) ORDER BY ts WITHIN 6 SECONDS",
        ),
        "far apart": (
            "CASE WHEN id < 60 THEN -9223372036854775808L + id ELSE 9223372036854775600L + id END",
            "SEQ(A a, B b, C c) ORDER BY ts WITHIN 9",
        ),
    }
    queries = {
        name: f"{MEASURED.format(time=time)} MATCH PATTERN ({{hint}} {pattern})"
        for name, (time, pattern) in times.items()
    }
    check(streams, queries, "CEP_SHARDING(auto)")
    nothing = (
        f"(SELECT * FROM {MEASURED.format(time='id')} WHERE id < 0) MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN 5)"
    )
    assert streams.sql(f"SELECT * FROM {nothing}").collect() == []
    text = plan(
        streams, f"SELECT * FROM {MEASURED.format(time='id')} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN 5)"
    )
    assert "of the time line" in text


def test_shards_take_turns_in_tasks(streams: SparkSession) -> None:
    """The keys that tasks are told by have hashes that do not meet."""
    keys = ", ".join(str(key) for key in apart(8))
    (row,) = streams.sql(f"SELECT COUNT(DISTINCT PMOD(HASH(k), 8)) FROM (SELECT EXPLODE(ARRAY({keys})) AS k)").collect()
    assert row[0] == 8


def test_explain_says_how_and_why(streams: SparkSession) -> None:
    cut = plan(streams, "SELECT * FROM stream MATCH PATTERN (SEQ(A a, B b) ORDER BY t WITHIN 7)")
    assert "time line     cut into shards of 4 × WITHIN" in cut
    for pattern, reason in {
        "SEQ(A a, B b) ORDER BY t WITHIN 7 EVENTS": "WITHIN a number of events counts along the whole line",
        "SEQ(A a, B b) ORDER BY t": "without WITHIN a match may span the whole time line",
        "/*+ CEP_SHARDING(off) */ SEQ(A a, B b) ORDER BY t WITHIN 7": "sparkcep.sharding is off",
        "SEQ(A a, B b) ORDER BY t WITHIN x": "WITHIN is not the same length for all events",
    }.items():
        text = plan(streams, f"SELECT * FROM stream MATCH PATTERN ({pattern})")
        assert f"time line     in one task: {reason}" in text
    keyed = plan(streams, "SELECT * FROM stream MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY t WITHIN 7)")
    assert "time line" not in keyed


def test_the_rule_has_a_switch(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("sparkcep.rules.disable", "time_shards")
    text = sparkcep.rewrite("SELECT * FROM clicks MATCH PATTERN (SEQ(View v, Buy b) ORDER BY ts WITHIN 5)", spark)
    assert "__cep_home" in text
    session.createDataFrame([("View", 1)], "type STRING, ts INT").createOrReplaceTempView("clicks")
    text = sparkcep.rewrite("SELECT * FROM clicks MATCH PATTERN (SEQ(View v, Buy b) ORDER BY ts WITHIN 5)", session)
    assert "__cep_home" not in text


def test_a_length_of_another_kind_is_refused(streams: SparkSession) -> None:
    for length in ("INTERVAL 1 DAY", "t", "'long'"):
        with pytest.raises(CepAnalysisError, match="which is no length of the time line") as error:
            streams.sql(
                f"SELECT * FROM stream MATCH PATTERN (/*+ CEP_SHARD_LENGTH({length}) */ SEQ(A a, B b) ORDER BY t WITHIN 7)"
            )
        assert error.value.code == "CEP_ANALYSIS_SETTING"


def test_engines_are_settings_and_hints(streams: SparkSession) -> None:
    """SET sparkcep.engine and CEP_ENGINE choose, a hint before the session; the answer stays."""
    session = streams.newSession()
    query = "SELECT COUNT(*) FROM VALUES ('A', 1), ('A', 2), ('B', 3) AS t(type, ts) MATCH PATTERN ({} SEQ(A a, B b) ORDER BY ts)"
    assert "engine        aseq" in plan(session, query.format(""))
    session.sql("SET sparkcep.engine = stack")
    assert "engine        stack" in plan(session, query.format(""))
    assert session.sql(query.format("")).collect() == [(2,)]
    assert "engine        tree" in plan(session, query.format("/*+ CEP_ENGINE(tree) */"))
    session.sql("SET sparkcep.engine = fastest")
    with pytest.raises(CepAnalysisError, match=r"sparkcep\.engine is fastest"):
        session.sql(query.format(""))
    with pytest.raises(PySparkException, match="CEP_LIMIT"):
        session.sql("SET sparkcep.engine = auto")
        session.sql(query.format("/*+ CEP_ENGINE(chain), CEP_MAX_PARTIAL_MATCHES(1) */")).collect()


def test_statistics_choose_the_order(streams: SparkSession) -> None:
    query = "SELECT * FROM stream MATCH PATTERN ({} SEQ(A a, B b, C c) ORDER BY t WHERE a.x = b.x AND b.x < c.x + 1 WITHIN 15)"
    given = plan(streams, query.format("/*+ CEP_STATISTICS(A=0.5, B=0.01, c=0.1) */"))
    assert "binding       b, c, a: rarest first, as given (b 0.01, c 0.1, a 0.5)" in given
    assert "(equality): a.x = b.x" in given
    assert "(range): b.x < c.x + 1" in given
    assert "counted in each task" in plan(streams, query.format("/*+ CEP_STATISTICS(A=0.5) */"))
    assert "binding       c, b, a: the order of the pattern" in plan(streams, query.format("/*+ CEP_ENGINE(stack) */"))
    answers = [
        streams.sql(query.format(hint)).count()
        for hint in ("", "/*+ CEP_STATISTICS(A=1, B=2, C=0.1) CEP_NEGATION(post) */")
    ]
    assert answers[0] == answers[1] > 0


def test_explain_counts_where_it_is_asked_to(streams: SparkSession) -> None:
    session = streams.newSession()
    query = """WITH s AS (SELECT * FROM VALUES ('A', 1), ('A', 2), ('B', 3), ('B', 4), ('B', 5), ('C', 6) AS t(type, ts))
      SELECT * FROM s MATCH PATTERN (SEQ(B+ b, A a, NOT A n, C c) ORDER BY ts WHERE a.ts < 2 OR a.ts < c.ts)"""
    assert "in the first" not in plan(session, query)
    session.sql("SET sparkcep.explain.rows = 5")
    lines = plan(session, query).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("binding"))
    assert lines[place + 1].strip() == "in the first 5 rows: c 0, a 2, b 3"
    assert "counted in each task" in lines[place]
    session.sql("SET sparkcep.explain.rows = some")
    with pytest.raises(CepAnalysisError, match=r"sparkcep\.explain\.rows is some"):
        plan(session, query)
