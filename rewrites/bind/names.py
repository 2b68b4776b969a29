"""Pattern variables, SUBSETs, and references to them: which row an expression reads. Names are case-insensitive, like Spark's identifiers; results
use the spelling of the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from rewrites.bind.aggregates import is_bare_count
from rewrites.bind.closures import kleene_path
from rewrites.bind.relation import Relation, suggestion
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Clause, Expr, MatchAutomatonClause, MatchPatternClause, Name
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber, Navigation, Semantics
from rewrites.sql.source import Source, lambda_names, replaced, table_names
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern import event, row
from sparkcep.spec.expression import Place


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of a clause: primary ones, and SUBSETs with their members."""

    primary: tuple[str, ...]
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def members(self, name: str) -> tuple[str, ...] | None:
        """The primary variables that a name stands for; None if it is not a variable."""
        key = name.lower()
        for variable in self.primary:
            if variable.lower() == key:
                return (variable,)
        return next((members for subset, members in self.subsets.items() if subset.lower() == key), None)

    def require(self, name: Name) -> tuple[str, ...]:
        """Like ``members``, but an unknown name is an error with a suggestion."""
        members = self.members(name.value)
        if members is None:
            raise CepAnalysisError(
                f"the pattern has no variable {name.value}",
                code="UNKNOWN_VARIABLE",
                span=name.span,
                hint=suggestion(name.value, [*self.primary, *self.subsets]),
            )
        return members


def variable_names(clause: Clause) -> set[str]:
    """The variables and SUBSETs of a clause, in lower case."""
    if isinstance(clause, MatchAutomatonClause):
        return set()
    if isinstance(clause, MatchPatternClause):
        return {e.variable.lower() for _, tree, _ in clause.patterns for e in event.every_element(tree)}
    return {name.lower() for name in (*row.variables(clause.pattern), *(each.name.value for each in clause.subsets))}


@dataclass(frozen=True, slots=True)
class Reference:
    """``A.price.cents``: the variable's members, the column, and the span of what follows the variable.

    ``indexed``: it has the form ``b[i].price``; ``place``: which event of the closure (None: another index, or ``b[..i-1]``).
    """

    members: tuple[str, ...]
    column: Name
    rest: Span
    tail: Span | None
    span: Span
    indexed: bool = False
    place: Place | None = None


def reference(node: exp.Expression, variables: Variables) -> Reference | None:
    """The reference to a pattern variable's column that ``node`` is, if it is one."""
    path, place = column_path(node), None
    indexed = kleene_path(node) if path is None else None
    if indexed is not None:
        path, place, _ = indexed
    if path is None or len(path) < 2:
        return None
    members = variables.members(path[0].value)
    if members is None or path[0].value.lower() in lambda_names(node) | table_names(node):
        return None
    span = span_of(node)
    tail = Span(path[1].span.end, span.end) if len(path) > 2 else None
    rest = Span(path[1].span.start, span.end)
    return Reference(members, path[1], rest, tail, span, indexed is not None, place)


def references(node: exp.Expression, variables: Variables) -> list[Reference]:
    """All references to pattern variables in ``node``, left to right."""
    found = reference(node, variables)
    if found is not None:
        return [found]
    return [ref for child in node.iter_expressions() for ref in references(child, variables)]


def starred(node: exp.Expression) -> exp.Expression | None:
    """The name before ``.*`` in ``a.*``."""
    is_star = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    return node.args.get("table") if is_star else None


def is_star(node: exp.Expression) -> bool:
    """Whether ``node`` is ``*`` or ``a.*``."""
    return isinstance(node, exp.Star) or starred(node) is not None


def require_known(path: tuple[Name, ...] | None, variables: Variables, relation: Relation) -> None:
    """Check that in ``x.price`` x is a variable, a struct column, or the ``session`` of a session variable; anything else is an error at x."""
    if path is None or len(path) == 1 or relation.column(path[0].value):
        return
    if not is_of_session(path):
        variables.require(path[0])


def is_of_session(path: Sequence[Name]) -> bool:
    """Whether ``session.x`` or ``system.session.x`` is a session variable, if nothing nearer has the name."""
    return [name.value.lower() for name in path[:-1]] in (["session"], ["system", "session"])


def require_all_known(node: exp.Expression, variables: Variables, relation: Relation) -> None:
    """``require_known`` of all names in ``node``; inside a subquery or a lambda they may be anything."""
    for part in outside_queries(node):
        if not part.find_ancestor(exp.Lambda):
            require_known(column_path(part), variables, relation)


def row_text(expr: Expr | exp.Expression, variables: Variables, source: Source) -> str:
    """An expression over one row, with the variable qualifiers removed (``upper(A.name)`` → ``upper(name)``)."""
    node = expr.node if isinstance(expr, Expr) else expr

    def column(part: exp.Expression) -> str | None:
        found = reference(part, variables)
        return None if found is None else source.column(found.rest)

    return source.splice(span_of(node), replaced(node, column))


def input_text(node: exp.Expression, variables: Variables, source: Source) -> str:
    """An expression as SQL over the input, for Spark to check: as ``row_text``, with constants for what only an engine knows."""

    def part(inner: exp.Expression) -> str | None:
        if isinstance(inner, Classifier):
            return "''"
        if isinstance(inner, MatchNumber | MatchSequenceNumber):
            return "1L"
        if isinstance(inner, Navigation | Semantics):
            return f"({input_text(inner.this, variables, source)})"
        if is_bare_count(inner):
            return "count(*)"
        if starred(inner) is not None:
            return "*"
        found = reference(inner, variables)
        return None if found is None else source.column(found.rest)

    return source.splice(span_of(node), replaced(node, part))


def has_query(node: exp.Expression) -> bool:
    """Whether ``node`` contains a subquery."""
    return any(isinstance(part, exp.Query) or is_exists(part) for part in node.walk())


def is_early(node: exp.Expression) -> bool:
    """Whether a subquery or a window function stands anywhere in ``node``: it is computed before the clause's own windows."""
    return has_query(node) or node.find(exp.Window) is not None


def outside_queries(node: exp.Expression) -> Iterator[exp.Expression]:
    """``node`` and its descendants, except those inside a subquery or a window function."""
    yield from node.walk(prune=lambda part: isinstance(part, exp.Query | exp.Window))


def is_exists(node: exp.Expression) -> bool:
    """``EXISTS (SELECT …)``, not the function of an array and a lambda."""
    return isinstance(node, exp.Exists) and not isinstance(node.args.get("expression"), exp.Lambda)


def same_name(names: Iterable[Name], what: str) -> None:
    """Raise at the second of two equal names."""
    seen: set[str] = set()
    for name in names:
        if name.value.lower() in seen:
            raise CepAnalysisError(
                f"{what} {name.value} occurs twice",
                code="DUPLICATE_NAME",
                span=name.span,
                hint="leave one of them out, or give it another name",
            )
        seen.add(name.value.lower())
