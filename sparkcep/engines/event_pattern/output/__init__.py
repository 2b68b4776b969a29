"""Matches → Arrow tables of the clause's outputs, and the choice of NON OVERLAPPING MATCHES."""
