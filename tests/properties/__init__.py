"""Random patterns × random streams: engines against the reference matcher, and the reference against itself."""
