"""The table of named patterns as a session sees it: ``rewrites.patterns.PatternStore`` over any kind of session.

``sparkcep.patterns.table`` names it; by default it is ``sparkcep_patterns`` in the current schema. In a session without a metastore (Spark's
in-memory catalog) it lives as long as the application, as every table does there; its files are in a folder of their own, so that those of an
earlier application are not in its way.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from rewrites.bind.relation import Describe
from rewrites.dialect.tokens import tokenize
from rewrites.patterns import Version
from rewrites.patterns.bindings import Binding
from rewrites.patterns.statements import follow_sql
from rewrites.patterns.versions import COLUMNS, FOLLOWING, of_pattern
from rewrites.sql.builder import quoted, string
from sparkcep.errors import CepAnalysisError, CepDataError

TABLE = "sparkcep.patterns.table"
DEFAULT_TABLE = "sparkcep_patterns"

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro", "text")
"""Formats whose tables are files in a folder: those that Hadoop's committer writes."""

COMMITTER = {
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.cleanup.skipped": "true",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Two INSERTs at one time: by default each clears away the folder in which the other prepares its file, and one of them fails. With these the
one file of an INSERT is moved to its place at once, and nothing of others is touched."""

_ROWS = """SELECT pattern, version, change, clause, body, comment, recorded_by,
UNIX_MICROS(CAST(effective_from AS TIMESTAMP)) AS effective, CAST(effective_from AS STRING) AS effective_text,
UNIX_MICROS(CAST(recorded_at AS TIMESTAMP)) AS recorded, CAST(recorded_at AS STRING) AS recorded_text,
UNIX_MICROS(CURRENT_TIMESTAMP()) AS moment"""

TABLES = 32
"""Tables whose rows are remembered, each in one state."""

_READ: dict[tuple[frozenset[str], str | None], tuple[Version, ...]] = {}

Rows = Callable[[str], Iterable[dict[str, Any]]]


class SessionPatterns:
    """The patterns of one session, looked at for one statement.

    ``catalog``: the session's, in Java or in Python, which have the same names. ``files``: the names of the files that a query reads, where that is
    known for less than a job.
    """

    def __init__(
        self,
        catalog: Callable[[], Any],
        rows: Rows,
        setting: Callable[[str, str | None], str | None],
        files: Callable[[str], frozenset[str]] | None = None,
    ) -> None:
        self._catalog = catalog
        self._rows = rows
        self._setting = setting
        self._files = files

    @cached_property
    def table(self) -> str:
        """The table's name, quoted."""
        name = self._setting(TABLE, None) or DEFAULT_TABLE
        tokens = tokenize(name).items
        alternate = all(token.is_name if i % 2 == 0 else token.key == "." for i, token in enumerate(tokens))
        if not alternate or len(tokens) not in (1, 3, 5):
            raise CepAnalysisError(
                f"{TABLE} is {name}", code="SETTING", hint="set it to the name of a table: shop.patterns"
            )
        return ".".join(quoted(token.text) for token in tokens[::2])

    @cached_property
    def exists(self) -> bool:
        """Whether the table is there. What Spark remembers of its files is thrown away: another session may have written since."""
        catalog = self._catalog()
        with self._reading():
            if not catalog.tableExists(self.table):
                return False
            catalog.refreshTable(self.table)
            return True

    @property
    def creation(self) -> str:
        """CREATE TABLE IF NOT EXISTS, in the format that the catalog has by default; statements that go before it."""
        columns = ", ".join(f"{quoted(name)} {kind} COMMENT {string(comment)}" for name, kind, comment in COLUMNS)
        statement = f"CREATE TABLE IF NOT EXISTS {self.table} ({columns})"
        source = self._setting("spark.sql.sources.default", "parquet") or "parquet"
        if not self._is_sparks_own() or source.lower() not in FILE_FORMATS:
            return statement
        options = ", ".join(f"{string(name)} = {string(value)}" for name, value in COMMITTER.items())
        statement = f"{statement} USING {source} OPTIONS ({options})"
        if self._setting("spark.sql.catalogImplementation", "in-memory") != "in-memory":
            return statement
        folder = string(f"{self._setting('spark.sql.warehouse.dir', None)}/{DEFAULT_TABLE}-{uuid.uuid4().hex[:12]}")
        no_row = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind, _ in COLUMNS)
        made = f"INSERT OVERWRITE DIRECTORY {folder} USING {source} SELECT {no_row} WHERE FALSE"
        return f"{made};\n{statement} LOCATION {folder}"

    def versions(self, name: str | None = None, moment: str | None = None) -> tuple[tuple[Version, ...], int]:
        """See ``PatternStore``."""
        if not self.exists:
            return (), 0
        with self._reading():
            found, now = self._remembered()
        at = now if moment is None else self._micros(moment)
        return tuple(one for one in of_pattern(found, name) if one.change not in FOLLOWING), at

    def following(self, name: str) -> tuple[Version, ...]:
        """See ``PatternStore``."""
        if not self.exists:
            return ()
        with self._reading():
            found, _ = self._remembered()
        return tuple(one for one in of_pattern(found, name) if one.change in FOLLOWING)

    @property
    def qualified(self) -> str:
        """The table's name as other sessions understand it."""
        parts = tokenize(self.table).items[::2]
        catalog = self._catalog()
        outer = [catalog.currentCatalog(), catalog.currentDatabase()][: 3 - len(parts)]
        return ".".join(quoted(str(part)) for part in [*outer, *(token.text for token in parts)])

    def follow(self, binding: Binding, describe: Describe) -> None:
        """Record what a stream's statement has bound, where the table has not got it yet."""
        sql = follow_sql(binding, self, describe)
        if sql is None:
            return
        try:
            list(self._rows(sql))
        except (PySparkException, Py4JJavaError) as error:
            raise CepAnalysisError(
                f"{self.table} cannot be told of a stream that follows {binding.pattern}: {str(error).splitlines()[0]}",
                code="PATTERN_STREAM",
                hint="SET sparkcep.stream.patterns = fixed, or get leave to insert into it",
            ) from error

    def _micros(self, moment: str) -> int:
        """A timestamp expression as microseconds. Raises Spark's error where it is none."""
        found: int | None = next(iter(self._rows(f"SELECT UNIX_MICROS({moment}) AS moment"))).get("moment")
        if found is None:
            raise CepAnalysisError("the time of EFFECTIVE FROM is NULL", code="EFFECTIVE_FROM")
        return found

    def _remembered(self) -> tuple[tuple[Version, ...], int]:
        """All versions, and now. The rows of the same files are the same rows: files are not changed, only added."""
        files = self._files(self.table) if self._files and self._is_sparks_own() else None
        if not files:
            return self._read()
        key = files, self._setting("spark.sql.session.timeZone", None)
        found = _READ.get(key)
        if found is None:
            found, _ = self._read()
            _READ[key] = found
            while len(_READ) > TABLES:
                _READ.pop(next(iter(_READ)), None)
        return found, time.time_ns() // 1000

    def _read(self) -> tuple[tuple[Version, ...], int]:
        found = list(self._rows(f"{_ROWS} FROM {self.table}"))
        return tuple(map(_version, found)), max((row["moment"] or 0 for row in found), default=0)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What Spark or the table's storage says against reading it, as an error of the table's."""
        try:
            yield
        except Py4JJavaError as error:
            reason = str(error.java_exception.getMessage() or error.java_exception.toString()).splitlines()[0]
            raise CepDataError(f"{self.table} cannot be read: {reason}", code="PATTERN_TABLE") from error
        except PySparkException as error:
            if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
                raise
            names = ", ".join(name for name, _, _ in COLUMNS)
            raise CepAnalysisError(
                f"{self.table} is no table of patterns",
                code="PATTERN_TABLE",
                hint=f"its columns are {names}; set {TABLE} to another table",
            ) from None

    def _is_sparks_own(self) -> bool:
        """Whether the table is in Spark's own catalog, not in one of Delta's or Iceberg's."""
        parts = tokenize(self.table).items[::2]
        catalog = parts[0].text if len(parts) == 3 else self._catalog().currentCatalog()
        return str(catalog) == "spark_catalog" and not self._setting("spark.sql.catalog.spark_catalog", None)


def _version(row: dict[str, Any]) -> Version:
    return Version(
        pattern=row["pattern"],
        version=row["version"],
        change=row["change"],
        clause=row["clause"],
        body=row.get("body") or "",
        comment=row.get("comment"),
        effective=row.get("effective"),
        effective_text=row.get("effective_text"),
        recorded=row.get("recorded") or 0,
        recorded_text=row.get("recorded_text") or "",
        recorded_by=row.get("recorded_by") or "",
    )
