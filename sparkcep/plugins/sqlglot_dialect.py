"""sqlglot's dialect ``sparkcep``: Spark SQL whose pattern clauses are kept as written.

In: text. Out: sqlglot's trees, in which ``t MATCH PATTERN (…) AS m`` is a ``PatternMatch``; and text again. The text inside a clause's parentheses is
not parsed: ``rewrites.dialect`` does that. Works with sqlglot 26 and later, because tools pin their versions.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import TokenType

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_AFTER_MATCH = ("PATTERN", "PATTERNS", "AUTOMATON")
_ROW_PATTERN = ("PATTERN", "(")
_QUERY = ("SELECT", "WITH", "FROM", "TABLE", "VALUES")


class PatternClause(exp.Group):  # type: ignore[misc]
    """``this``: the text from the keyword to the closing parenthesis. Like GROUP BY, it makes other rows of those that WHERE has left."""

    arg_types = {**exp.Group.arg_types, "this": True}


class PatternMatch(exp.Subquery):  # type: ignore[misc]
    """``this``: ``SELECT *`` from the clause's input, with the clause for its ``group``; ``alias``: that of the matches.

    So a filter that a tool puts at the input's table, as Superset's row level security does, filters the rows that the pattern sees; and sqlglot's
    optimizer does not move a filter of the matches there.
    """


class RowPatternWindow(exp.Window):  # type: ignore[misc]
    """A window with a row pattern; ``clause``: the text in its parentheses."""

    arg_types = {**exp.Window.arg_types, "clause": True}


class SparkCep(Spark):  # type: ignore[misc]
    """Registered as ``sparkcep``: by importing this module, or by the entry point of the distribution."""

    class Parser(Spark.Parser):  # type: ignore[misc, name-defined]
        QUERY_MODIFIER_PARSERS = {
            token: parse
            for token, parse in Spark.Parser.QUERY_MODIFIER_PARSERS.items()
            if token is not TokenType.MATCH_RECOGNIZE
        }

        def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expression | None:
            table = super()._parse_table(*args, **kwargs)
            while table is not None and self._at_clause():
                clause = PatternClause(this=self._clause())
                rows = exp.Select(expressions=[exp.Star()], group=clause, **{_FROM: exp.From(this=table)})
                table = PatternMatch(this=rows, alias=self._parse_table_alias())
            return table

        def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.Expression | None:
            return None if self._at_clause() else super()._parse_table_alias(*args, **kwargs)

        def _parse_column(self) -> exp.Expression | None:
            column = super()._parse_column()
            return self._parse_window(column) if isinstance(column, exp.Column) and self._text() == "OVER" else column

        def _parse_window(self, this: exp.Expression | None, alias: bool = False) -> exp.Expression | None:
            start = self._index
            opened = self._match_pair(TokenType.ALIAS if alias else TokenType.OVER, TokenType.L_PAREN, advance=False)
            if not opened or not self._has_row_pattern(start + 1):
                return super()._parse_window(this, alias=alias)
            self._advance()
            return RowPatternWindow(this=this, clause=self._bracketed(), alias=None, over=None if alias else "OVER")

        def _text(self, ahead: int = 0) -> str:
            """The upper-case text of a coming token; nothing for a quoted one, and behind the last."""
            if self._index + ahead >= len(self._tokens):
                return ""
            token = self._tokens[self._index + ahead]
            quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
            return "" if quoted else str(token.text).upper()

        def _at_clause(self) -> bool:
            if self._text() == "MATCH_RECOGNIZE":
                return self._text(1) == "("
            return self._text() == "MATCH" and self._text(1) in _AFTER_MATCH

        def _clause(self) -> str:
            """The text of the clause that begins here: its keywords, and its parentheses or the name of a pattern."""
            keywords = 1 if self._text() == "MATCH_RECOGNIZE" else 2
            words = " ".join(self._text(ahead) for ahead in range(keywords))
            self._advance(keywords)
            if self._text() == "(":
                return f"{words} {self._bracketed()}"
            return f"{words} {self._parse_table_parts().sql(dialect=self.dialect)}"

        def _bracketed(self) -> str:
            """The text from the opening parenthesis here to its partner. Refuses a subquery: a tool would not see its tables."""
            first, depth = self._curr, 0
            while self._index < len(self._tokens):
                if self._text() == "(" and self._text(1) in _QUERY:
                    self.raise_error("A subquery inside a pattern clause: put it into a view, or join it outside")
                depth += (self._text() in _OPENING) - (self._text() in _CLOSING)
                self._advance()
                if not depth:
                    return str(self._find_sql(first, self._prev))
            self.raise_error("Expecting )", first)
            return ""

        def _has_row_pattern(self, opening: int) -> bool:
            """Whether the parentheses that open at a token hold ``PATTERN (``, not deeper."""
            depth = 0
            for ahead in range(opening - self._index, len(self._tokens) - self._index):
                depth += (self._text(ahead) in _OPENING) - (self._text(ahead) in _CLOSING)
                if not depth:
                    return False
                if depth == 1 and (self._text(ahead), self._text(ahead + 1)) == _ROW_PATTERN:
                    return True
            return False

    class Generator(Spark.Generator):  # type: ignore[misc, name-defined]
        TRANSFORMS = {
            **Spark.Generator.TRANSFORMS,
            PatternClause: lambda self, clause: self.seg(self._verbatim(clause.this)),
            PatternMatch: lambda self, match: self._match_sql(match),
            RowPatternWindow: lambda self, window: self._row_pattern_window_sql(window),
        }

        def _match_sql(self, match: PatternMatch) -> str:
            """The input, bare where nothing was added to it, with the clause as written and the alias."""
            rows, clause = match.this.copy(), match.this.args["group"]
            rows.set("group", None)
            bare = not any(value for key, value in rows.args.items() if key not in ("expressions", _FROM))
            table = self.sql(rows.args[_FROM], "this") if bare and rows.is_star else f"({self.sql(rows)})"
            alias = self.sql(match, "alias")
            return str(
                self.query_modifiers(match, f"{table} {self._verbatim(clause.this)}", f" AS {alias}" if alias else "")
            )

        def _row_pattern_window_sql(self, window: RowPatternWindow) -> str:
            return (
                f"{self.sql(window, 'this')} {window.args.get('over') or 'AS'} {self._verbatim(window.args['clause'])}"
            )

        def _verbatim(self, clause: str) -> str:
            """The text, whose lines are not to be indented: a line may be within a string."""
            return clause.replace("\n", self.SENTINEL_LINE_BREAK) if self.pretty else clause


_FROM = "from_" if "from_" in exp.Select.arg_types else "from"
"""sqlglot renamed the argument in its version 28."""
