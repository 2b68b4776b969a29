"""MatchRecognizeClause → BoundRowPattern: all names resolved, all rules of the standard checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress

from pyspark.sql.types import BooleanType, DataType, LongType
from sqlglot import exp

from rewrites.bind.adjacent_conditions import AdjacentTranslator
from rewrites.bind.aggregate_calls import check_defined, mark_aggregates
from rewrites.bind.aggregate_options import check_filters, refuse_others_options
from rewrites.bind.aggregates import Fold, Folds
from rewrites.bind.arguments import Arguments
from rewrites.bind.classifiers import check_spellings
from rewrites.bind.conditions import Columns, Condition, ConditionBinder
from rewrites.bind.many_rows import check_generators, check_order
from rewrites.bind.match_conditions import MatchConditionTranslator
from rewrites.bind.measure_types import check_measures
from rewrites.bind.measures import MeasureBinder, Outputs
from rewrites.bind.names import Variables, same_name
from rewrites.bind.near import near_conditions
from rewrites.bind.outer_references import names_outer, refuse_outer_references
from rewrites.bind.partitions import Key, Together, bind_keys, bind_order, plain_column
from rewrites.bind.relation import Relation, suggestion
from rewrites.bind.result_names import check_result_names
from rewrites.bind.spark_names import with_spark_names
from rewrites.bind.window_functions import with_windows
from rewrites.bind.within import NOT_POSITIVE, bind_window
from rewrites.dialect.clause import Expr, MatchRecognizeClause, Name, Within
from rewrites.dialect.outer_queries import outer_names
from rewrites.sql.builder import quoted, string
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern import row as pattern
from sparkcep.spec import row
from sparkcep.spec.expression import Call
from sparkcep.spec.order import OrderColumn


@dataclass(frozen=True, slots=True)
class BoundRowPattern:
    """A MATCH_RECOGNIZE clause ready to be emitted. ``defines`` are the match-dependent parts of the conditions.

    ``order`` has (SQL, direction) of each item.
    ``early`` are columns added below the windows, ``neighbours`` LAG/LEAD calls, ``arguments`` columns added beside the conditions (each SQL text →
    column name), ``column_types`` the types of input columns and of columns that measures read; ``outputs`` are the engine's measure columns,
    ``folds`` the aggregates that Spark computes from arrays of rows among these, ``measures`` (SQL over both, name). ``key_filters``: filters on
    partitions, found by a rule.
    In windows, ``frame``; ``near``: the tests of the mask bits behind the variables' own; ``passed``: input columns in the result.
    ``used``: those that the statement may use of the result of ALL ROWS PER MATCH (None: all).
    ``lateral``: in a LATERAL subquery.
    ``together``: how the rows come where a rule has workers sort them, by ``sort``; ``adjacent``: the parts of conditions that workers test because
    they read rows next to the one under test.
    """

    relation: Relation
    keys: tuple[Key, ...]
    order: tuple[tuple[str, str], ...]
    order_columns: tuple[str, ...]
    variables: tuple[str, ...]
    pattern: pattern.RowPattern
    text: str
    conditions: dict[str, Condition]
    defines: tuple[row.Define, ...]
    early: dict[str, str]
    neighbours: dict[str, str]
    arguments: dict[str, str]
    column_types: dict[str, DataType]
    outputs: Outputs
    measures: tuple[tuple[str, str], ...]
    rows_per_match: row.RowsPerMatch
    skip: row.Skip
    initial: bool
    folds: tuple[Fold, ...] = ()
    key_filters: tuple[str, ...] = ()
    frame: row.Frame | None = None
    near: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    within: row.Within | None = None
    lateral: bool = False
    used: frozenset[str] | None = None
    together: Together | None = None
    sort: tuple[OrderColumn, ...] = ()
    adjacent: tuple[row.Define, ...] = ()


Bound = tuple[tuple[str, str], ...]
"""Measures: (SQL over the engine's outputs, name)."""


def bind_row_pattern(
    clause: MatchRecognizeClause,
    relation: Relation,
    source: Source,
    outputs_of: Callable[[MeasureBinder], Bound] | None = None,
    *,
    adjacent: bool = False,
) -> BoundRowPattern:
    """Resolve a MATCH_RECOGNIZE clause. Raises CepAnalysisError and CepUnsupportedError with spans.

    ``outputs_of`` binds the clause's measures where their expressions are not all that there is to them (in windows). ``adjacent``: conditions on
    neighbours are data, too, not windows of Spark's.
    """
    variables = _variables(clause)
    _check(clause, relation, source)
    source = _understood(clause, variables, relation, source)
    outer = outer_names(source.sql, clause.site)
    refuse_outer_references(clause, variables, relation, outer)
    order = bind_order(clause.order_by, relation, source)
    neighbours, early, arguments = Columns("__cep_n"), Columns("__cep_e"), Columns("__cep_v")
    binder = ConditionBinder(variables, source, relation, neighbours, early, adjacent)
    conditions = {variables.require(define.variable)[0]: binder.bind(define) for define in clause.defines}
    if clause.frame is not None:
        conditions = near_conditions(conditions, neighbours.texts, clause.frame)
    keys = bind_keys(clause.partition_by, relation, source)
    if clause.frame is None:
        check_result_names(clause, relation, [(key.name, key.span) for key in keys])
    outputs = Outputs()
    running = clause.rows_per_match not in ("one", "window")
    folds = Folds()
    measures = MeasureBinder(
        Arguments(variables, source, relation, conditions, arguments, early, outer, variables.primary),
        running,
        outputs,
        folds,
    )
    bound = (outputs_of or partial(_measures, clause))(measures)
    measures.finish()
    known = [not names_outer(measure.expr.node, variables, relation, outer) for measure in clause.measures]
    check_measures(compress(clause.measures, known), compress((text for text, _ in bound), known), outputs, relation)
    tree = _one_spelling(clause.pattern, variables)
    scope = variables, source, relation
    tested = _defines(conditions, AdjacentTranslator, lambda one: one.adjacent, tree, scope, arguments, early)
    defines = _defines(
        conditions, MatchConditionTranslator, lambda one: one.match_dependent, tree, scope, arguments, early
    )
    within = _within(clause, relation, source, arguments)
    if clause.within is not None and within is not None:
        defines = _inside(within, defines, variables, f"WITHIN {source.text(clause.within.span)}")
    return BoundRowPattern(
        relation=relation,
        keys=keys,
        order=order,
        order_columns=_order_columns(clause, relation),
        variables=variables.primary,
        pattern=tree,
        text=source.text(clause.pattern_span),
        conditions=conditions,
        defines=defines,
        early=early.texts,
        neighbours=neighbours.texts,
        arguments=arguments.texts,
        column_types={field.name: field.dataType for field in relation.schema} | early.types | arguments.types,
        outputs=outputs,
        measures=bound,
        folds=tuple(folds),
        rows_per_match=clause.rows_per_match,
        skip=_skip(clause, variables),
        initial=clause.initial is not None,
        within=within,
        lateral=clause.site.lateral,
        adjacent=tested,
    )


def _understood(clause: MatchRecognizeClause, variables: Variables, relation: Relation, source: Source) -> Source:
    """The text with other engines' functions as Spark has them; the clause's aggregates are marked, and what is not one is refused."""
    source = with_windows(clause, variables, with_spark_names(clause, relation, source))
    check_spellings(clause, variables)
    refuse_others_options(clause, source)
    check_filters(clause, variables)
    mark_aggregates(clause, variables, relation, source)
    check_defined(clause, variables, relation, source)
    return source


def _measures(clause: MatchRecognizeClause, binder: MeasureBinder) -> Bound:
    """Of rows outside of all matches every measure is NULL, whatever its expression is of NULLs."""
    found = tuple((binder.bind(measure), measure.name.value) for measure in clause.measures)
    engines = {quoted(name) for name in binder.outputs.types}
    if clause.rows_per_match != "all_with_unmatched" or engines.issuperset(text for text, _ in found):
        return found
    number = quoted(binder.outputs.name(row.MatchNumber(), LongType()))
    return tuple(
        (text if text in engines else f"CASE WHEN {number} IS NOT NULL THEN {text} END", name) for text, name in found
    )


def boolean_conditions(bound: BoundRowPattern, rows: Callable[[BoundRowPattern], str]) -> None:
    """Have Spark check that every condition is a BOOLEAN over ``rows`` (a query over the input, which is not analysed again where its columns are
    enough); its errors are raised at the condition."""
    conditions = [(name, found, found.text) for name, found in bound.conditions.items() if found.text is not None]
    asked = [(text, found.span) for _, found, text in conditions]
    empty = replace(bound, relation=replace(bound.relation, text=bound.relation.stand_in))
    try:
        types = bound.relation.types_of(asked, rows(empty))
    except CepAnalysisError:
        types = bound.relation.types_of(asked, rows(bound))
    for (name, condition, _), data_type in zip(conditions, types, strict=True):
        if not isinstance(data_type, BooleanType):
            raise CepAnalysisError(
                f"the condition of {name} is {data_type.simpleString()}, not boolean",
                code="CONDITION",
                span=condition.span,
                hint="write a comparison: a AS x > 0",
            )


def _variables(clause: MatchRecognizeClause) -> Variables:
    primary = pattern.variables(clause.pattern)
    folded: dict[str, str] = {}
    for name in primary:
        folded.setdefault(name.lower(), name)
    plain = Variables(tuple(folded.values()))
    same_name((subset.name for subset in clause.subsets), "the SUBSET")
    same_name((define.variable for define in clause.defines), "the DEFINE of")
    same_name((measure.name for measure in clause.measures), "the measure")
    subsets: dict[str, tuple[str, ...]] = {}
    for subset in clause.subsets:
        if plain.members(subset.name.value):
            raise CepAnalysisError(
                f"the SUBSET {subset.name.value} has the name of a variable",
                code="DUPLICATE_NAME",
                span=subset.name.span,
                hint="give it another name",
            )
        subsets[subset.name.value] = tuple(dict.fromkeys(_member(name, plain) for name in subset.variables))
    for define in clause.defines:
        _member(define.variable, plain)
    return Variables(plain.primary, subsets)


def _one_spelling(node: pattern.RowPattern, variables: Variables) -> pattern.RowPattern:
    """The pattern with every variable in its canonical spelling from ``variables``: ``(a | A)`` names one variable."""
    if isinstance(node, pattern.Variable):
        return replace(node, name=next(name for name in variables.primary if name.lower() == node.name.lower()))
    if isinstance(node, pattern.Concat | pattern.Alternate | pattern.Permute):
        return replace(node, items=tuple(_one_spelling(item, variables) for item in node.items))
    if isinstance(node, pattern.Quantified | pattern.Excluded):
        return replace(node, item=_one_spelling(node.item, variables))
    return node


def _member(name: Name, plain: Variables) -> str:
    return plain.require(name)[0]


def _check(clause: MatchRecognizeClause, relation: Relation, source: Source) -> None:
    if clause.frame is None:
        check_order(clause, source)
    check_generators(clause, source)
    for message, code, span, hint in _violations(clause, relation):
        raise CepAnalysisError(message, code=code, span=span, hint=hint)


def _violations(clause: MatchRecognizeClause, relation: Relation) -> Iterator[tuple[str, str, Span | None, str | None]]:
    excluded = next((part for part in pattern.walk(clause.pattern) if isinstance(part, pattern.Excluded)), None)
    if excluded is not None and clause.rows_per_match == "all_with_unmatched":
        hint = "drop {- -} or WITH UNMATCHED ROWS"
        yield "{- -} and WITH UNMATCHED ROWS cannot be combined", "EXCLUSION", excluded.span, hint
    names = [name.lower() for name in relation.schema.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice and clause.rows_per_match not in ("one", "window"):
        hint = f"select the columns in a subquery and rename {twice[0]}"
        yield f"the input has two columns named {twice[0]}", "DUPLICATE_COLUMN", clause.site.input, hint


def _order_columns(clause: MatchRecognizeClause, relation: Relation) -> tuple[str, ...]:
    columns = (plain_column(item.expr.node, relation) for item in clause.order_by)
    return tuple(dict.fromkeys(column for column in columns if column is not None))


def _skip(clause: MatchRecognizeClause, variables: Variables) -> row.Skip:
    if clause.skip is None:
        return row.Skip()
    name = clause.skip.variable
    if name is None:
        return row.Skip(clause.skip.to)
    members = variables.members(name.value)
    if members is None:
        raise CepAnalysisError(
            f"AFTER MATCH SKIP TO names {name.value}, which is not in the pattern",
            code="UNKNOWN_VARIABLE",
            span=name.span,
            hint="write SKIP PAST LAST ROW"
            if name.value.upper() == "ROW"
            else suggestion(name.value, [*variables.primary, *variables.subsets]),
        )
    return row.Skip(clause.skip.to, members)


def _within(clause: MatchRecognizeClause, relation: Relation, source: Source, columns: Columns) -> row.Within | None:
    """The columns of WITHIN, if there is one."""
    if clause.within is None:
        return None
    time = _event_time(clause)
    text, span = source.text(time.span), time.span
    within = Within(clause.within.span, clause.within)
    window = bind_window(within, text, relation.types_of([(text, span)])[0], relation, source)
    assert window is not None
    deadline = (
        f"CASE WHEN {window.time} IS NULL THEN NULL WHEN {window.deadline} > {window.time} THEN {window.deadline} "
        f"ELSE RAISE_ERROR({string(NOT_POSITIVE)}) END"
    )
    return row.Within(deadline=columns.name(deadline), time=columns.name(window.time))


def _inside(
    within: row.Within, defines: tuple[row.Define, ...], variables: Variables, text: str
) -> tuple[row.Define, ...]:
    """``defines`` of every variable: the row's time is before the deadline of the match's first row."""
    inside, known = within.condition, {define.variable: define for define in defines}
    return tuple(_both(known.get(name), name, inside, text) for name in variables.primary)


def _both(define: row.Define | None, variable: str, inside: Call, text: str) -> row.Define:
    if define is None:
        return row.Define(variable, inside, text)
    return row.Define(variable, Call("and", (inside, define.condition)), f"{define.text} {text}")


def _event_time(clause: MatchRecognizeClause) -> Expr:
    assert clause.within is not None
    if not clause.order_by or clause.order_by[0].descending:
        raise CepAnalysisError(
            "WITHIN needs an event time: an ascending first ORDER BY item",
            code="WITHIN",
            span=clause.within.span,
            hint="write ORDER BY ts, then what breaks ties",
        )
    return clause.order_by[0].expr


def _defines(
    conditions: dict[str, Condition],
    translator: type[MatchConditionTranslator],
    conjuncts: Callable[[Condition], tuple[exp.Expression, ...]],
    tree: pattern.RowPattern,
    scope: tuple[Variables, Source, Relation],
    columns: Columns,
    early: Columns,
) -> tuple[row.Define, ...]:
    """Those of each variable's ``conjuncts`` that Spark does not test, as data."""
    guards = {name: condition.guard for name, condition in conditions.items() if condition.guard is not None}
    matched = pattern.matched_before(tree)
    defines = []
    for name, condition in conditions.items():
        translate = translator(name, *scope, matched[name], columns, early, guards).translate
        parts = tuple(map(translate, conjuncts(condition)))
        if parts:
            whole = parts[0] if len(parts) == 1 else Call("and", parts)
            defines.append(row.Define(name, whole, scope[1].text(condition.span)))
    return tuple(defines)
