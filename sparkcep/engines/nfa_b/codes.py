"""Numbers that the compiler and the kernels agree on."""

from __future__ import annotations

from sparkcep.engines.event_pattern.output import parts

SET, COUNT, INT_SUM, FLOAT_SUM, WIDENED_SUM, LEAST, GREATEST, LISTED, WIDE_SUM = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What an event does to a slot of the value vector: its value replaces, is counted, added (as an integer, a float, an
integer in a sum of floats, a number of two words), or kept if less, or greater; or the event itself is put behind those of a list (see ``slow``)."""

BEGIN, TAKE, PROCEED = 0, 1, 2
"""Edges of component k: conditions 3 k + BEGIN, …; updates 2 k + BEGIN, 2 k + TAKE."""

DONE, NODES_FULL, ENDS_FULL, RUNS_FULL, PATH_FULL, ROWS_FULL, FAULT, SAVED_FULL = 0, 1, 2, 3, 4, 5, 6, 7
"""Why a kernel returns: all events read; no room for more nodes, ends, runs, a longer path, more output; an error in a
condition; no room for more runs that are saved."""

S_EVENT, S_RUNS, S_NODES, S_ENDS, S_EPOCH, S_CLOSED, S_CONJUNCT, S_KIND = 0, 1, 2, 3, 4, 5, 6, 7
"""Slots of a run's state: the next event, the numbers of runs, nodes and ends; the epoch of the merge table; the event
with which the last match that was output ended; the conjunct with a fault, and its kind."""

S_STARTED, S_STEPS, S_MERGED, S_POSTPONED, S_BEST, S_EXPIRED, S_RESUMED, S_SAVED, S_SIZE = (
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
)
"""Counters: runs started, steps of runs, runs merged; of the backtrack algorithm: postponed runs, and the best end; on a stream: partitions whose
runs have been resumed, and runs saved."""

UNION, NOTHING = parts.UNION, parts.NOTHING
"""Components and neighbours of nodes, as in the buffer's parts."""

SLOT_WORDS = 3
"""Words of a slot: the value (a sum of integers: its low word), a sum's high word, and whether there is a value."""
