"""EXPLAIN PATTERN: how a statement's clauses are interpreted and answered, as rows of text; EXPLAIN ANALYZE PATTERN: with counts.

``Explanation`` and ``Analysis`` are the same as objects, with the automata drawn. Nothing here knows a session: ``sparkcep.explain`` and
``sparkcep.explain_analyze`` are ``sparkcep.session``'s.
"""

from sparkcep.explanation.analysis import Analysis, ClauseCounts, analysis
from sparkcep.explanation.analyze import analyze_query, counts_query
from sparkcep.explanation.counted import Count
from sparkcep.explanation.explanation import Explanation, explanation, satisfied
from sparkcep.explanation.frequencies import explain_query
from sparkcep.explanation.report import explain_lines

__all__ = [
    "Analysis",
    "ClauseCounts",
    "Count",
    "Explanation",
    "analysis",
    "analyze_query",
    "counts_query",
    "explain_lines",
    "explain_query",
    "explanation",
    "satisfied",
]
