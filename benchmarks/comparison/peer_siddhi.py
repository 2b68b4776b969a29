"""Siddhi 5.1, from the jars in PySiddhi's wheel, through pyjnius. The events are Java objects before the clock starts; then a call a row,
which is how the binding hands them over, and most of what is measured."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jnius_config
import pyarrow.parquet as pq
from serve import Answer, serve

JARS = Path(next(iter(find_spec("__PySiddhiProxy").submodule_search_locations))) / "target"


def main() -> None:
    """Ask for as long as there is input."""
    jnius_config.set_classpath(*map(str, JARS.rglob("*.jar")))
    from jnius import autoclass

    java = {name: autoclass(f"java.lang.{name}") for name in ("Integer", "Long", "Class")}
    event = autoclass("io.siddhi.core.event.Event")
    manager = autoclass("io.siddhi.core.SiddhiManager")()
    kept: dict[str, list[Any]] = {}

    def prepare(request: dict[str, Any]) -> Answer:
        if request["parquet"] not in kept:
            kept.clear()
            table = pq.read_table(request["parquet"], columns=["key", "ts", "type", "price"])
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            kept[request["parquet"]] = [
                event(ts * 1000, [java["Integer"](key), java["Long"](ts), kind, java["Long"](price)])
                for key, ts, kind, price in rows
            ]
        runtime = manager.createSiddhiAppRuntime(request["text"])
        runtime.start()
        entry = runtime.getInputHandler("Events")

        def answer() -> list[int]:
            for one in kept[request["parquet"]]:
                entry.send(one)
            found = runtime.query("from Found select count() as found, sum(ending) as total")
            runtime.shutdown()
            return list(found[0].getData()) if found else [0, 0]

        return answer

    serve(prepare)


if __name__ == "__main__":
    main()
