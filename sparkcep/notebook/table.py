"""The first rows of a query as a table that scrolls under its headings and is sorted by a click on one of them.

Values are ordered here, by their types; the page only puts rows in the order of their ranks. So the script is a few lines, and needs no library.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

from pyspark.sql import DataFrame

_STYLE = """<style>
.cep-rows { max-height: 26em; overflow: auto; width: fit-content; max-width: 100% }
.cep-rows table { border-collapse: separate; border-spacing: 0; margin: 0 }
.cep-rows table th { position: sticky; top: 0; z-index: 1; cursor: pointer; white-space: nowrap;
  background: var(--jp-layout-color0, #fff); border-bottom: 1px solid #a0aec0 }
.cep-rows table th::after { content: "\\2003" }
.cep-rows table th[aria-sort=ascending]::after { content: " ▲" }
.cep-rows table th[aria-sort=descending]::after { content: " ▼" }
.cep-rows table th, .cep-rows table td:not(.n) { text-align: left !important }
.cep-rows table td.n { text-align: right; font-variant-numeric: tabular-nums }
</style>"""

_SORT = """const head = event.target.closest('th'); if (!head) return;
const body = this.parentNode.tBodies[0], up = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
head.setAttribute('aria-sort', up > 0 ? 'ascending' : 'descending');
const rank = row => { const cell = row.cells[head.cellIndex].dataset; return 'r' in cell ? up * cell.r : 1e9 };
body.append(...[...body.rows].sort((one, other) => rank(one) - rank(other)));"""


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The first rows of a query; ``df`` is the full result."""

    df: DataFrame
    rows: Sequence[Sequence[Any]]
    more: bool
    seconds: float

    def __repr__(self) -> str:
        return f"{len(self.rows)} rows{' shown, there are more' if self.more else ''}, {self.seconds:.2f} s"

    def _repr_html_(self) -> str:
        return f"{_STYLE}{table_html(self.df.columns, self.rows)}<small>{html.escape(str(self))}</small>"


def table_html(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as an HTML table. Each cell that is not NULL has its rank in its column, by which the table can be sorted; NULLs stay last."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    ranks = [_ranks([row[i] for row in rows]) for i in range(len(names))]
    lines = (
        "".join(_cell(value, ranks[i].get(number)) for i, value in enumerate(row)) for number, row in enumerate(rows)
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    sort = html.escape(_SORT)
    return f'<div class="cep-rows"><table><thead onclick="{sort}"><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _ranks(values: Sequence[Any]) -> dict[int, int]:
    """By place, the rank of each value that is not NULL."""
    places = [place for place, value in enumerate(values) if value is not None]
    try:
        places.sort(key=lambda place: _key(values[place]))
    except TypeError:  # maps, and structs with NULLs in them, have no order
        places.sort(key=lambda place: str(values[place]))
    return {place: rank for rank, place in enumerate(places)}


def _key(value: Any) -> tuple[bool, Any]:
    """NaN is above all numbers, as in Spark."""
    nan = isinstance(value, float) and math.isnan(value)
    return nan, 0 if nan else value


def _cell(value: Any, rank: int | None) -> str:
    if rank is None:
        return "<td><i>NULL</i></td>"
    number = " class=n" if isinstance(value, Number) and not isinstance(value, bool) else ""
    return f"<td{number} data-r={rank}>{html.escape(str(value))}</td>"
