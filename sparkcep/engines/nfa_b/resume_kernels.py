"""Numba kernels: runs that an earlier turn left open, with all that their next event needs; and which of them are of no use.

In: their nodes, and of each run where it stands (``structures.Runs``). Out: its value vector V (SASE+, section 5.2.1). It is computed again from the
events that the run has taken, because it may hold what only the rows of one table tell: their numbers, and the codes of their strings. Merged runs
have equal words wherever a formula ahead reads one (section 5.2.2), so any path through a union tells them.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I32
from sparkcep.engines.nfa_b.codes import UNION
from sparkcep.engines.nfa_b.kernel_types import FORMULAS, MACHINE, NODES, RUNS
from sparkcep.engines.nfa_b.run_kernels import absorb


@kernel(nb.void(nb.int64, NODES, I32))
def latest_starts(count, nodes, found):  # type: ignore[no-untyped-def]
    """``found`` [nodes]: the last event with which a match that takes the node begins. A node stands behind those before it."""
    for i in range(count):
        left = nodes.left[i]
        if nodes.components[i] == UNION:
            found[i] = max(found[left], found[nodes.right[i]])
        else:
            found[i] = found[left] if left >= 0 else nodes.events[i]


@kernel(nb.void(nb.int64, MACHINE, FORMULAS, NODES, RUNS, I32))
def restore(total, machine, formulas, nodes, runs, path):  # type: ignore[no-untyped-def]
    """Compute the ``vectors`` of the first ``total`` runs. ``path`` [nodes]: room to work."""
    for run in range(total):
        length, at = 0, nb.int64(runs.tail[run])
        while at >= 0:
            if nodes.components[at] != UNION:
                path[length] = at
                length += 1
            at = nb.int64(nodes.left[at])
        before = nb.int64(-1)
        for place in range(length - 1, -1, -1):
            k = nb.int64(nodes.components[path[place]])
            event = nb.int64(nodes.events[path[place]])
            which = 2 * k + (1 if k == before else 0)
            absorb(which, event, run, machine.update_starts, machine.updates, runs.vectors, formulas.words)
            before = k
