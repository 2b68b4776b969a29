"""CLASSIFIER() beside literals: it gives a variable's name as the pattern spells it, so that ``CLASSIFIER() = 'DN'`` never holds for ``dn``."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.bind.names import Variables
from rewrites.bind.relation import suggestion
from rewrites.dialect import bare, span_of
from rewrites.dialect.clause import MatchRecognizeClause
from rewrites.dialect.nodes import Classifier, Navigation
from sparkcep.errors import CepAnalysisError


def check_spellings(clause: MatchRecognizeClause, variables: Variables) -> None:
    """Raise CepAnalysisError where a classifier is compared with literals of which none is a variable's name."""
    for expr in clause.expressions:
        for literals in _compared(expr.node):
            if not any(literal.name in variables.primary for literal in literals):
                raise _never(literals[0], variables)


def _compared(root: exp.Expression) -> Iterator[list[exp.Expression]]:
    """The literals of each comparison of a classifier with nothing but literals."""
    for node in root.walk():
        if isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
            sides = [(node.left, node.right), (node.right, node.left)]
            yield from ([literal] for classifier, literal in sides if _is_classifier(classifier) and _is_text(literal))
        elif isinstance(node, exp.In) and _is_classifier(node.this) and node.expressions:
            if all(map(_is_text, node.expressions)):
                yield node.expressions
        elif isinstance(node, exp.Case) and node.this is not None and _is_classifier(node.this):
            tested = [branch.this for branch in node.args["ifs"]]
            if all(map(_is_text, tested)):
                yield tested


def _is_classifier(node: exp.Expression) -> bool:
    node = bare(node)
    return isinstance(node, Classifier) or (isinstance(node, Navigation) and _is_classifier(node.this))


def _is_text(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _never(literal: exp.Expression, variables: Variables) -> CepAnalysisError:
    spelling = next((name for name in variables.primary if name.lower() == literal.name.lower()), None)
    hint = f"write '{spelling}'" if spelling else suggestion(literal.name, variables.primary)
    return CepAnalysisError(
        f"CLASSIFIER() is never '{literal.name}': it is a variable's name as the pattern spells it",
        code="CLASSIFIER_SPELLING",
        span=span_of(literal),
        hint=hint,
    )
