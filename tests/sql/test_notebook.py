"""The notebook of sql_examples runs from its first cell to its last, and shows what it says: tables, an automaton, time lines, counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import CepError

EXAMPLES = Path(__file__).resolve().parents[2] / "sql_examples"


@pytest.mark.filterwarnings("ignore")
def test_flights_notebook(program: dict[str, str]) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "flights.ipynb", as_version=4)
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}
    )
    client.execute(env=program)  # raises CellExecutionError at the first error
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    pages = [data.get("text/html", "") for data in shown]
    assert sum("<figure" in page for page in pages) == 2
    assert sum("cep-time" in page and "<svg" in page for page in pages) == 2
    assert sum("image/png" in data for data in shown) == 2
    assert sum("<table>" in page for page in pages) == 3
    assert "56" in [data["text/plain"] for data in shown]
    assert "why nothing   d3: WITHIN" in pages[-1]


def shown_by(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, line: str, cell: str) -> list[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    from sparkcep.notebook import magic

    shown: list[Any] = []
    monkeypatch.setattr(magic, "display", shown.append)
    shell = InteractiveShell()
    shell.user_ns["spark"] = spark
    magic.SqlMagics(shell).sql(line, cell)
    return shown


PLOTS = {
    "MATCH AUTOMATON": (
        """SELECT * FROM clicks MATCH AUTOMATON (PARTITION BY user ORDER BY ts REGISTERS (seen STRING) START s FINAL f
            ARC s -> m WHEN type = 'View' SET seen = item ARC m -> m WHEN type <> 'Buy' ARC m -> f WHEN type = 'Buy')""",
        r"<b>f</b> · \d+ · u1<br>seen <b>x</b>",
    ),
    "MATCH PATTERN": (
        """SELECT v.ts, b.ts FROM clicks MATCH PATTERN (
            SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE b.amount > v.amount OR b.item = 'y')""",
        r"<b>b</b> · \d+ · u1<br>type = &#x27;Buy&#x27; AND b.amount &gt; v.amount OR b.item = &#x27;y&#x27;<br>.*amount <b>",
    ),
    "MATCH_RECOGNIZE": (
        """SELECT * FROM clicks MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts ALL ROWS PER MATCH PATTERN (a b)
            DEFINE b AS type = 'Buy')""",
        r"<b>b</b> · \d+ · u1<br>type = &#x27;Buy&#x27;<br>.*type <b>Buy</b>",
    ),
}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PLOTS)
def test_points_of_a_plot_say_what_they_are(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    query, told = PLOTS[kind]
    result, timeline = shown_by(spark, monkeypatch, "--plot", query)
    page = timeline._repr_html_()
    assert len(timeline.figure.axes[0].get_yticks()) > 1
    assert result.rows
    assert page.count("<i style=") == len(timeline.events)
    assert re.search(told, page)
    assert timeline._repr_png_().startswith(b"\x89PNG")


@pytest.mark.spark
def test_an_error_of_a_cell_is_its_text(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CepError) as caught:
        shown_by(spark, monkeypatch, "", "SELECT * FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user)")
    text = "\n".join(caught.value._render_traceback_())  # type: ignore[attr-defined]
    assert "[CEP_" in text
    assert "^" in text
    assert "Traceback" not in text
