"""MEASURES of MATCH PATTERN: aggregates over the matches, their names and what they may reference. In: the clause. Out: its measures, or an error
with its span; how they are computed is not decided here.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.bind.aggregate_options import refuse_star_among_others
from rewrites.bind.aggregates import is_aggregate
from rewrites.bind.closures import kleene_path
from rewrites.bind.names import Variables, is_of_session, references, same_name
from rewrites.bind.partitions import Key
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import MatchPatternClause, Measure
from rewrites.dialect.nodes import ROW_PATTERN, KleenePrefix, KleeneRef
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.pattern import event as pattern

EMIT_TIME = "emit_time"
"""The column of EMIT CHANGES with the time at which the value changed."""
_HINT = "write an aggregate over the matches: COUNT(*), or SUM, AVG, MIN, MAX, COUNT of v.column"


def bind_aggregates(
    clause: MatchPatternClause, tree: pattern.EventPattern, keys: tuple[Key, ...], relation: Relation
) -> tuple[Measure, ...]:
    """The clause's measures. Raises CepAnalysisError and CepUnsupportedError with spans."""
    same_name((measure.name for measure in clause.measures), "the measure")
    variables = Variables(tuple(element.variable for element in pattern.elements(tree)))
    taken = {key.name.lower(): "a PARTITION BY column" for key in keys}
    if clause.emit_changes is not None:
        _check_changes(clause, taken)
        taken[EMIT_TIME] = "the result column emit_time"
    if clause.measures and clause.matches == "compressed":
        raise CepUnsupportedError(
            "MEASURES over COMPRESSED MATCHES",
            code="MEASURES",
            span=clause.matches_span,
            hint="leave COMPRESSED MATCHES out: the measures range over all matches",
        )
    for measure in clause.measures:
        _check_name(measure, taken)
        _check(measure, tree, variables, relation)
    return clause.measures


def _check_changes(clause: MatchPatternClause, keys: dict[str, str]) -> None:
    if EMIT_TIME in keys:
        raise CepAnalysisError(
            "a PARTITION BY column has the name of the result column emit_time",
            code="DUPLICATE_NAME",
            span=clause.emit_changes,
            hint="name it: PARTITION BY emit_time AS other",
        )
    by_count = clause.within is not None and clause.within.events is not None
    if by_count and any(item.value is None for item in clause.equivalences):
        raise CepUnsupportedError(
            "EMIT CHANGES with WITHIN n EVENTS and [attr], which counts events apart for each value",
            code="EMIT_CHANGES",
            span=clause.emit_changes,
            hint="put the attribute in PARTITION BY",
        )


def _check_name(measure: Measure, taken: dict[str, str]) -> None:
    if measure.name.value.lower() in taken:
        raise CepAnalysisError(
            f"the measure {measure.name.value} has the name of {taken[measure.name.value.lower()]}",
            code="DUPLICATE_NAME",
            span=measure.name.span,
            hint="give the measure another name",
        )


def _check(measure: Measure, tree: pattern.EventPattern, variables: Variables, relation: Relation) -> None:
    node = measure.expr.node
    for part in node.find_all(*ROW_PATTERN):
        word = part.args.get("function") or type(part).__name__
        raise CepUnsupportedError(
            f"{word} in the MEASURES of MATCH PATTERN", code="MEASURES", span=span_of(part), hint=_HINT
        )
    if not any(is_aggregate(part) or isinstance(part, exp.Anonymous) for part in node.walk()):
        raise CepAnalysisError(
            "a measure aggregates over the matches", code="MEASURE", span=measure.expr.span, hint=_HINT
        )
    negated = {element.variable.lower() for element in pattern.elements(tree, negated=True)}
    for part in node.walk():
        refuse_star_among_others(part)
        path = column_path(part)
        named = path if path is not None and len(path) > 1 else (kleene_path(part) or (None,))[0]
        whole = named is not None and not isinstance(part.parent, exp.Dot)
        if named is not None and whole and not is_of_session(named) and relation.column(named[0].value) is None:
            variables.require(named[0])
        if isinstance(part, KleenePrefix) or (isinstance(part, KleeneRef) and part.index_value == "i"):
            raise CepAnalysisError(
                "b[i] has no meaning outside a condition",
                code="KLEENE_REFERENCE",
                span=span_of(part),
                hint="an aggregate ranges over all events of the closure: SUM(b.price)",
            )
    for found in references(node, variables):
        relation.require(found.column)
        if found.members[0].lower() in negated:
            raise CepAnalysisError(
                f"{found.members[0]} is negated: a match has no event of it",
                code="NEGATED_VARIABLE",
                span=found.span,
                hint="aggregate over an event that a match has",
            )
