"""DuckDB with two threads, from the Parquet file. ``fallback`` is asked where the wheel has no MATCH_RECOGNIZE."""

from __future__ import annotations

from typing import Any

import duckdb
from serve import MEMORY, Answer, serve


def main() -> None:
    """Ask for as long as there is input."""
    database = duckdb.connect(config={"threads": 2, "memory_limit": f"{MEMORY}GB"})

    def prepare(request: dict[str, Any]) -> Answer:
        database.execute(f"CREATE OR REPLACE VIEW events AS SELECT * FROM '{request['parquet']}'")
        text = request["text"]
        try:
            database.execute(f"EXPLAIN {text}")
        except duckdb.Error:
            text = request["fallback"]
        return lambda: list(database.execute(text).fetchone())

    serve(prepare)


if __name__ == "__main__":
    main()
