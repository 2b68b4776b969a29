"""Rewrite rules: what makes a rewritten clause cheaper without changing its answer, one file and one function each."""
