"""Superset's description of a ``sparkcep://`` database: Spark's, which Superset itself never chooses for ``hive://``.

Superset finds it by the entry point of the distribution, and the dialect by ``SQLGLOT_DIALECTS_EXTENSIONS`` in its configuration.
"""

from __future__ import annotations

import re
from typing import Any

from superset.db_engine_specs.base import BaseEngineSpec
from superset.db_engine_specs.spark import SparkEngineSpec

from sparkcep.plugins.sqlalchemy_dialect import SparkCepDialect

_MESSAGE = re.compile(r"""errorMessage=(["'])(.*?)(?<!\\)\1""", re.DOTALL)
_BEFORE = re.compile(r"^\W*Query error\W+|(?:\w+[.$])+\w*(?:Exception|Error): |Error running query: ")


class SparkCepEngineSpec(SparkEngineSpec):  # type: ignore[misc]
    """Names of tables and views come from the SQLAlchemy dialect; time grains are Spark's; errors end where a stack trace begins."""

    engine = SparkCepDialect.name
    engine_name = "sparkcep"
    metadata = {
        **SparkEngineSpec.metadata,
        "description": "Pattern matching on Spark SQL, served by sparkcep thriftserver.",
        "connection_string": "sparkcep://{username}@{hostname}:{port}/{database}",
    }
    _show_functions_column = "function"

    @classmethod
    def get_table_names(cls, database: Any, inspector: Any, schema: str | None) -> set[str]:
        """The tables of the schema, without its views."""
        return BaseEngineSpec.get_table_names.__func__(cls, database, inspector, schema)

    @classmethod
    def get_view_names(cls, database: Any, inspector: Any, schema: str | None) -> set[str]:
        """The saved views of the schema."""
        return BaseEngineSpec.get_view_names.__func__(cls, database, inspector, schema)

    @classmethod
    def _extract_error_message(cls, ex: Exception | str) -> str:
        """The server's message, without the names of Java's exceptions before it and their trace behind it."""
        found = _MESSAGE.search(str(ex))
        message = (found[2] if found else str(ex)).replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'")
        return _BEFORE.sub("", message.split("\n\tat ", 1)[0])
