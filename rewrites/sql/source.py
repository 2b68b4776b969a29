"""The statement's text with the edits made so far; expressions are spliced from it, never regenerated.

>>> Source("SELECT A.x + 1").splice(Span(7, 14), [(Span(7, 10), "x")])
'x + 1'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from rewrites.dialect import span_of
from sparkcep.errors import Span

Edit = tuple[Span, str]


@dataclass(frozen=True, slots=True)
class Source:
    """``sql`` and the edits that apply wherever the text is used: rewritten inner clauses, named parameter markers.

    ``inner``: edits of columns in subqueries and lambdas that are those of the clause's rows (``bind.inner_references``).
    """

    sql: str
    edits: tuple[Edit, ...] = ()
    inner: tuple[Edit, ...] = ()

    def with_edit(self, span: Span, text: str) -> Source:
        """The same text with one more edit; edits inside ``span`` are covered by it."""
        return replace(self, edits=(*self.edits, (span, text)))

    def with_edits(self, edits: Iterable[Edit]) -> Source:
        """The same text with more edits."""
        return replace(self, edits=(*self.edits, *edits))

    def text(self, span: Span) -> str:
        """The text of ``span`` with the source's own edits."""
        return self.splice(span, ())

    def column(self, span: Span) -> str:
        """The column of a row, or what is read of it, over the clause's input."""
        return self.splice(span, self.inner)

    def laid_out(self, span: Span, text: str) -> str:
        """``text`` with blank lines behind it, so that what follows ``span`` keeps its line and its column, which Spark's errors name."""
        lines = self.sql.count("\n", span.start, span.end) - text.count("\n")
        return text + "\n" * lines + " " * (span.end - self.sql.rfind("\n", 0, span.end) - 1) if lines > 0 else text

    def splice(self, span: Span, edits: Iterable[Edit]) -> str:
        """The text of ``span`` with ``edits`` on top of the source's own; of overlapping edits the widest wins."""
        inside = [edit for edit in (*edits, *self.edits) if span.start <= edit[0].start and edit[0].end <= span.end]
        parts, position = [], span.start
        for place, text in sorted(inside, key=lambda edit: (edit[0].start, -edit[0].end)):
            if place.start < position:
                continue
            parts += [self.sql[position : place.start], text]
            position = place.end
        return "".join([*parts, self.sql[position : span.end]])


def replaced(node: exp.Expression, replacement: Callable[[exp.Expression], str | None]) -> Iterator[Edit]:
    """Edits for the outermost nodes for which ``replacement`` returns a text; names bound by a lambda are left alone."""
    text = replacement(node)
    if text is not None:
        yield span_of(node), text
        return
    for child in node.iter_expressions():
        yield from replaced(child, replacement)


def lambda_names(node: exp.Expression) -> frozenset[str]:
    """Parameter names of all lambdas around ``node``, in lower case."""
    names: set[str] = set()
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda):
            names.update(parameter.name.lower() for parameter in parent.expressions)
        parent = parent.parent
    return frozenset(names)


def table_names(node: exp.Expression) -> frozenset[str]:
    """Names of the tables of all queries around ``node``, in lower case."""
    names: set[str] = set()
    query = node.find_ancestor(exp.Select)
    while query is not None:
        tables = query.find_all(exp.Table, exp.Subquery, exp.Lateral)
        names.update(table.alias_or_name.lower() for table in tables if table.parent_select is query)
        query = query.find_ancestor(exp.Select)
    return frozenset(names)
