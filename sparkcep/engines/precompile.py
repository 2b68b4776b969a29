"""``python -m sparkcep.engines.precompile``: compile the numba kernels now, so that no query waits for them.

The compiled code is cached beside the sources (or in numba's own cache where that folder is read-only) and is found by every worker.
"""

from __future__ import annotations

import time
from importlib import import_module

from sparkcep.engines.kernel import Kernel

KERNEL_MODULES = (
    "sparkcep.engines.aseq.change_kernels",
    "sparkcep.engines.aseq.counting_kernels",
    "sparkcep.engines.aseq.kernels",
    "sparkcep.engines.aseq.neighbour_kernels",
    "sparkcep.engines.aseq.open_change_kernels",
    "sparkcep.engines.aseq.selection_kernels",
    "sparkcep.engines.automaton.run_kernels",
    "sparkcep.engines.event_pattern.candidates.range_kernels",
    "sparkcep.engines.nfa_b.advance_kernels",
    "sparkcep.engines.nfa_b.backtrack_kernels",
    "sparkcep.engines.nfa_b.match_kernels",
    "sparkcep.engines.nfa_b.resume_kernels",
    "sparkcep.engines.row_pattern.forest_kernels",
    "sparkcep.engines.row_pattern.kernels",
    "sparkcep.engines.row_pattern.path_kernels",
    "sparkcep.engines.row_pattern.reach_kernels",
    "sparkcep.engines.row_pattern.window_kernels",
    "sparkcep.engines.row_match.search_kernels",
    "sparkcep.engines.row_match.window_kernels",
)


def main() -> None:
    """Import every kernel module: functions with signatures compile at definition, a ``Kernel`` when ``compile`` is called."""
    started = time.perf_counter()
    for module in KERNEL_MODULES:
        for one in vars(import_module(module)).values():
            if isinstance(one, Kernel):
                one.compile()
    print(f"kernels ready in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
