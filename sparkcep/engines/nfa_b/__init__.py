"""The NFA with a match buffer of SASE+ (the paper's NFA^b): SKIP TILL NEXT MATCH, PARTITION CONTIGUITY and STRICT CONTIGUITY in MATCH PATTERN.

In: an ``EventPatternSpec`` and tables of whole partitions. Out: tables of matches. The entry point is
``engine.compile``; ``support.check`` says, without numpy, whether this engine runs a clause.
``compilation.automata`` gives the automata with the formula on every edge.

Source: "Efficient Pattern Matching over Event Streams" (J. Agrawal, Y. Diao, D. Gyllstrom, N. Immerman; SASE+),
sections 3 and 5.
"""
