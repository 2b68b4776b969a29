"""Pattern IR: the structure of patterns, independent of SQL text and engines.

``row`` holds MATCH_RECOGNIZE row patterns, ``event`` holds MATCH PATTERN event patterns. Nodes are frozen, compare by value (ignoring spans), and
print themselves as SQL.
"""
