"""Pattern IR: what a pattern is, apart from any SQL text and any engine.

``row`` holds MATCH_RECOGNIZE row patterns, ``event`` holds MATCH PATTERN event patterns. Nodes are frozen, compare by
value (their spans do not count), and print themselves as SQL.
"""
