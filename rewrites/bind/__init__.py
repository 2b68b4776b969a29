"""Clause → bound clause: names resolved, expressions divided between Spark and the engine.

``row_pattern`` binds MATCH_RECOGNIZE, ``event_pattern`` binds MATCH PATTERN. Bound clauses hold SQL texts for Spark and MatchSpec parts
for the engine; ``rewrites.emit`` puts them together.
"""
