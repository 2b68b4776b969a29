"""``python -m sparkcep.engines.precompile``: compile the numba kernels now, so that no query waits for them.

The compiled code is cached beside the sources (or in numba's own cache where that folder is read-only) and is found by every worker.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

from sparkcep.engines.kernel import Kernel

KERNEL_MODULES = (
    "sparkcep.engines.aseq.change_kernels",
    "sparkcep.engines.aseq.counting_kernels",
    "sparkcep.engines.aseq.kernels",
    "sparkcep.engines.aseq.neighbour_kernels",
    "sparkcep.engines.aseq.open_change_kernels",
    "sparkcep.engines.aseq.selection_kernels",
    "sparkcep.engines.event_pattern.range_kernels",
    "sparkcep.engines.nfa_b.advance_kernels",
    "sparkcep.engines.nfa_b.backtrack_kernels",
    "sparkcep.engines.nfa_b.match_kernels",
    "sparkcep.engines.row_pattern.kernels",
    "sparkcep.engines.row_pattern.path_kernels",
    "sparkcep.engines.row_pattern.reach_kernels",
    "sparkcep.engines.row_match.search_kernels",
)


def main() -> None:
    """Compile all modules' kernels, one module for each processor at a time."""
    started = time.perf_counter()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_module, KERNEL_MODULES))
    print(f"kernels ready in {time.perf_counter() - started:.1f} s")


def compile_module(name: str) -> None:
    """Import a kernel module: functions with signatures compile as they are defined, a ``Kernel`` when told."""
    for one in vars(import_module(name)).values():
        if isinstance(one, Kernel):
            one.compile()


if __name__ == "__main__":
    main()
