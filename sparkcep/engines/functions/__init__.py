"""Spark's functions in Python, for what a condition computes from several rows of the match.

In: a ``spec.expression.SparkFunction`` tree, as Spark's own analysis gives it (implicit casts, types and modes included). Out: a Python function
of a frame. Results equal Spark's (tests compare each function with Spark); what is not here is refused by name, before anything runs.
"""

from sparkcep.engines.functions.registry import NAMES, check, compile_function

__all__ = ["NAMES", "check", "compile_function"]
