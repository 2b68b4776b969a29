"""Which events a partial match may take next: the buffer of each variable, cut by time, order, equality and ranges of values."""
