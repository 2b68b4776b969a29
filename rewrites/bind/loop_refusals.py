"""What is refused of loops of several events (``loops``), by name.

In: a clause with loops, and its input. Out: errors, where rounds cannot be put among the events or a condition asks of them what nobody can tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.bind.names import Variables, reference, references
from rewrites.bind.predicates import seen_variables
from rewrites.bind.relation import HIDDEN, RESERVED, Relation, suggestion
from rewrites.dialect.clause import Expr, MatchPatternClause
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.pattern.event import (
    EventItem,
    EventPattern,
    Loop,
    Not,
    Seq,
    children,
    elements,
    in_order,
    loops,
    may_be_empty,
    round_fields,
)
from sparkcep.spec.event import STRATEGIES


def check_loops(clause: MatchPatternClause, rows: Relation) -> None:
    """Raise CepUnsupportedError, CepAnalysisError at a loop that cannot be put among the events of ``rows``."""
    _, tree, _ = clause.patterns[0]
    sequence = in_order(tree)
    for loop in loops(tree):
        assert loop.span is not None
        if not any(item is loop for item in sequence):
            raise unsupported_loop("a loop inside AND, OR or NOT", loop.span, "a loop is an item of SEQ")
        if (negation := next(_open_negations(loop.body), None)) is not None:
            hint = "inside a round NOT stands between two events: SEQ(B b, NOT X x, C c)+"
            raise unsupported_loop("a NOT at the start or the end of a round", negation.span or loop.span, hint)
        _check_clause(clause, rows, loop.span)
        for variable in round_fields(loop):
            if variable.variable.lower().startswith(RESERVED):
                raise CepAnalysisError(
                    f"a variable {variable.variable} of a loop",
                    code="RESERVED_NAME",
                    span=variable.span,
                    hint=f"names that begin with {RESERVED} are the rewriter's: give it another name",
                )
            if rows.column(variable.variable):
                raise CepAnalysisError(
                    f"the variable {variable.variable} of a loop has the name of a column of the input",
                    code="DUPLICATE_NAME",
                    span=variable.span,
                    hint="give it another name: it is a field of the rounds",
                )


def refuse_loops(tree: EventPattern, place: str) -> None:
    """Raise CepUnsupportedError at a loop in a pattern that stands where there are none."""
    for loop in loops(tree):
        assert loop.span is not None
        raise unsupported_loop(
            f"a loop of several events in {place}", loop.span, "one MATCH PATTERN, with MEASURES, counts its matches"
        )


def _check_clause(clause: MatchPatternClause, rows: Relation, span: Span) -> None:
    """Raise at a loop in a clause that has more than rounds can be told of."""
    if clause.strategy != "any":
        what = f"a loop of several events under {STRATEGIES[clause.strategy]}"
        raise unsupported_loop(what, span, "loops are of SKIP TILL ANY MATCH")
    if clause.matches != "all" or clause.emit_changes is not None:
        hint = "leave NON OVERLAPPING, COMPRESSED and EMIT CHANGES out, and choose among the matches in a query around the clause"
        raise unsupported_loop("a loop of several events where matches are chosen", span, hint)
    if clause.within is not None and clause.within.events is not None:
        raise unsupported_loop(
            "a loop of several events WITHIN n EVENTS", span, "WITHIN a time, or a number of the ORDER BY column"
        )
    if rows.streaming or clause.sequence is not None or clause.event_key is not None:
        hint = "over a stream, put the rounds into a table, and a clause over the events and the rounds"
        raise unsupported_loop("a loop of several events over a stream", span, hint)
    if any(name.startswith(HIDDEN) for name in rows.schema.names):
        hint = "put the condition with the outer column into a query around the clause"
        raise unsupported_loop("a loop of several events in a correlated subquery", span, hint)
    if len(clause.order_by) > 1:
        raise unsupported_loop(
            "a loop of several events, ordered by more than the time", span, "ORDER BY the time alone"
        )


def unsupported_loop(what: str, span: Span, hint: str) -> CepUnsupportedError:
    return CepUnsupportedError(what, code="LOOP", span=span, hint=hint)


def _open_negations(node: EventItem) -> Iterator[Not]:
    """Negations without an event before or behind them."""
    for item in children(node):
        if isinstance(item, Not) and not (isinstance(node, Seq) and _is_between(item, node.items)):
            yield item
        yield from _open_negations(item)


def _is_between(negation: Not, items: tuple[EventItem, ...]) -> bool:
    at = next(i for i, item in enumerate(items) if item is negation)
    return not all(map(may_be_empty, items[:at])) and not all(map(may_be_empty, items[at + 1 :]))


def check_over_rounds(clause: MatchPatternClause, rows: Relation, source: Source) -> None:
    """Check MEASURES and the conditions, but for those within single rounds. Raises CepAnalysisError, CepUnsupportedError."""
    found = loops(clause.patterns[0][1])
    for expr in clause.conjuncts:
        _check_columns(expr, found, clause, rows)
        _check_elements(expr, found, source)
        _check_query(expr, clause)
    for measure in clause.measures:
        _check_columns(measure.expr, found, clause, rows)
        _check_measure(measure.expr, found)


def _check_columns(expr: Expr, found: tuple[Loop, ...], clause: MatchPatternClause, rows: Relation) -> None:
    """Check that what an expression reads of a round is an event of it, and of an event a column of the input."""
    known = {loop.variable: [field.variable for field in round_fields(loop)] for loop in found}
    variables = Variables(tuple(element.variable for element in elements(clause.patterns[0][1])))
    for ref in references(expr.node, variables):
        names = known.get(ref.members[0])
        if names is None:
            rows.require(ref.column)
        elif ref.column.value.lower() not in map(str.lower, names):
            raise CepAnalysisError(
                f"the rounds of {ref.members[0]} have no {ref.column.value}",
                code="UNKNOWN_COLUMN",
                span=ref.column.span,
                hint=suggestion(ref.column.value, names),
            )


def _check_elements(expr: Expr, found: tuple[Loop, ...], source: Source) -> None:
    """Check that no element of a closure in a round is picked: ``[1]`` is the first event of a closure, and the second element of an array."""
    closures = {
        (loop.variable, field.variable.lower()) for loop in found for field in round_fields(loop) if field.kleene
    }
    for ref in references(expr.node, Variables(tuple(loop.variable for loop in found))):
        picked = source.sql[ref.span.end :].lstrip().startswith("[")
        if picked and (ref.members[0], ref.column.value.lower()) in closures:
            hint = f"say it of {ref.column.value} within the round: {ref.column.value}[1].column; or in a query around the clause"
            raise unsupported_loop(f"an element of the closure {ref.column.value} of a round", ref.span, hint)


def _check_query(expr: Expr, clause: MatchPatternClause) -> None:
    """Check that no subquery looks for the values of one event: Spark does not plan that over the events and the rounds."""
    variables = Variables(tuple(element.variable for element in elements(clause.patterns[0][1])))
    if len(seen_variables(expr.node, variables)) != 1:
        return
    for part in expr.node.find_all(exp.Column, exp.Dot):
        if reference(part, variables) is not None and part.find_ancestor(exp.Query) is not None:
            hint = "compute it as a column of the input, in a subquery"
            raise unsupported_loop("a correlated subquery beside a loop of several events", expr.span, hint)


def _check_measure(expr: Expr, found: tuple[Loop, ...]) -> None:
    for ref in references(expr.node, Variables(tuple(loop.variable for loop in found))):
        hint = f"aggregate in a query around the clause, over explode({ref.members[0]}) or with its lambda functions"
        raise unsupported_loop("the events of rounds in MEASURES", ref.span, hint)
