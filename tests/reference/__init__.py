"""The reference matcher: slow, plainly right, brute force; the oracle that every engine is compared with.

``rows`` answers MATCH_RECOGNIZE, ``events`` and ``nfa`` MATCH PATTERN, ``aggregates`` the aggregates over matches.
``text``, ``sql``, ``row_sql`` and ``event_sql`` read the corpus' pattern and condition texts. Nothing here knows an
engine; input is the pattern IR.
"""
