"""``python -m sparkcep.engines.precompile``: compile the numba kernels now, so that no query waits for them.

The compiled code is cached beside the sources (or in numba's own cache where that folder is read-only) and is found by every worker. ``--times``
prints the processor time of each kernel; ``--jobs N`` (by default one for each processor) sets the number of processes; with ``--quiet`` nothing is
printed, the priority is low, and the process ends if another one is compiling already.
"""

from __future__ import annotations

import argparse
import atexit
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context

from sparkcep.engines.kernel_cache import lock, note_complete

GROUPS = (
    (
        "sparkcep.engines.aseq.kernels",
        "sparkcep.engines.aseq.change_kernels",
        "sparkcep.engines.aseq.open_change_kernels",
        "sparkcep.engines.aseq.neighbour_kernels",
    ),
    ("sparkcep.engines.automaton.run_kernels",),
    ("sparkcep.engines.aseq.counting_kernels", "sparkcep.engines.aseq.selection_kernels"),
    (
        "sparkcep.engines.nfa_b.advance_kernels",
        "sparkcep.engines.nfa_b.backtrack_kernels",
        "sparkcep.engines.nfa_b.resume_kernels",
        "sparkcep.engines.nfa_b.match_kernels",
    ),
    (
        "sparkcep.engines.row_match.search_kernels",
        "sparkcep.engines.row_match.window_kernels",
        "sparkcep.engines.row_match.within_kernels",
    ),
    (
        "sparkcep.engines.row_pattern.kernels",
        "sparkcep.engines.row_pattern.forest_kernels",
        "sparkcep.engines.row_pattern.window_kernels",
        "sparkcep.engines.row_pattern.path_kernels",
        "sparkcep.engines.row_pattern.reach_kernels",
    ),
    ("sparkcep.engines.event_pattern.candidates.range_kernels",),
)
"""The modules that have kernels; in a group those that share functions, which each process compiles once. The longest group first."""

Times = list[tuple[str, float]]
"""Kernels and their seconds of processor time."""


def compile_group(modules: tuple[str, ...]) -> Times:
    """All kernels of the modules."""
    from sparkcep.engines.kernel import Kernel

    times: Times = []
    for module in modules:
        for name, one in vars(import_module(module)).items():
            if isinstance(one, Kernel) and one.waits:
                started = time.process_time()
                one.compile()
                short = module.removeprefix("sparkcep.engines.")
                times.append((f"{short}.{name}", time.process_time() - started))
    return times


def compile_all(jobs: int) -> Iterator[Times]:
    """Group by group, in so many processes."""
    if jobs == 1:
        yield from map(compile_group, GROUPS)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_end_at_once) as pool:
        for done in as_completed([pool.submit(compile_group, group) for group in GROUPS]):
            yield done.result()


def _end_at_once() -> None:
    """This process ends without taking numba and LLVM to pieces."""
    atexit.register(os._exit, 0)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(prog="python -m sparkcep.engines.precompile", description=__doc__.splitlines()[0])
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    if options.quiet:
        os.nice(10)
    with lock(wait=not options.quiet) as alone:
        if alone:
            _run(options.jobs, times=options.times, quiet=options.quiet)


def _run(jobs: int, *, times: bool, quiet: bool) -> None:
    started = time.perf_counter()
    every = [one for group in compile_all(jobs) for one in group]
    note_complete()
    if times:
        for name, seconds in sorted(every, key=lambda one: -one[1]):
            print(f"{seconds:6.2f} s  {name}")
        print(f"{sum(seconds for _, seconds in every):6.2f} s  in all, in {jobs} processes")
    if not quiet:
        print(f"kernels ready in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
