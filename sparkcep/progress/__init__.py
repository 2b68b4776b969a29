"""What a running query does, on a terminal and under a notebook's cell."""

from sparkcep.progress.follow import following
from sparkcep.progress.status import Progress

__all__ = ["Progress", "following"]
