"""Every node of every expression stands where its text stands: the text parses to the same node again."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.dialect import column_path, parse_expression, span_of
from sparkcep.errors import Span
from tests.rewrites.dialect.expressions import expressions

BEFORE, BEHIND = "SELECT ' é ', ", " FROM t"


@pytest.mark.parametrize("text", expressions())
def test_the_text_of_every_node_parses_to_that_node(text: str) -> None:
    sql = BEFORE + text + BEHIND
    root = parse_expression(sql, Span(len(BEFORE), len(BEFORE) + len(text))).node
    assert sql[span_of(root).start : span_of(root).end] == text.strip()
    for node in root.walk():
        span = span_of(node)
        assert len(BEFORE) <= span.start < span.end <= len(BEFORE) + len(text)
        if _has_text(node):
            assert _same(parse_expression(sql, span).node, node), sql[span.start : span.end]


def test_there_are_many_expressions() -> None:
    assert len(expressions()) > 150


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("A.price", ["A", "price"]),
        ("`weird name`.x", ["weird name", "x"]),
        ("a.b.c.d.e.f", ["a", "b", "c", "d", "e", "f"]),
        ("a /* c */ . b", ["a", "b"]),
    ],
)
def test_identifiers_of_a_column_know_their_places(text: str, names: list[str]) -> None:
    path = column_path(parse_expression(text, Span(0, len(text))).node)
    assert path is not None
    assert [name.value for name in path] == names
    assert [text[name.span.start : name.span.end].strip("`") for name in path] == names


@pytest.mark.parametrize("text", ["a + b", "f(a)", "a[0].b", "1", "CLASSIFIER()"])
def test_what_is_no_column_has_no_path(text: str) -> None:
    assert column_path(parse_expression(text, Span(0, len(text))).node) is None


def test_all_columns_of_a_variable_have_no_path() -> None:
    assert column_path(parse_expression("count(A.*)", Span(0, 10)).node.this) is None


def _has_text(node: exp.Expr) -> bool:
    """Whether the node has a text of its own that is an expression."""
    parent = node.parent
    if not isinstance(node, exp.Condition | exp.Subquery) or isinstance(node, exp.Kwarg):
        return False
    if parent is None:
        return True
    if span_of(parent) == span_of(node) or isinstance(parent, exp.Interval | exp.DataTypeParam):
        return False  # ``a IN (1)`` inside ``a NOT IN (1)``, 1 inside ``1L``
    if isinstance(node, exp.AnonymousAggFunc) or node.arg_key == "windows":
        return False  # inside a subquery LAST is Spark's aggregate
    if isinstance(node, exp.Dot) and isinstance(parent, exp.Dot):
        return not isinstance(node.this, exp.Identifier)  # ``catalog.schema`` of a function's name
    return not (isinstance(node, exp.If) and isinstance(parent, exp.Case))


def _same(again: exp.Expr, node: exp.Expr) -> bool:
    if node.find_ancestor(exp.Lambda):  # a lambda's parameters are columns outside of it
        return again.sql("spark") == node.sql("spark")
    return again == node
