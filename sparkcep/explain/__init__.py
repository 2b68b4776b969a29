"""EXPLAIN PATTERN: how a statement's clauses are understood and answered, as rows of text; EXPLAIN ANALYZE PATTERN: with counts."""

from sparkcep.explain.analyze import analyze_query
from sparkcep.explain.frequencies import explain_query
from sparkcep.explain.report import explain_lines

__all__ = ["analyze_query", "explain_lines", "explain_query"]
