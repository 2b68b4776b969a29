"""WHERE of MATCH PATTERN, conjunct by conjunct: which events a variable can take, what an engine asks of several, what Spark asks of the matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql.types import BooleanType, DataType
from sqlglot import exp

from rewrites.bind.closures import kleene_path
from rewrites.bind.conditions import Columns
from rewrites.bind.event_types import type_in
from rewrites.bind.loops import test_of, told_test
from rewrites.bind.many_rows import check_functions
from rewrites.bind.names import Variables, is_of_session, references, row_text
from rewrites.bind.predicates import ConditionTranslator, Made, check_closures, is_local, spans_variables
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path
from rewrites.dialect.clause import Equivalence, Expr, MatchPatternClause
from rewrites.sql.builder import null_of, quoted
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern import event as pattern
from sparkcep.spec import event


@dataclass(frozen=True, slots=True)
class Where:
    """WHERE of one clause, conjunct by conjunct. ``beside``: the result's columns beside the events, with their types."""

    clause: MatchPatternClause
    variables: Variables
    relation: Relation
    source: Source
    kleene: frozenset[str]
    beside: Mapping[str, DataType]

    def test_steps(self, element: pattern.Element, type_column: str | None) -> tuple[tuple[str, str], ...]:
        """The type test, then the variable's local conjuncts, each guarded by its predecessors: (what is tested, SQL so far)."""
        tests = [type_in(type_column, element.types)] if element.types and type_column else []
        said = [*tests]
        if pattern.loops(self.clause.patterns[0][1]):
            tests, said = [" AND ".join([*tests, test_of(element)])], said or [told_test(element)]
        literals = [self._literal(item) for item in self.clause.equivalences if item.value is not None]
        tests += literals
        steps = [(text, " AND ".join(tests[: i + 1])) for i, text in enumerate([*said, *literals])]
        for conjunct in self.clause.conjuncts:
            check_closures(conjunct.node, self.variables, self.kleene)
        own = [c for c in self.clause.conjuncts if spans_variables(c, self.variables) == (element.variable,)]
        local = [c for c in own if is_local(c, self.variables)]
        texts = [(row_text(conjunct, self.variables, self.source), conjunct.span) for conjunct in local]
        for (_, span), data_type in zip(texts, self.relation.types_of(texts), strict=True):
            _require_boolean(data_type, span)
        for text, span in texts:
            test = f"CASE WHEN {' AND '.join(tests)} THEN ({text}) END" if tests else f"({text})"
            tests.append(test)
            steps.append((self.source.text(span), test))
        return tuple(steps)

    def guards(self, tests: Mapping[str, str | None]) -> dict[str, str]:
        """Which events each variable can take, as SQL."""
        return {name: test or "true" for name, test in tests.items()}

    def divide(
        self,
        tests: dict[str, str | None],
        columns: Columns,
        made: Made | None,
        tree: pattern.EventPattern,
    ) -> tuple[tuple[event.Predicate, ...], tuple[Expr, ...]]:
        """Conjuncts over several variables: (engine conditions, residual)."""
        translator = ConditionTranslator(
            self.variables,
            self.source,
            self.relation,
            columns,
            self.guards(tests),
            self.kleene,
            made=made,
            narrow=self.clause.strategy != "any",
        )
        engine, residual = [], []
        for conjunct in self.clause.conjuncts:
            seen = spans_variables(conjunct, self.variables)
            if len(seen) == 1 and is_local(conjunct, self.variables):
                continue
            condition = translator.translate(conjunct) if seen else None
            if condition is None and self._is_filter(seen, tree):
                condition = translator.translate_in_words(conjunct) if seen else None
                if condition is None:
                    self._require_boolean(conjunct)
                    residual.append(conjunct)
                    continue
            if condition is None:
                condition = translator.translate_slowly(conjunct)
            engine.append(event.Predicate(condition, self.source.text(conjunct.span), conjunct.span))
        return tuple(engine), tuple(residual)

    def _is_filter(self, seen: tuple[str, ...], tree: pattern.EventPattern) -> bool:
        """Whether Spark can apply a conjunct to the matches: they have all that it reads, and nothing else depends on its outcome. Only under SKIP
        TILL ANY MATCH is WHERE a filter on matches, and NON OVERLAPPING selects among filtered ones.
        """
        if not seen:
            return True
        special = {element.variable for element in pattern.elements(tree, negated=True)} | self.kleene
        special |= {element.variable for element in pattern.elements(tree) if element.low == 0}
        plain = not special.intersection(seen) and not any(isinstance(node, pattern.Or) for node in pattern.walk(tree))
        return plain and self.clause.strategy == "any" and self.clause.matches == "all"

    def _require_boolean(self, conjunct: Expr) -> None:
        """A residual conjunct; one that takes a whole event (``to_json(a)``) has no type over the input, but over the matches."""
        text = row_text(conjunct, self.variables, self.source)
        try:
            data_type = self.relation.types_of([(text, conjunct.span)])[0]
        except CepAnalysisError:
            whole = [(self.source.text(conjunct.span), conjunct.span)]
            data_type = self.relation.types_of(whole, self._matches())[0]
        _require_boolean(data_type, conjunct.span)

    def _matches(self) -> str:
        """An empty relation with the columns of the result: a struct for each variable."""
        columns = [f"{null_of(data_type)} AS {quoted(name)}" for name, data_type in self.beside.items()]
        columns += [f"{null_of(self.relation.schema)} AS {quoted(name)}" for name in self.variables.primary]
        return f"(SELECT {', '.join(columns)})"

    def _literal(self, item: Equivalence) -> str:
        assert item.value is not None
        return f"({quoted(self.relation.require(item.attribute))} = {self.source.text(item.value.span)})"

    def require_known(self) -> None:
        """Check that every name in WHERE is known, and that its functions are of the events of one match."""
        check_functions(self.clause.conjuncts, self.variables, self.kleene, self.relation, self.source)
        for conjunct in self.clause.conjuncts:
            self._require_known(conjunct)

    def _require_known(self, conjunct: Expr) -> None:
        """Columns in WHERE must be qualified by a variable: a bare input column or an unknown variable is an error."""
        found = references(conjunct.node, self.variables)
        for ref in found:
            self.relation.require(ref.column)
        inside = [ref.span for ref in found]
        for node in _outside_queries(conjunct.node):
            path, indexed = column_path(node), kleene_path(node)
            if indexed is not None:
                self.variables.require(indexed[0][0])
            if path is None or any(span.start <= path[0].span.start < span.end for span in inside):
                continue
            if len(path) > 1 and not is_of_session(path):
                self.variables.require(path[0])
            if self.relation.column(path[0].value):
                raise CepAnalysisError(
                    f"whose {path[0].value}? WHERE compares the pattern's variables",
                    code="UNQUALIFIED_COLUMN",
                    span=path[0].span,
                    hint=f"write {self.variables.primary[0]}.{path[0].value}",
                )


def _outside_queries(node: exp.Expression) -> Iterator[exp.Expression]:
    """Column references outside subqueries and lambdas, which have their own names."""
    if isinstance(node, exp.Query | exp.Lambda):
        return
    if isinstance(node, exp.Column | exp.Dot):
        yield node
        return
    for child in node.iter_expressions():
        yield from _outside_queries(child)


def _require_boolean(data_type: DataType, span: Span) -> None:
    if not isinstance(data_type, BooleanType):
        raise CepAnalysisError(
            f"a condition is {data_type.simpleString()}, not boolean",
            code="CONDITION",
            span=span,
            hint="write a comparison: WHERE a.x > 0",
        )
