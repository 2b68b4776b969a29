"""Apache Superset over ``sparkcep thriftserver``, driven by its REST API: datasets, charts and SQL Lab, with pattern clauses.

In: a Python with sparkcep and its extra ``thrift``, Chromium for the screenshots, and PyPI, unless ``--environment`` names an environment that
an earlier run has made. Out: a line a step, and the screenshots of ``docs/clients.md``. What Superset shows is compared with what PyHive reads; the
first difference ends the run with an error. Both servers listen on 127.0.0.1, keep their data in a temporary folder, and are stopped at the end.

    pip install 'sparkcep[thrift]' && python sql_examples/superset [--environment DIR] [--screenshots DIR | --no-screenshots]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

from api import Api, RefusedError
from environment import ROOT, MissingError, browser, superset_programs
from processes import ADMIN, superset, thrift_server

try:
    from statements import SCHEMA, SPELLS, SQL_LAB, VIRTUAL, Hive, example
except ModuleNotFoundError as error:
    sys.exit(f"Missing: {error.name}: pip install 'sparkcep[thrift]'")

COUNT = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "n"}
LIMIT = 10
SHOWN = 300
"""Characters of an error."""


def main() -> None:
    """Start everything, take the steps, stop everything."""
    options = arguments()
    try:
        chromium = None if options.no_screenshots else browser()
        programs = step("Superset's environment", lambda: superset_programs(options.environment))
    except MissingError as error:
        sys.exit(f"Missing: {error}")
    with tempfile.TemporaryDirectory(prefix="sparkcep-superset-") as name, thrift_server(Path(name)) as port:
        hive = Hive(port)
        step("flights in the Thrift server", hive.load)
        with superset(programs, Path(name)) as address:
            api = step(f"Superset at {address}", lambda: Api(address, *ADMIN))
            without_plugin(api, hive, port)
            pictures = with_plugin(api, hive, port)
            if chromium:
                step("screenshots", lambda: screenshots(programs, address, chromium, pictures, options.screenshots))
    print("everything is stopped")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Superset over sparkcep thriftserver")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sparkcep" / "superset"
    parser.add_argument("--environment", type=Path, default=cache, help=f"Superset's environment (default: {cache})")
    parser.add_argument("--screenshots", type=Path, default=ROOT / "docs", help="where the screenshots go")
    parser.add_argument("--no-screenshots", action="store_true", help="needs no Chromium")
    return parser.parse_args()


def step(name: str, action: Callable[[], Any]) -> Any:
    """Print what is done, then what came of it and how long it took."""
    print(f"{name} … ", end="", flush=True)
    started = time.monotonic()
    result = action()
    shown = result if isinstance(result, str | dict) else "done"
    print(f"{shown} ({time.monotonic() - started:.1f} s)", flush=True)
    return result


def without_plugin(api: Api, hive: Hive, port: int) -> None:
    """``hive://``, as Superset's pages say for Spark: saved views work, and clauses in Superset's own SQL do not."""
    database = step("hive://: connected", lambda: api.database("hive", uri("hive", port)))
    step("hive://: its list of tables", lambda: api.tables(database, SCHEMA))
    spells = step("hive://: dataset of a view with a clause", lambda: api.dataset(database, SCHEMA, "delay_spells"))
    step("hive://: its chart", lambda: compared(api, hive, spells, "delay_spells", "worse_departures"))
    step("hive://: its chart by week", lambda: refused(lambda: by_week(api, hive, spells)))
    step("hive://: dataset of SQL with a clause", lambda: refused(lambda: api.dataset(database, SCHEMA, "x", VIRTUAL)))
    step("hive://: a clause in SQL Lab", lambda: refused(lambda: api.sql_lab(database, SCHEMA, VIRTUAL)))
    api.delete(f"dataset/{spells}")
    api.delete(f"database/{database}")


def with_plugin(api: Api, hive: Hive, port: int) -> tuple[int, int]:
    """``sparkcep://``: everything works. Gives the numbers of a chart and of the database, for the pictures."""
    database = step("sparkcep://: connected", lambda: api.database("sparkcep", uri("sparkcep", port)))
    tables = step("sparkcep://: its list of tables", lambda: api.tables(database, SCHEMA))
    check(tables, {"flights": "table", "flight_events": "view", "delay_spells": "view"})

    spells = step("dataset of a view with a clause", lambda: api.dataset(database, SCHEMA, "delay_spells"))
    step("its columns", lambda: api.columns(spells))
    step("its chart", lambda: compared(api, hive, spells, "delay_spells", "worse_departures"))
    step("its chart by week", lambda: by_week(api, hive, spells))
    api.chart("Spells of growing delay", spells, {"x_axis": "worse_departures", "metrics": [COUNT]})

    delays = step("dataset of SQL with a clause", lambda: api.dataset(database, SCHEMA, "knock_on_delays", VIRTUAL))
    step("its columns", lambda: api.columns(delays))
    step("its chart", lambda: compared(api, hive, delays, f"({VIRTUAL})", "airport"))
    events = api.dataset(database, SCHEMA, "flight_events")
    step("its chart under row level security", lambda: secured(api, hive, events, delays))
    form = {"x_axis": "airport", "metrics": [COUNT], "row_limit": LIMIT, "x_axis_sort": "n", "x_axis_sort_asc": False}
    chart = api.chart("Delays that airports pass on", delays, form)

    for name in SQL_LAB:
        step(f"SQL Lab: {name}.sql", lambda name=name: asked(api, hive, database, example(name)))
    wrong = VIRTUAL.replace("departure d)", "departure d,)")
    step("SQL Lab: an error", lambda: refused(lambda: api.sql_lab(database, SCHEMA, wrong)))
    return chart, database


def uri(scheme: str, port: int) -> str:
    return f"{scheme}://analyst@127.0.0.1:{port}/{SCHEMA}"


def compared(api: Api, hive: Hive, dataset: int, source: str, column: str) -> str:
    """A chart's data: the greatest counts of a column's values, as PyHive reads them."""
    query = {"columns": [column], "metrics": [COUNT], "orderby": [["n", False], [column, True]], "row_limit": LIMIT}
    shown = [(row[column], row["n"]) for row in api.chart_data(dataset, query)["data"]]
    check(
        shown,
        hive.rows(f"SELECT {column}, COUNT(*) AS n FROM {source} GROUP BY ALL ORDER BY n DESC, {column} LIMIT {LIMIT}"),
    )
    return f"{len(shown)} rows as PyHive's, first {shown[0]}"


def by_week(api: Api, hive: Hive, dataset: int) -> str:
    """A chart's data by Superset's time grain Week."""
    week = {
        "columnType": "BASE_AXIS",
        "expressionType": "SQL",
        "sqlExpression": "since",
        "label": "since",
        "timeGrain": "P1W",
    }
    query = {"columns": [week], "metrics": [COUNT], "extras": {"time_grain_sqla": "P1W"}, "row_limit": 100}
    shown = [row["n"] for row in api.chart_data(dataset, query)["data"]]
    expected = hive.rows("SELECT COUNT(*) FROM delay_spells GROUP BY date_trunc('week', since)")
    check(sorted(shown), sorted(count for (count,) in expected))
    return f"{len(shown)} weeks as PyHive's"


def secured(api: Api, hive: Hive, table: int, dataset: int) -> str:
    """The chart while a rule lets everybody see one carrier's rows of ``table``: the clause must read no others."""
    rule = api.rule("one carrier", table, "carrier = 'B6'")
    allowed = VIRTUAL.replace("flight_events", "(SELECT * FROM flight_events WHERE carrier = 'B6')")
    try:
        return compared(api, hive, dataset, f"({allowed})", "airport")
    finally:
        api.delete(f"rowlevelsecurity/{rule}")


def asked(api: Api, hive: Hive, database: int, sql: str) -> str:
    """The rows of SQL Lab, as PyHive's. SQL Lab puts its own LIMIT in the place of the statement's, and shows times as ISO 8601."""
    expected = [[iso(value) for value in row] for row in hive.rows(sql)]
    shown = [[iso(value) for value in row.values()] for row in api.sql_lab(database, SCHEMA, sql)]
    check(shown[: len(expected)], expected)
    return f"{len(expected)} rows as PyHive's"


def iso(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def refused(action: Callable[[], Any]) -> str:
    """The message of a statement that must be refused."""
    try:
        action()
    except RefusedError as error:
        return f"refused: {error.message()[:SHOWN]}"
    raise AssertionError("this was not refused")


def check(shown: object, expected: object) -> None:
    if shown != expected:
        raise AssertionError(f"Superset shows\n{shown}\nand PyHive\n{expected}")


def screenshots(programs: Path, address: str, chromium: str, pictures: tuple[int, int], folder: Path) -> str:
    """Both pictures; a page that does not show its rows is an error."""
    files = [folder / "superset-chart.png", folder / "superset-sqllab.png"]
    script = str(Path(__file__).with_name("screenshots.py"))
    command = [str(programs / "python"), script, address, *ADMIN, chromium, *map(str, (*pictures, *files))]
    subprocess.run(command, input=SPELLS, text=True, check=True)
    return ", ".join(f"{file.name} {file.stat().st_size // 1024} kB" for file in files)


if __name__ == "__main__":
    main()
