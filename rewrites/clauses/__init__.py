"""One clause through all stages: bind, rules, emit, pushdown. A file for each kind of clause.

Each kind has three functions: the clause rewritten, the query that counts what happens to its rows (EXPLAIN ANALYZE PATTERN), and the
query that lists the events of its matches one by one (the notebook's time line).
"""
