"""The documentation: every code of an error is explained, the diagrams are those of the grammar, the site builds without a warning and needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.errors.codes import codes
from tests.imports import ROOT

DOCS = ROOT / "docs"


def test_every_code_is_explained() -> None:
    """Once, and none that the source does not have."""
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "errors").glob("*.md")))
    explained = re.findall(r"^## (CEP_\w+)$", pages, re.MULTILINE)
    assert sorted(explained) == sorted(codes())


def test_statements_stand_below_their_codes() -> None:
    """A statement that shows an error shows the one of its heading."""
    for page in sorted((DOCS / "errors").glob("[!i]*.md")):
        for heading, text in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page.read_text(encoding="utf-8"), re.M | re.S):
            assert re.findall(r"^```sql (?:refused|fails) (\w+)", text, re.M) in ([], [heading])


def test_diagrams_are_those_of_the_grammar() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "diagrams.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr


def test_the_site_builds(tmp_path: Path) -> None:
    """A broken link, a page outside of the navigation and a docstring that is missing are errors; nothing is loaded from elsewhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert not done.returncode, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(
            r"""<(?:script|img|iframe)[^>]*src=["']?(https?:[^"' >]+)""", page.read_text(encoding="utf-8")
        )
        loaded += re.findall(
            r"""<link[^>]*rel=["']?stylesheet["']?[^>]*href=["']?(https?:[^"' >]+)""", page.read_text(encoding="utf-8")
        )
        assert not loaded, f"{page.name}: {loaded}"
    assert (tmp_path / "site" / "search" / "search_index.js").exists(), "the index of a search without a server"
