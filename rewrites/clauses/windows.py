"""A query block with row patterns in windows → a query over one engine call for each such window.

``SELECT sym, n OVER w FROM ticks WHERE … WINDOW w AS (…)`` → ``SELECT sym, `__cep_w0` AS `n` FROM (SELECT `sym`, … AS `__cep_w0` FROM cep_match(
TABLE(… (SELECT * FROM ticks WHERE …) AS `ticks`(…))))``: what has no such window is evaluated below, in the block's own scope
(``bind.window_input``); the rest above, where the columns that it names have kept their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from pyspark.errors import PySparkException

from rewrites.bind.char_literals import with_padded_literals
from rewrites.bind.inner_references import with_inner_references
from rewrites.bind.notices import notices
from rewrites.bind.relation import Describe, Relation, spark_message
from rewrites.bind.window_groups import Groups, window_groups
from rewrites.bind.window_input import Below, BlockRows, block_rows, window_input, words_in
from rewrites.bind.windows import IGNORES_FRAMES, Called, bind_window, measure_name
from rewrites.dialect import parse_expression
from rewrites.dialect.clause import MatchRecognizeClause
from rewrites.dialect.parameter_values import ValueOf
from rewrites.dialect.tokens import tokenize
from rewrites.dialect.window_blocks import Call, Item, WindowBlock
from rewrites.dialect.windows import parse_window
from rewrites.emit.row_pattern import row_pattern_query, row_pattern_spec
from rewrites.options import Options, RewrittenClause
from rewrites.sql.builder import quoted
from rewrites.sql.source import Edit, Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span


@dataclass(frozen=True, slots=True)
class _Calls:
    """Where the values of calls are: ``edits`` name their columns; ``called``: by window; ``ranks``: (SQL, column), computed below."""

    edits: tuple[Edit, ...]
    called: tuple[tuple[Called, ...], ...]
    ranks: tuple[tuple[str, str], ...]


def window_block(
    block: WindowBlock, source: Source, describe: Describe, parameter: ValueOf, options: Options
) -> tuple[str, list[RewrittenClause]]:
    """The query in the block's place, and those of its windows over which something is called. ``parameter``: see ``parse_clause``.

    Raises CepAnalysisError, CepSyntaxError and CepUnsupportedError with spans, InputError if Spark cannot read FROM and WHERE.
    """
    if options.analyze or options.timeline:
        raise _not_counted(block)
    clauses = tuple(parse_window(source.sql, window.site, window.base, parameter) for window in block.windows)
    readable = partial(_is_readable, block_rows(block, source, describe))
    groups = window_groups(block, clauses, source, readable)
    if groups is not None:
        source = source.with_edits(groups.edits())
        clauses = tuple(map(groups.clause, clauses))
    calls = _calls(block, clauses, groups, source)
    below = window_input(block, clauses, calls.ranks, groups, source, describe)
    relation, parts = below.relation, []
    for i, clause in enumerate(clauses):
        if not calls.called[i]:
            continue
        later = _later(block, calls, below, i, groups, source)
        passed = tuple(name for name in relation.schema.names if name.lower() in later)
        rows, text = with_inner_references(clause, relation, source, below.alias)
        part = _window(clause, calls.called[i], passed, rows, with_padded_literals(clause, rows, text), options)
        relation = _over(part.query, below, relation, last=not any(calls.called[i + 1 :]))
        parts.append(part)
    query = _above(block, calls, below, relation, source)
    return query, [replace(part, query=query) for part in parts]


def _window(
    clause: MatchRecognizeClause,
    called: tuple[Called, ...],
    passed: tuple[str, ...],
    relation: Relation,
    source: Source,
    options: Options,
) -> RewrittenClause:
    """One window over ``relation``."""
    bound = bind_window(clause, called, passed, relation, source)
    spec = row_pattern_spec(bound)
    query = row_pattern_query(bound, spec, options.checked_function_of(spec, clause.site))
    return RewrittenClause(clause, bound, spec, query, notices(clause))


def _not_counted(block: WindowBlock) -> CepUnsupportedError:
    """EXPLAIN ANALYZE PATTERN and time lines are about clauses in FROM."""
    return CepUnsupportedError(
        "EXPLAIN ANALYZE PATTERN of a window with a pattern",
        code="WINDOW_ANALYZE",
        span=block.windows[0].site.keyword,
        hint="EXPLAIN PATTERN shows how it is understood; MATCH_RECOGNIZE with the same pattern can be counted",
    )


def _over(query: str, below: Below, relation: Relation, *, last: bool) -> Relation:
    """The result of one window as the input of the next."""
    text = f"{query} AS {quoted(below.alias)}"
    return replace(relation, text=text, schema=relation.schema if last else relation.describe(f"SELECT * FROM {text}"))


def _is_readable(rows: BlockRows, text: str) -> bool:
    try:
        rows.fields([text])
    except PySparkException:
        return False
    return True


def _calls(
    block: WindowBlock, clauses: tuple[MatchRecognizeClause, ...], groups: Groups | None, source: Source
) -> _Calls:
    columns: dict[tuple[int, str], str] = {}
    called: list[list[Called]] = [[] for _ in clauses]
    ranks: dict[str, str] = {}
    edits: list[Edit] = []
    for call in chain(*(item.calls for item in block.items), block.outer_calls):
        text = source.text(call.call)
        if _function(text) in IGNORES_FRAMES and "(" in text:
            whole = groups.source.text(call.call) if groups else text
            rank = _over_partition(whole, clauses[call.window], groups.below if groups else source.text)
            column = ranks.setdefault(rank, f"__cep_f{len(ranks)}")
        else:
            key = call.window, text
            if key not in columns:
                columns[key] = f"__cep_w{len(columns)}"
                expr = parse_expression(source.sql, call.call)
                called[call.window].append(Called(groups.named(expr) if groups else expr, columns[key]))
            column = columns[key]
        edits.append((call.span, quoted(column)))
    return _Calls(tuple(edits), tuple(map(tuple, called)), tuple(ranks.items()))


def _function(text: str) -> str:
    return text.split("(")[0].strip().strip("`").lower()


def _over_partition(call: str, clause: MatchRecognizeClause, read: Callable[[Span], str]) -> str:
    """A function of the row's place: the window without its pattern."""
    keys = ", ".join(read(item.expr.span) for item in clause.partition_by)
    order = ", ".join(
        f"{read(item.expr.span)}{read(Span(item.expr.span.end, item.span.end))}" for item in clause.order_by
    )
    parts = [f"PARTITION BY {keys}" if keys else "", f"ORDER BY {order}" if order else ""]
    return f"{call} OVER ({' '.join(filter(None, parts))})"


def _later(
    block: WindowBlock, calls: _Calls, below: Below, done: int, groups: Groups | None, source: Source
) -> set[str]:
    """The columns, in lower case, that are read behind window ``done``: above, or by windows to come."""
    spans = [item.span for item in block.items if item.calls or item.span in below.above]
    spans += [span for span in (block.qualify, *block.tail) if span is not None]
    names = {column for span, column in groups.places.items()} if groups else set()
    for i, window in enumerate(block.windows):
        if i > done and calls.called[i]:
            spans += [window.site.body, *(section.span for section in window.base.values())]
            spans += [each.expr.span for each in calls.called[i]]
    names |= {word for span in spans for word in words_in(source.sql, span)}
    names |= {name for columns in below.items.values() for name, _ in columns}
    names |= {column for _, column in calls.ranks} | set(below.qualified)
    names |= {each.column for before in calls.called[: done + 1] for each in before}
    return {name.lower() for name in names}


def _above(block: WindowBlock, calls: _Calls, below: Below, relation: Relation, source: Source) -> str:
    """The select list over the windows' results. Spark's complaints of it are raised at the item."""
    texts = [_item(item, calls, below, source) for item in block.items]
    try:
        relation.describe(f"SELECT {', '.join(texts)} FROM {relation.text}")
    except PySparkException:
        for i, item in enumerate(block.items):
            _check(relation, texts[: i + 1], item)
    tail = "".join(f" {source.splice(span, calls.edits)}" for span in block.tail)
    where = "" if block.qualify is None else f" WHERE {_qualified(block, calls, below, relation, source)}"
    return f"SELECT {below.quantifier}{', '.join(texts)} FROM {relation.text}{where}{tail}"


def _qualified(block: WindowBlock, calls: _Calls, below: Below, relation: Relation, source: Source) -> str:
    """QUALIFY as a condition on the windows' results; names of the select list stand for its expressions."""
    assert block.qualify is not None
    tokens = tokenize(source.sql).inside(block.qualify)
    inside = [call.span for call in block.outer_calls]
    over = [t for t in tokens if t.key == "OVER" and not any(s.start <= t.span.start < s.end for s in inside)]
    if over:
        raise CepUnsupportedError(
            "another window in QUALIFY beside a window with a pattern",
            code="WINDOW_BLOCK",
            span=over[0].span,
            hint="select it by a name, and QUALIFY by the name",
        )
    named = {item.alias.value.lower(): item for item in block.items if item.alias is not None}
    edits = list(calls.edits)
    for i, token in enumerate(tokens):
        beside = {tokens[i - 1].key if i else "", tokens[i + 1].key if i + 1 < len(tokens) else ""}
        item = named.get(token.text.lower()) if token.is_name and not beside & {".", "("} else None
        if item is not None and (item.calls or relation.column(token.text) is None):
            found = below.items.get(item.span)
            text = quoted(found[0][0]) if found else source.splice(item.expr, calls.edits)
            edits.append((token.span, f"({text})"))
    text = source.splice(block.qualify, edits)
    try:
        relation.describe(f"SELECT 1 FROM {relation.text} WHERE {text}")
    except PySparkException as error:
        raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=block.qualify) from None
    return f"({text}\n)"


def _check(relation: Relation, texts: list[str], item: Item) -> None:
    """The last of ``texts`` must be something that Spark can read behind those before."""
    try:
        relation.describe(f"SELECT {', '.join(texts)} FROM {relation.text}")
    except PySparkException as error:
        raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=item.expr) from None


def _item(item: Item, calls: _Calls, below: Below, source: Source) -> str:
    if item.span in below.items:
        return ", ".join(f"{quoted(column)} AS {quoted(name)}" for column, name in below.items[item.span])
    if not item.calls or item.alias is not None:
        return source.splice(item.span, calls.edits)
    return f"{source.splice(item.span, calls.edits)} AS {quoted(_title(item, source))}"


def _title(item: Item, source: Source) -> str:
    """The name of a column without alias: a measure's own, else the text of the call."""
    call: Call = item.calls[0]
    text = source.text(item.span)
    if call.span == item.span:
        name = measure_name(parse_expression(source.sql, call.call))
        text = name.value if name is not None else text
    return " ".join(text.split())
