"""SIGTERM and SIGINT as a wish: what runs ends in its own way."""

from __future__ import annotations

import signal
import threading


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set, replacing their previous handlers."""
    told_to_stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told_to_stop.set())
    return told_to_stop
