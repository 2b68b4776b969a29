"""DEFINE conditions near the bounds of a window's frame: rows outside of it count as absent, so ``LAG`` and ``LEAD`` columns are NULL there.

``x > PREV(x)`` on a frame's first row is ``x > (CASE WHEN FALSE THEN `__cep_n0` END)``: a NULL of the column's type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from rewrites.bind.conditions import Condition
from rewrites.dialect.clause import FrameClause
from rewrites.sql.builder import quoted
from sparkcep.errors import CepLimitError

MAX_VARIANTS = 4096
"""Forms of one condition: each has a text."""

_NEIGHBOUR = re.compile(r"^(LAG|LEAD)\(.*, (\d+)\)$", re.DOTALL)


def near_conditions(
    conditions: Mapping[str, Condition], neighbours: Mapping[str, str], frame: FrameClause
) -> dict[str, Condition]:
    """The conditions with what they are near a frame's bounds, where ``LAG`` and ``LEAD`` columns are absent."""
    return {
        name: replace(condition, near=_variants(condition, neighbours, frame)) for name, condition in conditions.items()
    }


def _variants(
    condition: Condition, neighbours: Mapping[str, str], frame: FrameClause
) -> tuple[tuple[int, int, str], ...]:
    """(rows before, rows behind, SQL), for each number of rows up to those that the condition looks at. Raises CepLimitError for too many."""
    if condition.text is None:
        return ()
    read = [(quoted(name), _offset(call)) for call, name in neighbours.items() if quoted(name) in condition.text]
    prev = max([0, *(-offset for _, offset in read)])
    behind = max([0, *(offset for _, offset in read)]) if frame.bounded else 0
    if (prev + 1) * (behind + 1) > MAX_VARIANTS:
        raise CepLimitError(
            f"this condition differs in more than {MAX_VARIANTS} places near a frame's bounds: it looks at {prev} rows before and {behind} behind",
            code="PATTERN_SIZE",
            span=condition.span,
            hint="lower the offsets of PREV and NEXT, or compute the value as a column of the input: LAG(x, 5000) OVER (…)",
        )
    variants = []
    for before, after in product(range(prev + 1), range(behind + 1)):
        text = condition.text
        for name, offset in read:
            if -offset > before or (frame.bounded and offset > after):
                text = text.replace(name, f"(CASE WHEN FALSE THEN {name} END)")
        variants.append((before, after, text))
    return tuple(variants) if len(variants) > 1 else ()


def _offset(call: str) -> int:
    """``LAG(x, 2)`` → -2."""
    found = _NEIGHBOUR.match(call)
    assert found is not None, call
    return int(found[2]) * (-1 if found[1] == "LAG" else 1)
