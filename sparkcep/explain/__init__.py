"""EXPLAIN PATTERN: how a statement's clauses are understood and answered, as rows of text; EXPLAIN ANALYZE PATTERN: with counts.

``Explanation`` is the same as an object, with the automata drawn.
"""

import sys
from types import ModuleType
from typing import Any

from sparkcep.explain.analyze import analyze_query
from sparkcep.explain.explain import Explanation, explanation
from sparkcep.explain.frequencies import explain_query
from sparkcep.explain.report import explain_lines

__all__ = ["Explanation", "analyze_query", "explain_lines", "explain_query", "explanation"]


class _Callable(ModuleType):
    """``sparkcep.explain`` is the function and, once something has imported it, this package: so the package can be called."""

    def __call__(self, text: str, spark: Any = None) -> Explanation:
        from sparkcep.session.install import explain

        return explain(text, spark)


sys.modules[__name__].__class__ = _Callable
