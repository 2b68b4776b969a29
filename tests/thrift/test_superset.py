"""What Superset 6.1 sends, recorded from ``sql_examples/superset`` and asked here by PyHive and SQLAlchemy, without Superset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import sqlalchemy
from sqlalchemy.dialects import registry

from tests.thrift.conftest import CLAUSE
from tests.thrift.server import Server, rows

registry.register("sparkcep", "sparkcep.plugins.sqlalchemy_dialect", "SparkCepDialect")

VIRTUAL = f"""SELECT
  v.ts AS viewed,
  b.amount AS paid
FROM {CLAUSE}
WHERE
  user_id = 2"""
"""A dataset's SQL as Superset prints it."""

CHART = f"""SELECT
  `viewed` AS `viewed`,
  COUNT(*) AS `n`,
  `viewed` AS `viewed`
FROM (
  {VIRTUAL}
) AS `virtual_table`
GROUP BY
  `viewed`
ORDER BY
  `n` DESC,
  `viewed` ASC
LIMIT 3"""
WEEKS = """SELECT
  DATE_TRUNC('WEEK', `at`) AS `at`,
  MAX(`top`) AS `MAX(top)`
FROM (SELECT timestamp_seconds(since) AS at, top FROM `shop`.`rises`) AS `virtual_table`
WHERE
  `at` >= CAST('1970-01-01 00:00:00.000000' AS TIMESTAMP)
GROUP BY
  DATE_TRUNC('WEEK', `at`)
LIMIT 50000"""


@pytest.fixture
def engine(server: Server) -> Iterator[sqlalchemy.Engine]:
    engine = sqlalchemy.create_engine(f"sparkcep://analyst@127.0.0.1:{server.port}/shop")
    yield engine
    engine.dispose()


def test_lists_of_tables_and_views(engine: sqlalchemy.Engine) -> None:
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("CREATE TEMPORARY VIEW passing AS SELECT 1"))
        inspector = sqlalchemy.inspect(connection)
        assert "shop" in inspector.get_schema_names()
        assert set(inspector.get_table_names("shop")) == {"events", "sold", "sparkcep_patterns"}
        assert set(inspector.get_view_names("shop")) == {"pairs", "rises", "carts"}
        assert set(inspector.get_table_names()) == {"events", "sold", "sparkcep_patterns"}
        types = {column["name"]: str(column["type"]) for column in inspector.get_columns("rises", "shop")}
        assert types == {"user_id": "INTEGER", "since": "INTEGER", "steps": "BIGINT", "top": "DECIMAL"}


def test_pyhive_lists_the_schema_instead(server: Server) -> None:
    """Why there is a dialect of our own; when this fails, ``docs/clients.md`` can be shortened."""
    engine = sqlalchemy.create_engine(f"hive://analyst@127.0.0.1:{server.port}/shop")
    assert set(sqlalchemy.inspect(engine).get_table_names("shop")) == {"shop"}
    engine.dispose()


def test_a_chart_of_sql_with_a_clause(server: Server) -> None:
    with closing(server.connect()) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(f"{VIRTUAL}\nLIMIT 1")  # its columns
        assert [(name, kind) for name, kind, *_ in cursor.description] == [
            ("viewed", "INT_TYPE"),
            ("paid", "DECIMAL_TYPE"),
        ]
        assert rows(connection, "USE `shop`", CHART) == [(0, 8, 0), (3, 6, 3), (6, 4, 6)]


def test_charts_of_a_view_with_a_clause(server: Server) -> None:
    grouped = "SELECT\n  `user_id` AS `user_id`,\n  SUM(`steps`) AS `n`\nFROM `shop`.`rises`\nGROUP BY\n  `user_id`\nORDER BY\n  `n` DESC\nLIMIT 1"
    with closing(server.connect()) as connection:
        ((_, steps),) = rows(connection, grouped)
        assert steps == 11
        ((_, top),) = rows(connection, WEEKS)
        assert top == 11 * 15


def test_a_statement_of_sql_lab(server: Server) -> None:
    """Comments become one line in front, and the limit is SQL Lab's own."""
    statement = f"/* pairs of */ /*   user 2 */\n{VIRTUAL}\nLIMIT 1001"
    with closing(server.connect()) as connection:
        assert len(rows(connection, "USE `shop`", statement)) == 20
        assert rows(connection, "SHOW FUNCTIONS")
