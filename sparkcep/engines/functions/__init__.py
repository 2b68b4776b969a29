"""Spark's functions in Python, for conditions that compute from several rows of the match.

In: a ``spec.expression.SparkFunction`` tree, as resolved by Spark's analyzer (with implicit casts, types and modes). Out: a Python function of a
frame. Results equal Spark's (tests compare each function with Spark); a missing function is refused by name, before anything runs.
"""

from sparkcep.engines.functions.registry import NAMES, check, compile_function

__all__ = ["NAMES", "check", "compile_function"]
