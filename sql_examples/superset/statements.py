"""What the run asks: a saved view with a clause, a virtual dataset with a clause, and questions for SQL Lab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from environment import ROOT
from pyhive import hive

from sparkcep.cli import split_statements

EXAMPLES = ROOT / "sql_examples"
SCHEMA = "flights"
SPELLS = """SELECT *
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY dep
  MEASURES FIRST(strt.dep) AS since, COUNT(worse.*) AS worse_departures, MAX(worse.dep_delay) AS peak
  PATTERN (strt worse{3,} recovered)
  DEFINE worse AS dep_delay > PREV(dep_delay) + 10,
         recovered AS dep_delay <= 0
)"""
VIEW = f"CREATE VIEW delay_spells AS {SPELLS}"
VIRTUAL = """SELECT a.airport AS airport, d.event_time AS departed, d.delay AS delay
FROM flight_events MATCH PATTERN (
  SEQ(arrival a, departure d)
  EVENT TYPE event_type
  PARTITION BY aircraft
  ORDER BY event_time
  WHERE a.delay > 60 AND d.delay > 60
  WITHIN INTERVAL 12 HOURS
)"""
SQL_LAB = ("knock_on_delay", "delay_builds_then_recovers", "delay_beyond_allowance")
"""Examples with MATCH PATTERN, MATCH_RECOGNIZE and MATCH AUTOMATON."""


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
