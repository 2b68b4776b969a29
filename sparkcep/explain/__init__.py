"""EXPLAIN PATTERN: how a statement's clauses are understood and answered, as rows of text."""

from sparkcep.explain.report import explain_lines

__all__ = ["explain_lines"]
