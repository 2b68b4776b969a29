"""What the run asks: a saved view with a clause, a virtual dataset with a clause, and questions for SQL Lab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from environment import ROOT
from pyhive import hive

from sparkcep.cli import split_statements

EXAMPLES = ROOT / "sql_examples"
SCHEMA = "flights"
SQL_LAB = ("knock_on_delay", "delay_builds_then_recovers", "delay_beyond_allowance")
"""Examples with MATCH PATTERN, MATCH_RECOGNIZE and MATCH AUTOMATON."""


def model(name: str) -> str:
    """The query of a model of the dbt project, over the tables themselves."""
    lines = (EXAMPLES / "dbt" / "models" / f"{name}.sql").read_text().strip().splitlines()
    query = "\n".join(line for line in lines if not line.startswith(("--", "{{ config")))
    return re.sub(r"\{\{ ref\('(\w+)'\) \}\}", r"\1", query)


SPELLS, VIRTUAL = model("delay_spells"), model("knock_on_delays")
VIEW = f"CREATE VIEW delay_spells AS {SPELLS}"


def example(name: str) -> str:
    """The statement of an example."""
    return (EXAMPLES / f"{name}.sql").read_text().rstrip().rstrip(";")


class Hive:
    """The Thrift server as PyHive sees it: what Superset shows must be the same."""

    def __init__(self, port: int) -> None:
        self._connection = hive.connect("127.0.0.1", port, username="analyst")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, none if it has no result."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []

    def load(self) -> None:
        """The flights as a table, their events as a view, and a view with a clause, in a schema of their own."""
        for statement in ("CREATE SCHEMA flights", "USE flights", f"SET data={EXAMPLES / 'data'}", *_setup(), VIEW):
            self.rows(statement)


def _setup() -> Iterator[str]:
    """The statements of the examples, with what they keep for a session saved."""
    for statement in split_statements((EXAMPLES / "setup" / "flights.sql").read_text()):
        table = statement.replace("OR REPLACE TEMPORARY VIEW flights\n", "TABLE flights\n")
        yield table.replace("OR REPLACE TEMPORARY VIEW", "VIEW")
