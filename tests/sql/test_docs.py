"""Every SQL block of README.md and docs/ runs; what a page says is refused, or fails, does so with the error it names.

A block is fenced as ``sql``: its statements run, and the last one's rows must be those of the ``result`` block behind it, if there is one.
``sql refused CODE`` must be refused when it is analysed, ``sql fails CODE`` when it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.cli import split_statements
from sparkcep.errors import CepError

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """``expect``: '', 'refused' or 'fails', with ``code``; ``result``: the rows as the page shows them."""

    line: int
    text: str
    expect: str
    code: str
    result: list[list[str]] | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    found = list(FENCE.finditer(text))
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block[1] != "sql":
            continue
        expect, _, code = block[2].strip().partition(" ")
        shown = after[3] if after is not None and after[1] == "result" else None
        rows = (
            None
            if shown is None
            else [[cell.strip() for cell in line.strip("| ").split("|")] for line in shown.splitlines()]
        )
        yield Block(text.count("\n", 0, block.start()) + 2, block[3], expect, code, rows)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session of its own with the flights: the pages' settings and views are nobody else's."""
    session = spark.newSession()
    session.conf.set("data", str(ROOT / "sql_examples" / "data"))
    for statement in split_statements((ROOT / "sql_examples" / "setup" / "flights.sql").read_text()):
        session.sql(statement)
    return session


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(session: SparkSession, page: Path) -> None:
    for block in blocks(page):
        try:
            run(session, block)
        except Exception as error:
            raise AssertionError(f"{page.name}, line {block.line}: {error}") from error


def run(session: SparkSession, block: Block) -> None:
    statements = list(split_statements(block.text))
    if block.expect == "refused":
        with pytest.raises(CepError) as refused:
            session.sql(statements[-1])
        assert refused.value.code.startswith(block.code)
    elif block.expect == "fails":
        with pytest.raises(PySparkException, match=block.code):
            session.sql(statements[-1]).collect()
    else:
        results = [session.sql(statement) for statement in statements]
        rows = [[str(value) for value in row] for row in results[-1].limit(100).collect()]
        if block.result is not None:
            assert [results[-1].columns, *rows] == block.result
