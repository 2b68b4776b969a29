"""EXPLAIN PATTERN: how a statement's clauses are interpreted and answered, as rows of text; EXPLAIN ANALYZE PATTERN: with counts.

``Explanation`` is the same as an object, with the automata drawn. Nothing here knows a session: ``sparkcep.explain`` is
``sparkcep.session``'s.
"""

from sparkcep.explanation.analyze import analyze_query
from sparkcep.explanation.explanation import Explanation, explanation
from sparkcep.explanation.frequencies import explain_query
from sparkcep.explanation.report import explain_lines

__all__ = ["Explanation", "analyze_query", "explain_lines", "explain_query", "explanation"]
