"""The lazy Chain NFA: every match of a MATCH PATTERN clause under skip-till-any-match.

In: an ``EventPatternSpec`` and tables of whole partitions. Out: tables of matches. The entry points are
``engine.compile`` and ``engine.run``; ``support.check`` decides, without numpy or Polars, whether this engine can run a clause. Nothing is imported
here, so that ``support`` stays cheap to import.

Source: "Efficient Detection of Complex Event Patterns Using Lazy Chain Automata" (I. Kolchinsky, A. Schuster),
sections 4, 5.
"""
