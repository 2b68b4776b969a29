"""What the site shows of the fences that tests read: ``sql refused CODE`` gets a title, ``result`` behind SQL becomes a table.

In: a page's Markdown. Out: Markdown that the theme understands. ``tests/sql/test_docs.py`` explains the fences.
"""

from __future__ import annotations

import re
from typing import Any

FENCE = re.compile(r"^```(\w+) (refused|fails|executed|not executed)(?: (\w+))?$", re.MULTILINE)
RESULT = re.compile(r"^```sql[^\n]*\n(?:(?!```).*\n)*?```\n*(```result\n((?:.*\n)*?)```)$", re.MULTILINE)
TITLES = {
    "refused": "refused: {}",
    "fails": "fails while it runs: {}",
    "executed": "",
    "not executed": "not executed here",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return FENCE.sub(_titled, RESULT.sub(_tabled, markdown))


def _titled(fence: re.Match[str]) -> str:
    title = TITLES[fence[2]].format(fence[3])
    return f'```{fence[1]} title="{title}"' if title else f"```{fence[1]}"


def _tabled(found: re.Match[str]) -> str:
    block, result = found[1], found[2]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in result.splitlines()]
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return found[0].replace(block, f"\n{table}\n")
