"""SQL text with pattern clauses → SQL text that Spark understands. Knows no engine and no session.

``rewrite`` is the whole way: dialect → clause → bound clause → MatchSpec and SQL.
"""

from rewrites.parameters import positional_name
from rewrites.relation import InputError
from rewrites.rewrite import Options, has_clause, rewrite

__all__ = ["InputError", "Options", "has_clause", "positional_name", "rewrite"]
