"""The row match engine: MATCH_RECOGNIZE whose conditions look at other rows of the match. See ``engine``."""

from sparkcep.engines.row_match.engine import RowMatchEngine, compile_row_match, run

__all__ = ["RowMatchEngine", "compile_row_match", "run"]
