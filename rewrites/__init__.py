"""SQL text with pattern clauses → SQL text that Spark understands. Knows no engine and no session.

``rewrite`` is the whole way: dialect → clause → bound clause → MatchSpec and SQL.
"""

from rewrites.bind.relation import InputError
from rewrites.options import Options, Rewritten, RewrittenClause
from rewrites.rewrite import analyse, has_clause, has_function, rewrite
from rewrites.sql.parameters import positional_name

__all__ = [
    "InputError",
    "Options",
    "Rewritten",
    "RewrittenClause",
    "analyse",
    "has_clause",
    "has_function",
    "positional_name",
    "rewrite",
]
