"""Every SQL block of README.md and docs/ runs; what a page says is refused, or fails, does so with the error it names.

A block is fenced as ``sql``: its statements run, and the last one's rows must be those of the ``result`` block behind it, if there is one.
``sql refused CODE`` must be refused when it is analysed, ``sql fails CODE`` when it is run; one that the files of errors hold with this code is run
where these are. ``sql not executed`` says so itself. ``python executed``
runs with ``spark`` and ``folder``, and must print its ``result`` (nothing, where there is none); other Python is there to be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from sparkcep.cli import split_statements
from sparkcep.errors import CepError

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """``expect``: '', 'refused' or 'fails', with ``code``, for SQL, 'executed' for Python; ``result``: the text that the page shows."""

    line: int
    text: str
    expect: str
    code: str
    result: str | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    found = list(FENCE.finditer(text))
    for block, after in zip(found, [*found[1:], None], strict=False):
        expect, _, code = block[2].strip().partition(" ")
        if (expect == "executed") if block[1] == "python" else (block[1] == "sql" and expect != "not"):
            shown = after[3] if after is not None and after[1] == "result" else None
            yield Block(text.count("\n", 0, block.start()) + 2, block[3], expect, code, shown)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session of its own with the flights: the pages' settings and views are nobody else's."""
    session = spark.newSession()
    session.conf.set("data", str(ROOT / "sql_examples" / "data"))
    for statement in split_statements((ROOT / "sql_examples" / "setup" / "flights.sql").read_text()):
        session.sql(statement)
    return session


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(session: SparkSession, page: Path, tmp_path: Path) -> None:
    names = {"spark": session, "folder": str(tmp_path)}
    for block in blocks(page):
        try:
            if block.expect == "executed":
                assert printed(block.text, names) == (block.result or "")
            else:
                run(session, block)
        except Exception as error:
            raise AssertionError(f"{page.relative_to(ROOT)}, line {block.line}: {error}") from error


def printed(text: str, names: dict[str, Any]) -> str:
    """What a Python block prints; the blocks of a page share their names."""
    out = StringIO()
    with redirect_stdout(out):
        exec(text, names)
    return out.getvalue()


@cache
def held(code: str) -> frozenset[str]:
    """The statements, without blanks, whose errors are in ``tests/errors`` and ``tests/sql/errors``, with this code."""
    files = [*(ROOT / "tests/errors").glob("*.txt"), *(ROOT / "tests/sql/errors").glob("*.txt")]
    cases = (
        case.partition("\n=>\n")
        for file in files
        for case in file.read_text(encoding="utf-8").split("\n" + "=" * 40 + "\n")
    )
    return frozenset("".join(sql.split()) for sql, _, error in cases if f"[{code}]" in error)


def run(session: SparkSession, block: Block) -> None:
    if block.code and "".join(block.text.split()) in held(block.code):
        return
    if block.expect == "refused":
        with pytest.raises(CepError) as refused:
            session.sql(block.text)
        assert refused.value.code.startswith(block.code)
        return
    *before, last = split_statements(block.text)
    for statement in before:
        session.sql(statement)
    if block.expect == "fails":
        with pytest.raises(PySparkException, match=block.code):
            answers(session.sql(last))
    else:
        result = session.sql(last)
        rows = [[str(value) for value in row] for row in answers(result)]
        if block.result is not None:
            shown = [[cell.strip() for cell in line.strip("| ").split("|")] for line in block.result.splitlines()]
            assert [result.columns, *rows] == shown


def answers(frame: DataFrame) -> list[Row]:
    """The rows; those of a stream until its input is used up, sorted."""
    if not frame.isStreaming:
        return frame.limit(100).collect()
    query = frame.writeStream.format("memory").queryName("page").trigger(availableNow=True).start()
    query.awaitTermination()
    return sorted(frame.sparkSession.sql("SELECT * FROM page").collect(), key=str)
