"""A-Seq: aggregates over the matches of an event pattern without building a match.

In: an ``AggregateSpec`` and tables of whole partitions. Out: one row per partition that has a match. The entry points
are ``engine.compile`` and ``engine.run``; ``sequences.sequences`` decides, without numpy, whether this engine can count a pattern. Nothing is
imported here, so that the check stays cheap.

Source: "Complex Event Analytics: Online Aggregation of Stream Sequence Patterns" (Y. Qi, L. Cao, M. Ray, E. Rundensteiner,
SIGMOD 2014), sections 3 and 5.
"""
