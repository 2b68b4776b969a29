"""Spark's precedence of operators, where sqlglot's differs: the tree of a condition is what Spark computes.

From the tightest: ``* / % DIV``, ``+ - ||``, shifts, ``&``, ``^``, ``|``, all comparisons alike (``a < b = c`` is ``(a < b) = c``), then one of
BETWEEN, IN, LIKE and IS over the whole of that (``a = b IS NULL`` is ``(a = b) IS NULL``), NOT, AND, OR.
Source: ``booleanExpression`` and ``valueExpression`` in Spark's SqlBaseParser.g4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from rewrites.dialect.spans import SpanParser

_BITWISE = ((TokenType.PIPE, exp.BitwiseOr), (TokenType.CARET, exp.BitwiseXor), (TokenType.AMP, exp.BitwiseAnd))
"""From the loosest."""
_SHIFTS = ((TokenType.LT, exp.BitwiseLeftShift), (TokenType.GT, exp.BitwiseRightShift))

_LIKE = {TokenType.LIKE: exp.Like, TokenType.ILIKE: exp.ILike, TokenType.RLIKE: exp.RegexpLike}


def _like(kind: type[exp.Expr]) -> Callable[[Any, exp.Expr | None], exp.Expr | None]:
    def parse(self: PrecedenceParser, this: exp.Expr | None) -> exp.Expr | None:
        node = self.expression(kind(this=this, expression=self._parse_comparison()))
        return self._parse_escape(node)

    return parse


class PrecedenceParser(SpanParser):
    """Parses operators as Spark does."""

    TERM = {TokenType.DASH: exp.Sub, TokenType.PLUS: exp.Add, TokenType.DPIPE: exp.DPipe}
    COMPARISON = SpanParser.COMPARISON | SpanParser.EQUALITY
    RANGE_PARSERS = SpanParser.RANGE_PARSERS | {token: _like(kind) for token, kind in _LIKE.items()}

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        this = self._parse_comparison()
        return this and self._parse_range(this, parse_is=True)

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        this = this or self._parse_bitwise()
        while self._match_set(self.COMPARISON):
            operator = self.COMPARISON[self._prev.token_type]
            this = self._build_predicate(operator, this, self._parse_bitwise())
        return this

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_comparison()
        self._match(TokenType.AND)
        return self.expression(exp.Between(this=this, low=low, high=self._parse_comparison()))  # type: ignore[no-any-return]

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._bitwise(0)

    def _bitwise(self, level: int) -> exp.Expr | None:
        """The operators of ``_BITWISE`` from ``level`` on."""
        if level == len(_BITWISE):
            return self._shift()
        this = self._bitwise(level + 1)
        token, operator = _BITWISE[level]
        while self._match(token):
            this = self.expression(operator(this=this, expression=self._bitwise(level + 1)))
        return this

    def _shift(self) -> exp.Expr | None:
        """``a << b``, ``a >> b`` and ``a >>> b``."""
        this = self._parse_term()
        while operator := next((kind for token, kind in _SHIFTS if self._match_pair(token, token)), None):
            if operator is exp.BitwiseRightShift:
                self._match(TokenType.GT)
            this = self.expression(operator(this=this, expression=self._parse_term()))
        return this

    def _parse_unary(self) -> exp.Expr | None:
        this = super()._parse_unary()
        while self._match(TokenType.COLLATE):
            this = self.expression(exp.Collate(this=this, expression=super()._parse_unary()))
            self._normalize_collate(this)
        return this
