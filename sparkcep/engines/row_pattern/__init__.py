"""The row pattern engine: MATCH_RECOGNIZE whose conditions are booleans of the rows. See ``engine``."""
