"""Named patterns: stored bodies in place of their names, and the statements that store them, as SQL over an ordinary table.

Knows no session: what is stored comes from a ``PatternStore``.
"""

from rewrites.patterns.expand import expand
from rewrites.patterns.statements import statement_sql
from rewrites.patterns.texts import Expanded
from rewrites.patterns.versions import FixedPatterns, PatternStore, Version, in_effect, newest

__all__ = ["Expanded", "FixedPatterns", "PatternStore", "Version", "expand", "in_effect", "newest", "statement_sql"]
