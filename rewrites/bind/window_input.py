"""The input of a block's windows: FROM and WHERE, with what the select list computes without a window of ours.

``SELECT upper(t.a), n OVER w FROM t JOIN u …`` → ``(SELECT *, upper(t.a), named_struct('b', u.b) FROM t JOIN u …) AS `t`(a, b, …, `__cep_s0`, u)``:
in the block's own scope. Columns keep their names, where those are unique; a qualified name is a struct's field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from pyspark.errors import PySparkException
from pyspark.sql.types import StructField, StructType

from rewrites.bind.ambiguous import refuse_two_readings
from rewrites.bind.relation import (
    Describe,
    InputError,
    Relation,
    in_scope,
    is_stream,
    no_stream,
    refuse_reserved,
    spark_message,
)
from rewrites.bind.window_groups import Groups
from rewrites.dialect.clause import MatchRecognizeClause, Name
from rewrites.dialect.outer_queries import outer_names
from rewrites.dialect.table_refs import table_name
from rewrites.dialect.tokens import Token, tokenize
from rewrites.dialect.window_blocks import Item, WindowBlock
from rewrites.sql.builder import quoted, string
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.pattern.row import variables

_GENERATORS = {
    "explode",
    "explode_outer",
    "posexplode",
    "posexplode_outer",
    "inline",
    "inline_outer",
    "stack",
    "json_tuple",
}
_HINT = re.compile(r"/\*\+.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Below:
    """``relation``: the windows' input, under the name ``alias``. ``items``: for an item that is computed there, its columns there as (column,
    the result's name); ``above``: items without a window that are not. ``qualified``: structs of columns by table. ``quantifier``: DISTINCT.
    """

    relation: Relation
    alias: str
    items: dict[Span, tuple[tuple[str, str], ...]]
    above: frozenset[Span]
    qualified: tuple[str, ...]
    quantifier: str


@dataclass(slots=True)
class _Columns:
    """Select items below, with the columns that each makes: (name there, name and type by Spark)."""

    texts: list[str] = field(default_factory=list)
    fields: list[tuple[str, StructField]] = field(default_factory=list)

    def add(self, text: str, found: list[StructField], names: list[str]) -> None:
        """One more item."""
        self.texts.append(text)
        self.fields += zip(names, found, strict=True)


@dataclass(frozen=True, slots=True)
class BlockRows:
    """Queries over the block's FROM and WHERE. ``head``: hints; ``tail``: behind the select list; ``windows``: WINDOW, of those without patterns."""

    head: str
    tail: str
    windows: str
    describe: Describe

    def query(self, items: list[str]) -> str:
        """``SELECT items FROM … WHERE … WINDOW …``."""
        return f"SELECT {self.head}{', '.join(items)} {self.tail}{self.windows}"

    def fields(self, items: list[str]) -> list[StructField]:
        """The columns of ``items``, by Spark's analysis."""
        return list(self.describe(self.query(items)))


def window_input(
    block: WindowBlock,
    clauses: tuple[MatchRecognizeClause, ...],
    ranks: tuple[tuple[str, str], ...],
    groups: Groups | None,
    source: Source,
    describe: Describe,
) -> Below:
    """The input of the block's windows. ``ranks``: (SQL, column) to compute too. Raises InputError where Spark cannot read it."""
    scope, columns = _rows(block, groups, source, describe)
    if groups is None:
        refuse_reserved([each.name for _, each in columns.fields], block.rows)
        schema = StructType([each for _, each in columns.fields])
        refuse_two_readings(table_name(source.sql, block.rows), schema, source.sql, block.span)
    items: dict[Span, tuple[tuple[str, str], ...]] = {}
    shown = [(name, each.name) for name, each in columns.fields]
    above = set()
    for item in block.items:
        if item.calls:
            continue
        if _key(source.sql, item.span) == "*" and not item.alias:
            items[item.span] = tuple(shown)
        elif _is_name(source.sql, item, shown) or not (
            found := _computed(item, scope, source, columns, items, grouped=groups is not None)
        ):
            above.add(item.span)
        else:
            items[item.span] = found
    for text, name in ranks:
        columns.add(text, _analysed(scope, text, block), [name])
    qualified = _qualified(block, clauses, columns, scope, source)
    alias = table_name(source.sql, block.rows) or "__cep_in"
    names = ", ".join(quoted(name) for name, _ in columns.fields)
    if block.having is not None:
        scope = _having(block.having, scope, columns, source)
    text = f"({scope.query(columns.texts)}) AS {quoted(alias)}({names})"
    schema = StructType([StructField(name, each.dataType) for name, each in columns.fields])
    expression, resources, zone = (getattr(describe, name, None) for name in ("expression", "resources", "zone"))
    wrap = partial(in_scope, site=block.site, source=source)
    quantifier = "DISTINCT " if "DISTINCT" in words_in(source.sql, block.lead, upper=True) else ""
    return Below(
        Relation(text, schema, scope.describe, wrap, expression, resources, zone=zone),
        alias,
        items,
        frozenset(above),
        qualified,
        quantifier,
    )


def _rows(block: WindowBlock, groups: Groups | None, source: Source, describe: Describe) -> tuple[BlockRows, _Columns]:
    """The rows that windows see, with the columns that they have by themselves: all, or those of the groups."""
    scope, columns = block_rows(block, source, describe), _Columns()
    whole = in_scope(scope.query(["*"]), block.site, source)
    try:
        star = scope.fields(["*"])
    except PySparkException as error:
        if "UNRESOLVED_COLUMN" in (error.getCondition() or "") and outer_names(source.sql, block.site):
            raise _correlated(block) from None
        raise InputError(whole, error) from None
    if is_stream(describe, whole):
        raise no_stream("a pattern in a window", block.site.input)
    if groups is None:
        columns.add("*", star, _unique([each.name for each in star]))
        return scope, columns
    scope = replace(scope, tail=f"{scope.tail}{groups.tail}\n")
    for text, name in groups.columns:
        columns.add(text, _analysed(scope, text, block), [name])
    return scope, columns


def _having(having: Span, scope: BlockRows, columns: _Columns, source: Source) -> BlockRows:
    """The groups that windows see."""
    scope = replace(scope, tail=f"{scope.tail}HAVING {source.text(having)}\n")
    try:
        scope.fields(columns.texts)
    except PySparkException as error:
        raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=having) from None
    return scope


def _correlated(block: WindowBlock) -> CepUnsupportedError:
    return CepUnsupportedError(
        "a window with a pattern in a correlated subquery",
        code="LATERAL",
        span=block.windows[0].site.keyword,
        hint="join the two inputs first and put the window over the result",
    )


def words_in(sql: str, span: Span, *, upper: bool = False) -> set[str]:
    """The words and quoted names of a piece of text: those that may be columns, and others."""
    found = (token.text for token in tokenize(sql).inside(span) if token.is_name)
    return {text.upper() if upper else text.lower() for text in found}


def block_rows(block: WindowBlock, source: Source, describe: Describe) -> BlockRows:
    """FROM and WHERE of the block."""
    hint = _HINT.search(source.sql, block.lead.start, block.lead.end)
    where = "" if block.where is None else f"\nWHERE {source.text(block.where)}"
    plain = ", ".join(source.text(span) for span in block.plain)
    tail, windows = f"FROM {source.text(block.rows)}{where}\n", f"WINDOW {plain}\n" if plain else ""
    scoped = lru_cache(lambda query: describe(in_scope(query, block.site, source)))
    return BlockRows(f"{hint.group()} " if hint else "", tail, windows, scoped)


def _unique(names: list[str]) -> list[str]:
    """Names that several columns have are replaced: to write one of them is ambiguous."""
    lower = [name.lower() for name in names]
    return [name if lower.count(name.lower()) == 1 else f"__cep_d{i}" for i, name in enumerate(names)]


def _key(sql: str, span: Span) -> str:
    tokens = tokenize(sql).inside(span)
    return tokens[0].key if len(tokens) == 1 else ""


def _is_name(sql: str, item: Item, shown: list[tuple[str, str]]) -> bool:
    """A column as it is: named above as well as below."""
    tokens = tokenize(sql).inside(item.expr)
    return len(tokens) == 1 and tokens[0].is_name and tokens[0].text.lower() in {name.lower() for name, _ in shown}


def _computed(
    item: Item,
    scope: BlockRows,
    source: Source,
    columns: _Columns,
    items: dict[Span, tuple[tuple[str, str], ...]],
    *,
    grouped: bool,
) -> tuple[tuple[str, str], ...]:
    """Adds an item without a window of ours to the columns below; nothing where Spark cannot read it there (an alias of one above, say)."""
    _refuse_generators(item, source)
    text = source.text(item.span)
    try:
        known = len(columns.fields)
        found = scope.fields([*columns.texts, text])[known:]
    except PySparkException:
        return ()
    names = [f"__cep_s{len(items)}_{i}" for i in range(len(found))]
    taken = {name.lower() for name, _ in columns.fields}
    if grouped and item.alias is not None and item.alias.value.lower() not in taken:
        names = [item.alias.value]  # by which windows may know the value
    columns.add(text, found, names)
    return tuple((name, each.name) for name, each in zip(names, found, strict=True))


def _refuse_generators(item: Item, source: Source) -> None:
    """Windows see the rows before a generator repeats them."""
    found = sorted(words_in(source.sql, item.expr) & _GENERATORS)
    if found and "(" in source.text(item.expr):
        raise CepUnsupportedError(
            f"{found[0]} beside a window with a pattern",
            code="WINDOW_BLOCK",
            span=item.expr,
            hint="put the window into a subquery; LATERAL VIEW behind FROM repeats rows before windows see them",
        )


def _analysed(scope: BlockRows, text: str, block: WindowBlock) -> list[StructField]:
    try:
        return scope.fields([text])
    except PySparkException as error:
        raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=block.items[0].span) from None


def _qualified(
    block: WindowBlock, clauses: tuple[MatchRecognizeClause, ...], columns: _Columns, scope: BlockRows, source: Source
) -> tuple[str, ...]:
    """Adds structs for names like ``t.price`` that stand above, or in windows: behind a window, its input's tables have no names."""
    taken = {name.lower() for name, _ in columns.fields}
    wanted: dict[str, dict[str, Name]] = {}
    queries = _queries(block, source.sql)
    for table, column in _references(block, clauses, source.sql):
        if table.lower() in taken or column.value.lower() in wanted.get(table.lower(), {}):
            continue
        error = _unreadable(scope, table, column)
        if error is None:
            wanted.setdefault(table.lower(), {})[column.value.lower()] = column
        elif not any(query.start <= column.span.start < query.end for query in queries):
            raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=column.span) from None
    for table, fields in wanted.items():
        pairs = ", ".join(f"{string(name.value)}, {quoted(table)}.{quoted(name.value)}" for name in fields.values())
        text = f"named_struct({pairs})"
        columns.add(text, scope.fields([text]), [table])
    return tuple(wanted)


def _unreadable(scope: BlockRows, table: str, column: Name) -> PySparkException | None:
    try:
        scope.fields([f"{quoted(table)}.{quoted(column.value)}"])
    except PySparkException as error:
        return error
    return None


def _queries(block: WindowBlock, sql: str) -> list[Span]:
    """The subqueries of the block, whose tables have names of their own."""
    tokens = tokenize(sql)
    openings = range(tokens.index(block.span.start), tokens.index(block.span.end) - 1)
    return [
        tokens.items[i].span.to(tokens.items[tokens.partner[i]].span)
        for i in openings
        if tokens.items[i].key == "(" and tokens.items[i + 1].key in ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
    ]


def _references(block: WindowBlock, clauses: tuple[MatchRecognizeClause, ...], sql: str) -> Iterator[tuple[str, Name]]:
    """``table.column`` as written, where the windows' results are read, and in the windows, where it is of no pattern variable."""
    read = [*(item.span for item in block.items if item.calls), *block.tail]
    inline = [window.site.span for window in block.windows]
    for span in read:
        tokens = tokenize(sql).inside(span)
        yield from _dotted(tuple(token for token in tokens if not _is_in(token, inline)), set())
    for window, clause in zip(block.windows, clauses, strict=True):
        names = {name.lower() for name in variables(clause.pattern)}
        names |= {subset.name.value.lower() for subset in clause.subsets}
        for span in (window.site.body, *(part.span for part in window.base.values())):
            yield from _dotted(tokenize(sql).inside(span), names)


def _is_in(token: Token, spans: list[Span]) -> bool:
    return any(span.start <= token.span.start < span.end for span in spans)


def _dotted(tokens: tuple[Token, ...], names: set[str]) -> Iterator[tuple[str, Name]]:
    for i in range(len(tokens) - 2):
        table, dot, column = tokens[i : i + 3]
        begins = i == 0 or tokens[i - 1].key != "."
        calls = i + 3 < len(tokens) and tokens[i + 3].key == "("
        if (
            begins
            and dot.key == "."
            and table.is_name
            and column.is_name
            and not calls
            and table.text.lower() not in names
        ):
            yield table.text, column.name
