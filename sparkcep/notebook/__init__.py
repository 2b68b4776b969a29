"""``%load_ext sparkcep``: the ``%%sql`` magic of a notebook."""

from typing import Any

from sparkcep.notebook.magic import SqlMagics
from sparkcep.notebook.timeline import draw

__all__ = ["SqlMagics", "draw", "load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext sparkcep``."""
    shell.register_magics(SqlMagics)
