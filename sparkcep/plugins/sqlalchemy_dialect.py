"""SQLAlchemy's dialect ``sparkcep://user@host:port/schema``: PyHive's, with the names of tables and views as Spark gives them.

Works with SQLAlchemy 1.4 and 2.
"""

from __future__ import annotations

from typing import Any

from pyhive import hive
from pyhive.sqlalchemy_hive import HiveDialect
from sqlalchemy import text


class SparkCepDialect(HiveDialect):  # type: ignore[misc]
    """PyHive reads the first column of SHOW TABLES and of SHOW VIEWS, which in Spark is the schema."""

    name = "sparkcep"
    supports_statement_cache = False

    @classmethod
    def import_dbapi(cls) -> Any:
        """PyHive; SQLAlchemy 2 wants each dialect to say so itself."""
        return hive

    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """The tables of the schema, its views and the temporary views of the session apart."""
        rows = self._shown(connection, "TABLES", schema)
        views = {row.viewName for row in self._shown(connection, "VIEWS", schema)}
        return [row.tableName for row in rows if row.tableName not in views]

    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """The saved views of the schema."""
        return [row.viewName for row in self._shown(connection, "VIEWS", schema) if not row.isTemporary]

    def _shown(self, connection: Any, kind: str, schema: str | None) -> Any:
        place = f" IN {self.identifier_preparer.quote_identifier(schema)}" if schema else ""
        return connection.execute(text(f"SHOW {kind}{place}")).fetchall()
