"""aseq_functions: ``aseq_count`` and its siblings in any SELECT become functions that Spark can mix with its own aggregates.

``SELECT k, aseq_count(ts, type, 'SEQ(A, B)', 10), SUM(x) FROM t GROUP BY k`` → ``cep_aseq_count(COLLECT_LIST(STRUCT(ts, type)), 'SEQ(A, B)', 10)``
instead of the call: Spark refuses a grouped aggregate UDF beside built-in aggregates (INVALID_PANDAS_UDF_PLACEMENT), but allows a scalar one over a
built-in aggregate; and many groups go to the engine in one call. Calls with OVER are unchanged: Spark supports only grouped aggregate UDFs in
windows. In Spark Connect, where functions cannot be created at resolution, ``name`` names one created for the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rewrites.dialect.tokens import Tokens, cover, split_commas, tokenize
from rewrites.sql.source import Edit, Source
from sparkcep.errors import CepAnalysisError, Span

NAME = "aseq_functions"
_NAMES = {f"aseq_{function}": function for function in ("count", "sum", "avg", "min", "max")}
_BEHIND_FROM = {
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "WINDOW",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "MINUS",
    ";",
}


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """``aseq_sum(ts, type, pattern, within, value)`` in a statement, its arguments as text.

    ``over``: it has an OVER clause. ``rows``: the FROM of its block as text, without the keyword; None if that is not found.
    ``filtered``: its FILTER clause as text.
    """

    function: str
    span: Span
    arguments: tuple[str, ...]
    over: bool
    rows: str | None
    filtered: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        """The arguments that vary from event to event: time, type and value."""
        return (*self.arguments[:2], *self.arguments[4:])


FunctionName = Callable[[FunctionCall], str]
"""The name of a function created for one call: over rows if it has OVER, else over a list of structs."""


def aseq_functions(source: Source, name: FunctionName | None = None) -> tuple[Edit, ...]:
    """Edits for the calls in a statement; ``name``: see above (None: the functions of ``sql_functions.register_aggregates``)."""
    if not has_calls(source.sql):
        return ()
    return tuple((call.span, text) for call in _calls(tokenize(source.sql), source) if (text := _written(call, name)))


def has_calls(sql: str) -> bool:
    """Whether a statement may call one of the functions (cheap)."""
    return "aseq_" in sql.lower()


def _written(call: FunctionCall, name: FunctionName | None) -> str | None:
    rows = f"COLLECT_LIST(STRUCT({', '.join(call.row)})){call.filtered}"
    if name is not None:
        return f"{name(call)}({', '.join(call.row) if call.over else rows})"
    return None if call.over else f"cep_aseq_{call.function}({rows}, {call.arguments[2]}, {call.arguments[3]})"


def _calls(tokens: Tokens, source: Source) -> Iterator[FunctionCall]:
    items = tokens.items
    for i, token in enumerate(items[:-1]):
        function = _NAMES.get(token.text.lower()) if token.kind == "word" else None
        close = tokens.partner[i + 1]
        if function is None or items[i + 1].key != "(" or close < 0 or (i > 0 and items[i - 1].key == "."):
            continue
        parts = split_commas(items[i + 2 : close])
        if len(parts) != (4 if function == "count" else 5) or not all(parts):
            continue  # Spark calls the function itself, which reports the arguments that it takes
        texts = tuple(source.text(cover(part)) for part in parts)
        end = _behind_filter(tokens, close)
        behind, over = _key(tokens, close + 1), _key(tokens, end + 1) == "OVER"
        span = token.span.to(items[end].span)
        if items[i + 2].key == "DISTINCT" or behind == "WITHIN" or (end > close and over):
            raise _refused(token.text, "DISTINCT" if items[i + 2].key == "DISTINCT" else behind, source, span)
        filtered = f" {source.text(cover(items[close + 1 : end + 1]))}" if end > close else ""
        yield FunctionCall(function, span, texts, over, _rows(tokens, i, source), filtered)


def _behind_filter(tokens: Tokens, close: int) -> int:
    """The last item of a call whose arguments end at ``close``; with FILTER (…), the closing bracket of that."""
    filtered = _key(tokens, close + 1) == "FILTER" and _key(tokens, close + 2) == "("
    return tokens.partner[close + 2] if filtered and tokens.partner[close + 2] > 0 else close


def _key(tokens: Tokens, i: int) -> str:
    return tokens.items[i].key if i < len(tokens.items) else ""


def _refused(name: str, clause: str, source: Source, span: Span) -> CepAnalysisError:
    hints = {
        "DISTINCT": "an event is a row, and equal ones are two: take them together in a subquery, SELECT DISTINCT …",
        "FILTER": "with OVER give the other events a NULL type: IF(condition, type, NULL)",
        "WITHIN": "the events are put in the order of their times whatever the order of the rows",
    }
    shown = "FILTER and OVER" if clause == "FILTER" else clause
    return CepAnalysisError(f"{name} with {shown}", code="ASEQ_FUNCTION", sql=source.sql, span=span, hint=hints[clause])


def _rows(tokens: Tokens, i: int, source: Source) -> str | None:
    """The FROM of the block around item ``i``: after it, at the bracket depth of the block."""
    items = tokens.items
    outer = tokens.outer[i]
    while outer >= 0 and items[outer + 1].key not in ("SELECT", "WITH"):
        outer = tokens.outer[outer]
    level = [j for j in range(i, len(items)) if tokens.outer[j] == outer]
    begin = next((j for j in level if items[j].key == "FROM"), None)
    if begin is None:
        return None
    closing = tokens.partner[outer] if outer >= 0 else len(items)
    end = next((j for j in level if j > begin and items[j].key in _BEHIND_FROM), closing)
    return source.text(cover(items[begin + 1 : end])) if end > begin + 1 else None
