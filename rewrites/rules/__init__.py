"""Rewrite rules that make a clause cheaper without changing its answer; one file and one function each."""
