"""A-Seq: aggregates over the matches of an event pattern without building a match.

In: an ``AggregateSpec`` and tables of whole partitions. Out: one row per partition that has a match. The entry point
is ``engine.compile``; ``sequences.sequences`` says, without numpy, whether a pattern is one that this
engine counts. Nothing is imported here, so that asking stays cheap.

Source: "Complex Event Analytics: Online Aggregation of Stream Sequence Patterns" (Y. Qi, L. Cao, M. Ray, E. Rundensteiner,
SIGMOD 2014), sections 3 and 5.
"""
