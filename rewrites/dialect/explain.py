"""EXPLAIN PATTERN and EXPLAIN ANALYZE PATTERN in front of a query."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)"
_EXPLAIN = re.compile(
    rf"{_GAP}*EXPLAIN{_GAP}+(?P<analyze>ANALYZE{_GAP}+)?PATTERN\b{_GAP}*(?=\S)", re.IGNORECASE | re.DOTALL
)


class ExplainPrefix(NamedTuple):
    """``mode`` is 'explain' or 'analyze'; the query begins at ``rest_offset``."""

    mode: Literal["explain", "analyze"]
    rest_offset: int


def explain_prefix(sql: str) -> ExplainPrefix | None:
    """``EXPLAIN ANALYZE PATTERN SELECT …`` → ('analyze', the offset of SELECT); None for any other statement."""
    found = _EXPLAIN.match(sql)
    if found is None:
        return None
    return ExplainPrefix("analyze" if found["analyze"] else "explain", found.end())
