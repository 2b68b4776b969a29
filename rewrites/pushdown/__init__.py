"""Aggregates over matches, without the matches: a query block, MEASURES, or several patterns at once → a query that A-Seq answers.

``aggregate_pushdown`` reads the block around a clause, ``measures`` the clause's MEASURES, ``several_patterns`` MATCH PATTERNS. If A-Seq cannot
answer, the aggregates are computed from the matches (``from_matches``), or the clause is refused by name.
"""
