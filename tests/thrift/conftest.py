"""A warehouse with one table, and the servers on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.thrift.server import Server, Servers, rows

EVENTS = """CREATE TABLE shop.events USING parquet AS
SELECT u AS user_id, CAST(t AS INT) AS ts, CASE WHEN t % 3 = 0 THEN 'View' ELSE 'Buy' END AS event_type, CAST(t * u AS DECIMAL(6, 2)) AS amount
FROM (SELECT CAST(id % 16 AS INT) AS u, id DIV 16 AS t FROM range(16 * 12))"""
"""16 users with 12 events each: every third a View. SEQ(View, Buy) has 8 + 6 + 4 + 2 = 20 matches a user."""

BOUGHT = "SEQ(View v, Buy b) EVENT TYPE event_type PARTITION BY user_id ORDER BY ts"
CLAUSE = f"shop.events MATCH PATTERN ({BOUGHT})"
PATTERN = f"CREATE PATTERN bought AS ({BOUGHT}) COMMENT 'bought'"
VIEWS = {
    "pairs": f"CREATE VIEW shop.pairs AS SELECT user_id, v.ts AS viewed, b.amount AS paid, v FROM {CLAUSE}",
    "rises": """CREATE VIEW shop.rises AS SELECT * FROM shop.events MATCH_RECOGNIZE (
        PARTITION BY user_id ORDER BY ts MEASURES FIRST(up.ts) AS since, COUNT(up.*) AS steps, LAST(up.amount) AS top
        PATTERN (up{3,}) DEFINE up AS amount > PREV(amount))""",
    "carts": """CREATE VIEW shop.carts AS SELECT * FROM shop.events MATCH AUTOMATON (
        PARTITION BY user_id ORDER BY ts REGISTERS (buys INT DEFAULT 0) START s FINAL f
        ARC s -> m WHEN event_type = 'View' ARC m -> m WHEN event_type = 'Buy' SET buys = buys + 1 ARC m -> f WHEN event_type = 'View' WITHIN 4)""",
    "sold": f"CREATE TABLE shop.sold USING parquet AS SELECT user_id, COUNT(*) AS pairs, MAX(b.amount) AS most FROM {CLAUSE} GROUP BY user_id",
}


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The warehouse, with the table and what VIEWS make of it."""
    servers = Servers(tmp_path_factory.mktemp("thrift"))
    try:
        with closing(servers.ensure().connect()) as connection:
            rows(connection, "CREATE DATABASE shop", EVENTS, *VIEWS.values(), "USE shop", PATTERN)
        yield servers
    finally:
        servers.stop()


@pytest.fixture
def server(servers: Servers) -> Server:
    """A plain server, without authentication, on 127.0.0.1."""
    return servers.ensure()
