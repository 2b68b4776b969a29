"""What the user sees when a clause does not follow its grammar.

The ``.txt`` files hold cases: a statement, a line ``=>``, the rendered error, a line of ``=``. With UPDATE_GOLDENS=1 in
the environment the errors are written anew, to be read in the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewrites.dialect import find_sites, parse_clause
from sparkcep.errors import CepError

FILES = sorted(Path(__file__).parent.glob("syntax_*.txt"))
RULE = "\n" + "=" * 40 + "\n"
ARROW = "\n=>\n"


def _cases(path: Path) -> list[tuple[str, str]]:
    blocks = [block.strip("\n") for block in path.read_text(encoding="utf-8").split(RULE)]
    return [(sql, error) for sql, _, error in (f"{block}\n".partition(ARROW) for block in blocks if block)]


def _render(sql: str) -> str:
    try:
        for site in find_sites(sql):
            parse_clause(sql, site)
    except CepError as error:
        return str(error)
    return "(no error)"


if os.environ.get("UPDATE_GOLDENS"):
    for _path in FILES:
        _path.write_text(RULE.join(f"{sql}{ARROW}{_render(sql)}" for sql, _ in _cases(_path)) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("sql", "error"),
    [pytest.param(*case, id=f"{path.stem}-{i}") for path in FILES for i, case in enumerate(_cases(path))],
)
def test_rendered_error(sql: str, error: str) -> None:
    assert _render(sql) == error.rstrip("\n")
