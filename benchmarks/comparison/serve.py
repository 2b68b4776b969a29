"""The loop of a peer's process: requests come in as lines of JSON, answers go out so. The standard library alone: it runs in every environment.

In: lines of ``Case.request`` and ``text``. Out: lines that begin with MARK: the answer, and its seconds, without start and preparation.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

MARK = "@answer "
MEMORY = 6
"""Gigabytes that DuckDB and pandas may have on this small machine; the JVMs' heaps are limited by their defaults."""

Answer = Callable[[], list[Any]]


def serve(prepare: Callable[[dict[str, Any]], Answer]) -> None:
    """For each request: prepare what is not timed, then answer and time it. Ends with the input."""
    _tell({"ready": True})
    for line in sys.stdin:
        try:
            answer = prepare(json.loads(line))
            began = time.perf_counter()
            found = answer()
            seconds = time.perf_counter() - began
            _tell({"answer": [int(value or 0) for value in found], "seconds": seconds})
        except Exception as error:
            traceback.print_exc()
            first = (str(error).strip().splitlines() or [""])[0]
            _tell({"error": f"{type(error).__name__}: {first}"[:300]})


def _tell(message: dict[str, Any]) -> None:
    print(MARK + json.dumps(message), flush=True)
