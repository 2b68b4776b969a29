"""Named patterns over Thrift: every connection is a session of its own, the metastore is everybody's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from pyhive import exc

from tests.thrift.conftest import BOUGHT
from tests.thrift.server import Server, rows


def test_one_makes_another_uses(server: Server) -> None:
    with closing(server.connect()) as maker, closing(server.connect()) as reader:
        rows(maker, "CREATE DATABASE named", "USE named")
        rows(reader, "USE named")
        assert rows(reader, "SHOW PATTERNS") == []
        assert rows(maker, f"CREATE PATTERN bought AS ({BOUGHT}) COMMENT 'it''s bought'") == []
        ((name, clause, _, comment),) = rows(reader, "SHOW PATTERNS LIKE 'b*'")
        assert (name, clause, comment) == ("bought", "MATCH PATTERN", "it's bought")
        query = "SELECT COUNT(*) FROM shop.events MATCH PATTERN bought"
        assert rows(reader, query) == [(320,)]
        rows(maker, f"ALTER PATTERN bought REPLACE AS ({BOUGHT} WITHIN 2)")
        assert rows(reader, query) == [(16 * 4,)]
        assert dict(rows(reader, "DESCRIBE PATTERN bought"))["Body"] == f"{BOUGHT} WITHIN 2"
        rows(reader, "CREATE OR REPLACE PATTERN bought AS (SEQ(View v, Buy b) ORDER BY tz)")
        with pytest.raises(exc.OperationalError) as raised:
            rows(maker, query)
        text = str(raised.value.args[0].status)
        for words in (
            "MATCH PATTERN bought",
            "in pattern bought, line 1: SEQ(View v, Buy b) ORDER BY tz",
            "[CEP_ANALYSIS",
        ):
            assert words in text
        rows(reader, "DROP PATTERN bought", "DROP PATTERN IF EXISTS bought")
        assert rows(maker, "SHOW PATTERNS") == []
        assert len(rows(maker, "SELECT * FROM sparkcep_patterns")) == 4


def test_connections_that_create_at_the_same_time(server: Server) -> None:
    """The first of them make the table, too."""
    with closing(server.connect()) as connection:
        rows(connection, "CREATE DATABASE crowd")

    def create(number: int) -> None:
        with closing(server.connect()) as connection:
            rows(connection, "USE crowd", f"CREATE PATTERN p{number} AS ({BOUGHT})")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(create, range(6)))
    with closing(server.connect()) as connection:
        assert [name for name, *_ in rows(connection, "USE crowd", "SHOW PATTERNS")] == [f"p{i}" for i in range(6)]
