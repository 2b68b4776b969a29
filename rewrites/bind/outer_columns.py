"""Where a clause and its input name columns of the queries around: there they become columns of the clause's input.

In: a clause, whose syntax trees are changed, and the table of outer values, which learns what is read. A reference in an aggregate or a navigation
over a variable's rows becomes a column of that variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.bind.aggregates import is_aggregate
from rewrites.bind.closures import kleene_path
from rewrites.bind.names import variable_names
from rewrites.bind.outer_values import OuterValues
from rewrites.dialect import column_path, set_span, span_of
from rewrites.dialect.clause import Clause, MatchAutomatonClause, MatchPatternClause, Name
from rewrites.dialect.nodes import KleeneRef, Navigation
from rewrites.dialect.tokens import tokenize
from rewrites.sql.source import Edit, lambda_names, table_names
from sparkcep.errors import Span
from sparkcep.pattern import event


def input_references(clause: Clause, values: OuterValues) -> Iterator[Edit]:
    """The references in the clause's input, with what is read instead."""
    tokens = tokenize(values.source.sql).inside(clause.site.input)
    keys = [token.key for token in tokens]
    tables = {t.text.lower() for i, t in enumerate(tokens) if t.is_name and keys[i + 1 : i + 2] != ["."]}
    i = 0
    while i < len(tokens):
        end = i
        while tokens[i].is_name and keys[end + 1 : end + 2] == ["."] and tokens[end + 2].is_name:
            end += 2
        path = tuple(token.name for token in tokens[i : end + 1 : 2])
        if len(path) > 1 and path[0].value.lower() not in tables:
            text = values.edit(path)
            if text is not None:
                yield path[0].span.to(path[-1].span), text
        i = end + 1


def clause_references(clause: Clause, values: OuterValues, columns: set[str]) -> bool:
    """Whether the clause has references outside of what Spark computes: they are replaced. ``columns``: the input's, in lower case."""
    known = columns | variable_names(clause)
    found = False
    for root in read_by_engines(clause):
        for part in [part for part in root.walk() if isinstance(part, exp.Column)]:
            path = column_path(part)
            if path is None or len(path) < 2 or path[0].value.lower() in known | lambda_names(part) | table_names(part):
                continue
            column = values.column(path)
            if column is not None:
                found = True
                _become(part, column, _neighbour(part, clause))
    return found


def read_by_engines(clause: Clause) -> Iterator[exp.Expression]:
    """Conditions, values of registers, and of measures the navigations and aggregates."""
    if isinstance(clause, MatchAutomatonClause):
        yield from (arc.condition.node for arc in clause.arcs if arc.condition is not None)
        yield from (assignment.value.node for arc in clause.arcs for assignment in arc.sets)
        return
    conditions = clause.conjuncts if isinstance(clause, MatchPatternClause) else (d.condition for d in clause.defines)
    yield from (condition.node for condition in conditions)
    for measure in clause.measures:
        outermost = measure.expr.node.walk(prune=_is_over_rows)
        yield from (part for part in outermost if _is_over_rows(part))


def _is_over_rows(node: exp.Expression) -> bool:
    return isinstance(node, Navigation) or is_aggregate(node)


def _neighbour(part: exp.Expression, clause: Clause) -> exp.Expression | None:
    """A reference to the row that a column beside it is of; None: the current row, or all rows."""
    if part.find_ancestor(exp.Query) is not None or isinstance(clause, MatchAutomatonClause):
        return None
    variables, scope = variable_names(clause), part.parent
    while scope is not None:
        if _is_over_rows(scope) or (scope.parent is None and isinstance(clause, MatchPatternClause)):
            beside = [other for other in scope.walk() if _head(other) in variables]
            apart = [other for other in beside if _is_over_rows(scope) or not _is_aggregated(other)]
            if apart:
                return min(apart, key=lambda other: not isinstance(other, exp.Column))
            if beside:
                return _event_of(_head(beside[0]) or "", clause)
        scope = scope.parent
    if isinstance(clause, MatchPatternClause):
        return _event_of(event.elements(clause.patterns[0][1])[0].variable, clause)
    return None


def _is_aggregated(node: exp.Expression) -> bool:
    """Whether it stands inside an aggregate or a navigation."""
    return any(_is_over_rows(above) for above in _above(node))


def _above(node: exp.Expression) -> Iterator[exp.Expression]:
    while node.parent is not None:
        node = node.parent
        yield node


def _event_of(variable: str, clause: Clause) -> exp.Expression:
    """A reference to an event that the variable takes: of a closure the first."""
    assert isinstance(clause, MatchPatternClause)
    kleene = {one.variable.lower() for one in event.elements(clause.patterns[0][1]) if one.kleene}
    if variable.lower() not in kleene:
        return exp.column("", table=variable)
    return exp.Dot(
        this=KleeneRef(this=exp.to_identifier(variable), index=1, offset=0), expression=exp.to_identifier("")
    )


def _head(node: exp.Expression) -> str | None:
    path: tuple[Name, ...] | None = column_path(node)
    if path is None and (indexed := kleene_path(node)) is not None:
        path = indexed[0]
    return path[0].value.lower() if path is not None and len(path) > 1 else None


def _become(part: exp.Column, column: str, beside: exp.Expression | None) -> None:
    """Make a reference a column of the input: of the row that ``beside`` is of."""
    place: Span = span_of(part)
    name = exp.to_identifier(column, quoted=True)
    if isinstance(beside, exp.Dot):
        other = beside.copy()
        other.set("expression", name)
        part.replace(other)
    else:
        table = beside.args["table"].copy() if isinstance(beside, exp.Column) else None
        for key, value in {"this": name, "table": table, "db": None, "catalog": None}.items():
            part.set(key, value)
        other = part
    for inner in other.walk():
        set_span(inner, place)
