"""The notebook of sql_examples runs from its first cell to its last, and shows what it says: tables, an automaton, time lines, counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).resolve().parents[2] / "sql_examples"


@pytest.mark.filterwarnings("ignore")
def test_flights_notebook() -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "flights.ipynb", as_version=4)
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}
    )
    client.execute()  # raises CellExecutionError at the first error
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    pages = [data.get("text/html", "") for data in shown]
    assert sum("<svg" in page for page in pages) == 1
    assert sum("image/png" in data for data in shown) == 2
    assert sum("<table>" in page for page in pages) == 3
    assert "56" in [data["text/plain"] for data in shown]
    assert "why nothing   d3: WITHIN" in pages[-1]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_plot_of_an_automaton(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    from sparkcep.notebook import magic

    shown: list[Any] = []
    monkeypatch.setattr(magic, "display", shown.append)
    shell = InteractiveShell()
    shell.user_ns["spark"] = spark
    arcs = "ARC s -> m WHEN type = 'View' ARC m -> m WHEN type <> 'Buy' ARC m -> f WHEN type = 'Buy'"
    magic.SqlMagics(shell).sql(
        "--plot", f"SELECT * FROM clicks MATCH AUTOMATON (PARTITION BY user ORDER BY ts START s FINAL f {arcs})"
    )
    result, timeline = shown
    assert len(result.rows) == len(timeline.figure.axes[0].get_yticks()) > 1
    assert timeline._repr_png_().startswith(b"\x89PNG")
