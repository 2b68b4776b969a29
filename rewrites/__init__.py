"""SQL text with pattern clauses → SQL text that Spark understands. Knows no engine and no session.

``rewrite`` drives the whole pipeline: dialect → clause → bound clause → MatchSpec and SQL.
"""

from rewrites.bind.relation import InputError
from rewrites.guard import guarded
from rewrites.options import Options, Rewritten, RewrittenClause
from rewrites.rewrite import RULES, analyse, has_clause, has_function, rewrite
from rewrites.sql.parameters import positional_name

__all__ = [
    "RULES",
    "InputError",
    "Options",
    "Rewritten",
    "RewrittenClause",
    "analyse",
    "guarded",
    "has_clause",
    "has_function",
    "positional_name",
    "rewrite",
]
