"""What BI tools do over Thrift: beeline, PyHive, SQLAlchemy; errors, many sessions at once, a query that is cancelled."""

from __future__ import annotations

import csv
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise

import pytest
import sqlalchemy
from pyhive import exc

from tests.shared_jvm import environment
from tests.thrift.conftest import CLAUSE
from tests.thrift.server import Server, rows

QUERY = f"SELECT v.ts AS viewed, COUNT(*) AS buys FROM {CLAUSE} WHERE user_id = %s GROUP BY v.ts ORDER BY viewed"
ANSWER = [(0, 8), (3, 6), (6, 4), (9, 2)]
WRONG = f"SELECT * FROM {CLAUSE.replace('Buy b)', 'Buy b,)')}"
METADATA = ("getTables null shop ris% null", "getColumns null shop rises %", "getTypeInfo")
ENDLESS = """SELECT COUNT(*) FROM (SELECT /*+ REPARTITION(2) */ id, id AS ts, 'A' AS event_type FROM range(200000000))
MATCH PATTERN (SEQ(A a, A b) PARTITION BY id ORDER BY ts)"""


def test_beeline(server: Server) -> None:
    """Queries, an error, and the calls of DatabaseMetaData by which tools such as DBeaver list tables and columns."""
    url = f"jdbc:hive2://127.0.0.1:{server.port}/shop"
    script = f"{QUERY % 3}; SELECT paid FROM pairs WHERE user_id = 2 AND viewed = 9 ORDER BY paid; {WRONG}"
    calls = [f"-e!metadata {call}" for call in METADATA]
    command = ["beeline", "-u", url, "-n", "analyst", "--force", "--outputformat=tsv2", "-e", script, *calls]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=180, check=False)
    lines = done.stdout.split("> ", 1)[-1].splitlines()
    assert lines[:8] == ["viewed\tbuys", "0\t8", "3\t6", "6\t4", "9\t2", "paid", "20.00", "22.00"], done.stderr
    tables, columns, types = (list(csv.DictReader(part, delimiter="\t")) for part in _parts(lines[8:]))
    assert {row["TABLE_NAME"]: row["TABLE_TYPE"] for row in tables} == {"rises": "VIEW"}
    shown = [(row["COLUMN_NAME"], row["TYPE_NAME"], row["DATA_TYPE"]) for row in columns]
    assert shown == [
        ("user_id", "INT", "4"),
        ("since", "INT", "4"),
        ("steps", "BIGINT", "-5"),
        ("top", "DECIMAL(6,2)", "3"),
    ]
    assert {"INT", "BIGINT", "DECIMAL"} <= {row["TYPE_NAME"] for row in types}
    line, caret = _message(done.stderr)[1:3]
    assert line[caret.index("^")] == ")"
    assert line[: caret.index("^")].endswith("Buy b,")


def test_errors_have_our_text_and_no_trace_of_ours(server: Server) -> None:
    with closing(server.connect()) as connection, pytest.raises(exc.OperationalError) as raised:
        rows(connection, WRONG)
    text = str(raised.value.args[0].status)
    assert "[CEP_SYNTAX]" in text
    assert "Hint: " in text
    for word in ("Traceback", ".py", "py4j", "PythonProxy"):
        assert word not in text


def test_sqlalchemy(server: Server) -> None:
    engine = sqlalchemy.create_engine(f"hive://analyst@127.0.0.1:{server.port}/shop")
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text(QUERY % 5)).fetchall() == ANSWER
        columns = {
            column["name"]: type(column["type"]).__name__
            for column in sqlalchemy.inspect(connection).get_columns("rises")
        }
        assert columns == {"user_id": "Integer", "since": "Integer", "steps": "BigInteger", "top": "HiveDecimal"}
        rises = sqlalchemy.Table("rises", sqlalchemy.MetaData(), autoload_with=connection)
        query = sqlalchemy.select(rises.c.steps).where(rises.c.user_id == 7)
        assert connection.execute(query).fetchall() == [(11,)]
    engine.dispose()


def test_explanations_are_rows_of_text(server: Server) -> None:
    with closing(server.connect()) as connection:
        explained = [line for (line,) in rows(connection, f"EXPLAIN PATTERN {QUERY % 3}")]
        counted = [line for (line,) in rows(connection, f"EXPLAIN ANALYZE PATTERN SELECT * FROM {CLAUSE}")]
    assert "pattern       SEQ(View v, Buy b), SKIP TILL ANY MATCH" in explained
    assert "engine input  192 rows in 16 partitions" in counted
    assert counted[-1] == "matches       320"


def test_windows_and_an_aggregate_by_its_class(server: Server) -> None:
    rising = "PATTERN (v b+) DEFINE v AS event_type = 'View', b AS event_type = 'Buy'"
    own = "FROM shop.events WHERE user_id = 3 AND ts < 5"
    with closing(server.connect()) as connection:
        window = f"WINDOW w AS (ORDER BY ts MEASURES COUNT(*) AS n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING {rising})"
        found = rows(connection, f"SELECT ts, n OVER w, sum(ts) OVER w {own} {window}")
        total = "CREATE TEMPORARY FUNCTION total AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDAFSum'"
        clause = (
            f"(SELECT * {own}) MATCH_RECOGNIZE (ORDER BY ts MEASURES total(b.ts) AS t, total(ts * 10) AS all {rising})"
        )
        totals = rows(connection, total, f"SELECT * FROM {clause}")
    assert found == [(0, 3, 3), (1, None, None), (2, None, None), (3, 2, 7), (4, None, None)]
    assert totals == [(3, 30), (4, 70)]


CLIENTS, QUERIES = 6, 2
PAIRS_FROM = [12, 12, 12, 6, 6, 6]
"""SEQ(View, Buy) in a user's events from ts 1 to 8 on: Views are at 3, 6 and 9, and 12 events in all."""


def test_several_clients_at_once(server: Server) -> None:
    """Each client asks about its own user, with its own temporary view, in a session of its own."""

    def client(number: int) -> list[object]:
        with closing(server.connect()) as connection:
            rows(
                connection,
                f"CREATE TEMP VIEW mine AS SELECT * FROM shop.events WHERE user_id = {number} AND ts >= {number}",
            )
            query = f"SELECT user_id, COUNT(*) AS n FROM {CLAUSE.replace('shop.events', 'mine')} GROUP BY user_id"
            return [rows(connection, query) for _ in range(QUERIES)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(client, range(1, CLIENTS + 1)))
    assert answers == [[[(number, pairs)]] * QUERIES for number, pairs in enumerate(PAIRS_FROM, start=1)]


def test_a_cancelled_query_stops(server: Server) -> None:
    with closing(server.connect()) as connection:
        rows(connection, f"EXPLAIN {ENDLESS}")
        cursor = connection.cursor()
        cursor.execute(ENDLESS, async_=True)
        time.sleep(5)  # Spark's server misses a cancellation that comes before the first job does
        cursor.cancel()
        started = time.monotonic()
        assert rows(connection, QUERY % 1) == ANSWER  # the two cores are free again
        assert time.monotonic() - started < 90
        with pytest.raises(exc.OperationalError, match=r"CANCELED|cancel"):
            cursor.fetchall()


def _parts(lines: list[str]) -> Iterator[list[str]]:
    """The output of several calls, one by one: each begins with the names of its columns."""
    starts = [i for i, line in enumerate(lines) if line.startswith(("TABLE_CAT\t", "TYPE_NAME\t"))]
    return (lines[start:end] for start, end in pairwise([*starts, len(lines)]))


def _message(stderr: str) -> list[str]:
    """The lines of our error among beeline's."""
    lines = stderr.splitlines()
    first = next(i for i, line in enumerate(lines) if "[CEP_" in line)
    return lines[first : first + 4]


def test_views_and_their_metadata_from_another_connection(server: Server) -> None:
    with closing(server.connect()) as maker, closing(server.connect()) as reader:
        query = f"SELECT user_id, v.ts AS viewed, b.amount AS paid FROM {CLAUSE}"
        rows(maker, f"CREATE TEMP VIEW mine AS {query}", f"CREATE OR REPLACE GLOBAL TEMP VIEW everybodys AS {query}")
        assert rows(maker, "SELECT COUNT(*) FROM mine") == [(320,)]
        with pytest.raises(exc.OperationalError, match="TABLE_OR_VIEW_NOT_FOUND"):
            rows(reader, "SELECT * FROM mine")
        assert rows(reader, "SELECT COUNT(*) FROM global_temp.everybodys") == [(320,)]
        assert {name for _, name, _ in rows(reader, "SHOW TABLES IN shop")} >= {"events", "pairs", "rises", "sold"}
        types = {name: kind for name, kind, _ in rows(reader, "DESCRIBE shop.pairs")}
        event = "struct<type:string,user_id:int,ts:int,amount:decimal(6,2)>"
        assert {**types, "v": event} == {"user_id": "int", "viewed": "int", "paid": "decimal(6,2)", "v": event}
        assert types["v"].startswith("struct<")
        assert rows(reader, "SELECT pairs, most FROM shop.sold WHERE user_id = 2") == [(20, 22)]
        query = "SELECT match_start, match_end, lifetime_end, final_state, buys FROM shop.carts WHERE user_id = 2"
        assert sorted(rows(reader, query)) == [(0, 3, 4, "f", 2), (3, 6, 7, "f", 2), (6, 9, 10, "f", 2)]
