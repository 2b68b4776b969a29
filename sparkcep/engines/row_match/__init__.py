"""The row match engine: MATCH_RECOGNIZE whose conditions look at other rows of the match. See ``engine``."""
