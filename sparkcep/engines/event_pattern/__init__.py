"""The lazy Chain NFA: every match of a MATCH PATTERN clause under skip-till-any-match.

In: an ``EventPatternSpec`` and tables of whole partitions. Out: tables of matches. The entry point is
``engine.compile``; ``planner.support.check`` says, without numpy or Polars, whether this engine runs a
clause. Nothing is imported here, so that it stays cheap to import.

Source: "Efficient Detection of Complex Event Patterns Using Lazy Chain Automata" (I. Kolchinsky, A. Schuster),
sections 4, 5.
"""
