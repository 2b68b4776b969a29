"""Spark's expressions extended with those of patterns: navigation, RUNNING and FINAL, CLASSIFIER, Kleene references.

In: tokens of one expression. Out: a sqlglot tree whose nodes carry spans (``spans``). sqlglot's rewriting of function
calls (``year(x)`` → ``Year(TsOrDsToDate(x))``) is undone: a call's arguments are exactly what the user wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token as RawToken
from sqlglot.tokens import TokenType

from rewrites.dialect.nodes import (
    Classifier,
    KleenePrefix,
    KleeneRef,
    MatchNumber,
    MatchSequenceNumber,
    Navigation,
    Semantics,
)
from rewrites.dialect.parameter_values import value_at
from rewrites.dialect.precedence import PrecedenceParser
from rewrites.dialect.spans import fill_spans, recording, set_span, span_of
from sparkcep.errors import CepSyntaxError, CepUnsupportedError, Span

SPARK = Spark()
NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT")
_OPERATORS = {
    "IN",
    "AND",
    "OR",
    "LIKE",
    "ILIKE",
    "RLIKE",
    "REGEXP",
    "BETWEEN",
    "IS",
    "NOT",
    "DIV",
    "ANY",
    "SOME",
    "ALL",
}
_SPECIAL_CALLS = [
    "CAST",
    "TRY_CAST",
    "EXTRACT",
    "TRIM",
    "SUBSTRING",
    "SUBSTR",
    "POSITION",
    "OVERLAY",
    "LISTAGG",
    "STRING_AGG",
    "PERCENTILE",
    "PERCENTILE_APPROX",
    "APPROX_PERCENTILE",
]
_WITH_UNIT = ("TIMESTAMPADD", "DATEADD", "DATE_ADD", "TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF")
UNITS = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "DAYOFYEAR",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
)
"""Of which ``TIMESTAMPDIFF`` and its kin count or add some."""
_ARROWS = (TokenType.ARROW, TokenType.DARROW, TokenType.HASH_ARROW, TokenType.DHASH_ARROW)
"""Other systems' ways into JSON; in Spark the first makes a lambda, the others are nothing."""
LAMBDA_HINT = "a lambda is an argument of a function: transform(array, x -> x + 1)"
_INDEX_HINT = "write v[i], v[i-1], v[1], v[FIRST] or v[LAST] for an event of a closure, v[..i-1] for those before"


def _faithful(name: str, build: Callable[..., exp.Expr]) -> Callable[..., exp.Expr]:
    """``build``, unless it adds, drops or wraps arguments: then the call stays as written."""

    def build_or_keep(args: list[exp.Expr], dialect: object = SPARK) -> exp.Expr:
        given = list(args)
        try:
            node = build(args)
        except TypeError:
            node = build(args, dialect=dialect)
        if not node.error_messages() and {id(child) for child in node.iter_expressions()} == {id(arg) for arg in given}:
            return node
        aggregate = isinstance(node, exp.AggFunc | exp.IgnoreNulls | exp.RespectNulls)
        return (exp.AnonymousAggFunc if aggregate else exp.Anonymous)(this=name, expressions=given)

    return build_or_keep


def _with_unit(name: str) -> Callable[..., exp.Expr]:
    """``TIMESTAMPDIFF(SECOND, x, y)``: the unit is a word, not a column. Without one (``DATEDIFF(x, y)``) it is a call like others."""
    ordinary = _faithful(name, SparkParser.FUNCTIONS.get(name, lambda args: exp.Anonymous(this=name, expressions=args)))

    def build(args: list[exp.Expr], dialect: object = SPARK) -> exp.Expr:
        if len(args) != 3:
            return ordinary(args, dialect)
        unit = args[0]
        if not isinstance(unit, exp.Column) or len(unit.parts) > 1 or unit.name.upper() not in UNITS:
            return exp.Anonymous(this=name, expressions=args)
        word = exp.Var(this=unit.name)
        set_span(word, span_of(unit))
        return exp.Anonymous(this=name, expressions=[word, *args[1:]])

    return build


def _navigation(name: str) -> Callable[[Any], exp.Expr]:
    return lambda self: self._parse_navigation(name)


@recording
class CepParser(PrecedenceParser):
    """Parses one expression. ``kleene`` switches ``v[i]`` references on (MATCH PATTERN)."""

    FUNCTIONS = {name: _faithful(name, build) for name, build in SparkParser.FUNCTIONS.items()}
    FUNCTIONS |= {name: _with_unit(name) for name in _WITH_UNIT}
    FUNCTION_PARSERS = {
        **{name: SparkParser.FUNCTION_PARSERS[name] for name in _SPECIAL_CALLS},
        **{name: _navigation(name) for name in NAVIGATION},
        "CLASSIFIER": lambda self: self._parse_classifier(),
        "MATCH_NUMBER": lambda self: self._parse_no_arguments("MATCH_NUMBER", MatchNumber),
        "MATCH_SEQUENCE_NUMBER": lambda self: self._parse_no_arguments("MATCH_SEQUENCE_NUMBER", MatchSequenceNumber),
    }
    NO_PAREN_FUNCTION_PARSERS = {
        name: parse for name, parse in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name in ("ANY", "CASE", "IF")
    }
    UNARY_PARSERS = {**SparkParser.UNARY_PARSERS, TokenType.PLUS: lambda self: self._parse_plus()}
    COLUMN_OPERATORS = {mark: build for mark, build in SparkParser.COLUMN_OPERATORS.items() if mark not in _ARROWS}
    FUNC_TOKENS = SparkParser.FUNC_TOKENS - {TokenType.AND, TokenType.OR, TokenType.DIV}
    COLON_IS_VARIANT_EXTRACT = True
    STRICT_CAST = True

    kleene = False

    def reset(self) -> None:
        """Forget the previous text."""
        super().reset()
        self._queries = 0
        self._failed: RawToken | None = None

    def parse_expression(self, tokens: list[RawToken], sql: str) -> exp.Expr:
        """The tree of all ``tokens``; CepSyntaxError if they are not an expression."""
        self.reset()
        self.sql, self._chunks = sql, [tokens]
        self._advance_chunk()
        try:
            node = self._parse_disjunction()
            if node is None or self._curr:
                self.raise_error("" if node is None else "unexpected")
        except ParseError as error:
            raise self._located(error) from error
        assert node is not None
        fill_spans(node, tokens)
        return node

    def raise_error(self, message: str, token: Any = None) -> None:
        """Raise sqlglot's error and remember the token that it points at."""
        self._failed = token or self._curr or self._prev
        super().raise_error(message, self._failed)

    def _located(self, error: ParseError) -> CepSyntaxError:
        token = self._failed or self._tokens[-1]
        text = self.sql[token.start : token.end + 1]
        reason = str((error.errors or [{}])[0].get("description") or "")
        if reason.startswith("Required"):
            message = "the expression is incomplete"
        elif reason in ("", "unexpected"):
            message = f"unexpected {text!r} " + (
                "where an expression should be" if not reason else "after the expression"
            )
        else:
            message = f"the expression does not parse: {reason.partition(' but got <Token')[0]}"
        hint = f"a quoted name stands in backticks: `{text[1:-1]}`" if text.startswith('"') else None
        hint = LAMBDA_HINT if text == "->" else hint
        return CepSyntaxError(
            message, code="EXPRESSION", sql=self.sql, span=Span(token.start, token.end + 1), hint=hint
        )

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        self._queries += 1
        try:
            return super()._parse_select(*args, **kwargs)
        finally:
            self._queries -= 1

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        return super()._parse_alias(this, explicit=explicit or not self._queries)

    def _parse_unary(self) -> exp.Expr | None:
        if self._at_semantics():
            return self._parse_semantics()
        return super()._parse_unary()

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        node = super()._parse_lambda(alias)
        if isinstance(node, exp.Distinct) and not node.expressions:
            self.raise_error("Required operand of DISTINCT")
        return node

    def _parse_plus(self) -> exp.Expr:
        start = self._index - 1
        node = exp.Paren(this=self._parse_unary())
        if node.this is None:
            self.raise_error("Required operand of +")
        self._force(node, start)
        return node

    def _at_semantics(self) -> bool:
        """Whether RUNNING or FINAL comes next, followed by a call; otherwise the word is a column name."""
        if self._queries or self._curr.token_type is TokenType.IDENTIFIER:
            return False
        if self._curr.text.upper() not in ("RUNNING", "FINAL") or self._index + 2 >= self._tokens_size:
            return False
        name, paren = self._next, self._tokens[self._index + 2]
        return (
            paren.token_type is TokenType.L_PAREN
            and name.token_type in self.FUNC_TOKENS
            and name.text.upper() not in _OPERATORS
        )

    def _parse_semantics(self) -> exp.Expr | None:
        start = self._index
        running = self._curr.text.upper() == "RUNNING"
        self._advance()
        call = self._parse_function()
        if isinstance(call, Navigation | Classifier):
            call.set("running", running)
            self._force(call, start)
            return self._parse_column_ops(call)
        node = Semantics(this=call, running=running)
        self._force(node, start)
        return self._parse_column_ops(node)

    def _parse_navigation(self, name: str) -> exp.Expr:
        args = self._parse_function_args()
        self._check_closed()
        if self._queries:  # inside a subquery the name means Spark's aggregate
            build = self.FUNCTIONS.get(name)
            return build(args) if build else exp.Anonymous(this=name, expressions=args)
        if not args:
            self.raise_error(f"{name} needs an argument")
        node = Navigation(function=name, this=args[0], offset=_offset(name, args[1]) if len(args) > 1 else None)
        if args[2:]:
            node.set("extra", args[2:])
        return node

    def _parse_classifier(self) -> exp.Expr:
        node = Classifier(this=self._parse_id_var(any_token=False))
        self._check_closed("CLASSIFIER takes one variable at most")
        return node

    def _parse_no_arguments(self, name: str, node: type[exp.Expression]) -> exp.Expr:
        self._check_closed(f"{name} takes no arguments")
        return node()

    def _check_closed(self, otherwise: str = "expected )") -> None:
        if self._curr.token_type is not TokenType.R_PAREN:
            self.raise_error(otherwise)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if self.kleene and not self._queries and self._curr.token_type is TokenType.L_BRACKET:
            if this is None:
                raise self._misplaced_equivalence()
            if isinstance(this, exp.Column) and len(this.parts) == 1 and (node := self._parse_kleene(this)):
                return node
        return super()._parse_bracket(this)

    def _parse_kleene(self, column: exp.Column) -> exp.Expr | None:
        """``v[i-1]`` or ``v[..i-1]``; None (consuming nothing) if the brackets contain anything else."""
        inner = self._bracketed()
        texts = [token.text.upper() for token in inner]
        if texts == [".", ".", "I", "-", "1"]:
            node: exp.Expr = KleenePrefix(this=column.this)
        elif (index := _kleene_index(texts, column.name)) is not None:
            node = KleeneRef(this=column.this, index=index[0], offset=index[1])
        elif "I" in texts or texts[:2] == [".", "."]:
            raise CepSyntaxError(
                f"{self.sql[inner[0].start : inner[-1].end + 1]} is not an index of a Kleene closure",
                code="KLEENE_INDEX",
                sql=self.sql,
                span=Span(inner[0].start, inner[-1].end + 1),
                hint=_INDEX_HINT,
            )
        else:
            return None
        self._advance(len(inner) + 2)
        set_span(node, Span(span_of(column).start, self._prev.end + 1))
        return node

    def _bracketed(self) -> list[RawToken]:
        """The tokens between the next bracket and the first closing one."""
        inner: list[RawToken] = []
        for token in self._tokens[self._index + 1 :]:
            if token.token_type is TokenType.R_BRACKET:
                return inner
            inner.append(token)
        self.raise_error("expected ]")
        return inner

    def _misplaced_equivalence(self) -> CepUnsupportedError:
        inner = self._bracketed()
        end = inner[-1].end + 2 if inner else self._curr.end + 2
        return CepUnsupportedError(
            "an equivalence test [attribute] cannot be used under OR, under NOT or inside an expression",
            code="EQUIVALENCE",
            sql=self.sql,
            span=Span(self._curr.start, end),
            hint="write it as a separate condition, joined by AND: WHERE [attribute] AND …",
        )


def new_parser(*, kleene: bool = False) -> CepParser:
    """A parser for one expression."""
    parser = CepParser(dialect=SPARK, error_level=ErrorLevel.IMMEDIATE)
    parser.kleene = kleene
    return parser


def _offset(function: str, node: exp.Expr) -> exp.Expr:
    """The offset of a navigation: of a parameter, the number that it stands for."""
    if not isinstance(node, exp.Placeholder):
        return node
    value = value_at(span_of(node), f"the offset of {function}")
    if value is None:
        return node
    number = exp.Literal.number(value)
    set_span(number, span_of(node))
    return number


def _kleene_index(texts: list[str], variable: str) -> tuple[str | int, int] | None:
    """``['I', '-', '1']`` → ``('i', -1)``; None if it is not a Kleene index."""
    if texts == ["I"]:
        return "i", 0
    if len(texts) == 3 and texts[0] == "I" and texts[1] in "+-" and texts[2].isdigit():
        return "i", int(texts[1] + texts[2])
    if texts in (["FIRST"], ["LAST"]):
        return texts[0].lower(), 0
    if texts == [variable.upper(), ".", "LEN"]:
        return "last", 0
    if len(texts) == 1 and texts[0].isdigit():
        return int(texts[0]), 0
    return None
