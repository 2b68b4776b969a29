"""The row pattern engine: MATCH_RECOGNIZE whose conditions are booleans of the rows. See ``engine``."""

from sparkcep.engines.row_pattern.engine import RowPatternEngine, compile_row_pattern, run

__all__ = ["RowPatternEngine", "compile_row_pattern", "run"]
