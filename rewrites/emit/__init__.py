"""Bound clause → rewritten Spark SQL with a MatchSpec inside, built with sqlglot."""
