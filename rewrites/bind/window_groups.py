"""GROUP BY in a block with windows: windows see the groups.

``SELECT sym, max(sum(price)) OVER w FROM t GROUP BY sym, day(ts) HAVING … WINDOW w AS (PARTITION BY sym ORDER BY day(ts) …)``: the grouping
expressions and the aggregates become columns of the windows' input, and are named where the select list, QUALIFY, ORDER BY and the windows'
PARTITION BY and ORDER BY read them. In MEASURES and DEFINE an aggregate is one over the match.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rewrites.bind.aggregates import SPARK_AGGREGATES
from rewrites.dialect import column_at, span_of
from rewrites.dialect.clause import Expr, MatchRecognizeClause
from rewrites.dialect.tokens import Token, tokenize
from rewrites.dialect.window_blocks import WindowBlock
from rewrites.sql.builder import quoted
from rewrites.sql.source import Edit, Source
from sparkcep.errors import CepUnsupportedError, Span

_SETS = {"ALL", "ROLLUP", "CUBE", "GROUPING", "WITH"}


@dataclass(frozen=True, slots=True)
class Groups:
    """``tail``: GROUP BY; ``columns``: (SQL in the grouped query, name); ``places``: where these are read, with their names; ``source``: the text
    of what is computed in the grouped query, ``aliases``: there the expressions that GROUP BY names by aliases.
    """

    tail: str
    columns: tuple[tuple[str, str], ...]
    places: dict[Span, str]
    source: Source
    aliases: dict[str, str]

    def below(self, span: Span) -> str:
        """What stands at ``span`` as the grouped query reads it."""
        text = self.source.text(span)
        return self.aliases.get(text.lower(), text)

    def edits(self) -> list[Edit]:
        """The names in the places."""
        return [(span, quoted(name)) for span, name in self.places.items()]

    def named(self, expr: Expr) -> Expr:
        """An expression whose text the edits change, as a tree."""
        if expr.span in self.places:
            return Expr(column_at(self.places[expr.span], expr.span), expr.span)
        for part in list(expr.node.walk()):
            if part.parent is not None and span_of(part) in self.places:
                part.replace(column_at(self.places[span_of(part)], span_of(part)))
        return expr

    def clause(self, clause: MatchRecognizeClause) -> MatchRecognizeClause:
        """A window over the groups."""
        keys = tuple(replace(item, expr=self.named(item.expr)) for item in clause.partition_by)
        order = tuple(replace(item, expr=self.named(item.expr)) for item in clause.order_by)
        return replace(clause, partition_by=keys, order_by=order)


def window_groups(
    block: WindowBlock,
    clauses: tuple[MatchRecognizeClause, ...],
    source: Source,
    is_readable: Callable[[str], bool],
) -> Groups | None:
    """The groups of a block, None if it has none. ``is_readable``: whether Spark can read an expression over FROM and WHERE."""
    if not block.groups:
        return None
    spans = [_resolved(span, block, source, is_readable) for span in block.groups]
    texts = [source.text(span) for span in spans]
    aliases = {
        source.text(item).lower(): text
        for item, span, text in zip(block.groups, spans, texts, strict=True)
        if item != span and tokenize(source.sql).inside(item)[0].is_name
    }
    columns: dict[str, str] = {}
    for i, (item, span, text) in enumerate(zip(block.groups, spans, texts, strict=True)):
        alias = source.text(item) if source.text(item).lower() in aliases else None
        columns[text] = alias or _name(source.sql, span) or f"__cep_g{i}"
    known = [
        ([t.text.lower() for t in tokenize(source.sql).inside(span)], columns[source.text(span)]) for span in spans
    ]
    computed = [(words, name) for words, name in known if len(words) > 1]
    places: dict[Span, str] = {}
    for span in _read(block, clauses):
        inline = [window.site.span for window in block.windows if span.start <= window.site.span.start < span.end]
        for place, name in _places(tokenize(source.sql).inside(span), computed):
            if not any(window.start <= place.start < window.end for window in inline):
                places[place] = name or columns.setdefault(source.text(place), f"__cep_g{len(columns)}")
    return Groups(f"GROUP BY {', '.join(texts)}", tuple(columns.items()), places, source, aliases)


def _resolved(span: Span, block: WindowBlock, source: Source, is_readable: Callable[[str], bool]) -> Span:
    """An item of GROUP BY; for a number or an alias the item of the select list."""
    tokens = tokenize(source.sql).inside(span)
    if tokens[0].key in _SETS or (len(tokens) > 1 and tokens[-2].key == "WITH"):
        raise CepUnsupportedError(
            f"GROUP BY {tokens[0].key if tokens[0].key in _SETS else 'WITH ' + tokens[-1].key} beside a window with a pattern",
            code="WINDOW_BLOCK",
            span=span,
            hint="group in a subquery, and put the window over it: SELECT … FROM (SELECT … GROUP BY …) WINDOW …",
        )
    if len(tokens) > 1:
        return span
    if tokens[0].kind == "number" and tokens[0].text.isdigit() and 0 < int(tokens[0].text) <= len(block.items):
        return block.items[int(tokens[0].text) - 1].expr
    if not tokens[0].is_name or is_readable(source.text(span)):
        return span
    named = (item for item in block.items if item.alias and item.alias.value.lower() == tokens[0].text.lower())
    return next((item.expr for item in named), span)


def _name(sql: str, span: Span) -> str | None:
    """The name of a grouping expression that is a column: ``sym``, ``t.sym``."""
    tokens = tokenize(sql).inside(span)
    names, dots = tokens[::2], tokens[1::2]
    is_column = all(token.is_name for token in names) and all(token.key == "." for token in dots) and len(tokens) % 2
    return names[-1].text if is_column else None


def _read(block: WindowBlock, clauses: tuple[MatchRecognizeClause, ...]) -> list[Span]:
    """The places that read groups and aggregates above, or in windows."""
    items = [item.expr for item in block.items if item.calls]
    outer = [span for span in (block.qualify, *block.tail) if span is not None]
    keys = [item.expr.span for clause in clauses for item in clause.partition_by]
    order = [item.expr.span for clause in clauses for item in clause.order_by]
    return [*items, *outer, *keys, *order]


def _places(tokens: tuple[Token, ...], known: list[tuple[list[str], str]]) -> list[tuple[Span, str | None]]:
    """Grouping expressions, with their names, and calls of aggregates, outermost first."""
    found: list[tuple[Span, str | None]] = []
    words, i = [token.text.lower() for token in tokens], 0
    while i < len(tokens):
        group = next((g for g in known if words[i : i + len(g[0])] == g[0]), None)
        end = i + len(group[0]) if group else _call_end(tokens, i)
        if end is not None:
            found.append((tokens[i].span.to(tokens[end - 1].span), group[1] if group else None))
        i = end or i + 1
    return found


def _call_end(tokens: tuple[Token, ...], i: int) -> int | None:
    """The item behind the aggregate that begins at item ``i``: ``sum(x) [FILTER (…)]``, not over a window."""
    keys = [token.key for token in tokens]
    if not tokens[i].is_name or tokens[i].text.lower() not in SPARK_AGGREGATES or keys[i + 1 : i + 2] != ["("]:
        return None
    end = _closing(keys, i + 1)
    if keys[end : end + 3] == ["WITHIN", "GROUP", "("]:
        end = _closing(keys, end + 2)
    if keys[end : end + 2] == ["FILTER", "("]:
        end = _closing(keys, end + 1)
    if keys[end + 1 : end + 2] == ["NULLS"]:
        end += 2
    return None if keys[end : end + 1] == ["OVER"] or (i and keys[i - 1] == ".") else end


def _closing(keys: list[str], opening: int) -> int:
    """The item behind the parenthesis that closes the one at ``opening``."""
    depth = 0
    for i in range(opening, len(keys)):
        depth += (keys[i] == "(") - (keys[i] == ")")
        if depth == 0:
            return i + 1
    return len(keys)
