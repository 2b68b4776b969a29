"""The dialect: pattern clauses in Spark SQL text → ``rewrites.dialect.clause`` data, every part with its place in the text.

Nothing here resolves names, knows a schema or generates SQL: user expressions are parsed for analysis and spliced by span. Depends on sqlglot,
``sparkcep.errors``, ``sparkcep.pattern`` and ``rewrites.dialect.clause`` only.
"""

from __future__ import annotations

from rewrites.dialect import match_automaton, match_pattern, match_recognize
from rewrites.dialect.clause import Clause, Site
from rewrites.dialect.event_pattern import parse_event_pattern
from rewrites.dialect.explain import ExplainPrefix, explain_prefix
from rewrites.dialect.expressions import bare, column_at, column_path, parse_expression
from rewrites.dialect.match_automaton import parse_arc, parse_match_automaton
from rewrites.dialect.match_pattern import parse_match_pattern
from rewrites.dialect.match_recognize import parse_match_recognize
from rewrites.dialect.nodes import (
    Classifier,
    KleenePrefix,
    KleeneRef,
    MatchNumber,
    MatchSequenceNumber,
    Navigation,
    Semantics,
)
from rewrites.dialect.parameter_values import ValueOf, parameter_values
from rewrites.dialect.parameters import placeholders
from rewrites.dialect.row_pattern import parse_row_pattern
from rewrites.dialect.sections import guessed
from rewrites.dialect.sites import find_sites
from rewrites.dialect.spans import set_span, span_of
from sparkcep.errors import CepSyntaxError

__all__ = [
    "Classifier",
    "ExplainPrefix",
    "KleenePrefix",
    "KleeneRef",
    "MatchNumber",
    "MatchSequenceNumber",
    "Navigation",
    "Semantics",
    "bare",
    "column_at",
    "column_path",
    "explain_prefix",
    "find_sites",
    "parse_arc",
    "parse_clause",
    "parse_event_pattern",
    "parse_expression",
    "parse_row_pattern",
    "placeholders",
    "set_span",
    "span_of",
]


def parse_clause(sql: str, site: Site, parameter: ValueOf | None = None) -> Clause:
    """The clause at ``site``, one of ``find_sites(sql)``. ``parameter`` gives the value of a marker in a quantifier.

    Raises CepSyntaxError, CepAnalysisError or CepUnsupportedError, each with its span in ``sql``.
    """
    try:
        if site.kind == "MATCH AUTOMATON":
            return parse_match_automaton(sql, site)
        with parameter_values(parameter):
            return (
                parse_match_recognize(sql, site) if site.kind == "MATCH_RECOGNIZE" else parse_match_pattern(sql, site)
            )
    except CepSyntaxError as error:
        grammars = {"MATCH_RECOGNIZE": match_recognize.GRAMMAR, "MATCH AUTOMATON": match_automaton.GRAMMAR}
        raise guessed(error, sql, site.body, grammars.get(site.kind, match_pattern.GRAMMAR)) from error
