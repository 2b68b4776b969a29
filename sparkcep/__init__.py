"""Pattern matching on Spark SQL: MATCH_RECOGNIZE and MATCH PATTERN.

>>> spark = sparkcep.session(app_name="clicks")
>>> spark.sql("SELECT * FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user_id ORDER BY ts WITHIN 1 hour)").show()
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_SESSION = (
    "session",
    "install",
    "uninstall",
    "rewrite",
    "explain",
    "explain_analyze",
    "match",
    "match_automaton",
    "match_recognize",
)
__all__ = [*_SESSION, "__version__", "errors", "stream_monitor"]


def __getattr__(name: str) -> Any:
    """The session functions, imported lazily: workers import this package too, and need no Spark session."""
    if name in _SESSION:
        return getattr(import_module("sparkcep.session"), name)
    if name == "stream_monitor":
        return import_module("sparkcep.streaming.monitor").stream_monitor
    if name == "load_ipython_extension":
        return import_module("sparkcep.notebook").load_ipython_extension
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
