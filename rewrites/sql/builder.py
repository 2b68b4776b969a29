"""The SQL we write ourselves, as sqlglot expressions; the user's own text goes in as it is."""

from __future__ import annotations

from sqlglot import exp

from sparkcep.spec import AnalyzeSpec, MatchSpec, to_json

FUNCTION_NAME = "cep_match"
ALIAS = "__cep"
ROW_NUMBER = "__cep_row"
"""The column with a row's number in its partition."""


def raw(text: str) -> exp.Expression:
    """The user's text inside a tree of ours."""
    return exp.Var(this=text)


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return exp.to_identifier(name, quoted=True).sql("spark")


def string(value: str) -> str:
    """A string literal."""
    return exp.Literal.string(value).sql("spark")


def named(text: str, name: str) -> exp.Expression:
    """``text AS `name```."""
    return exp.alias_(raw(text), name, quoted=True)


def subquery(query: exp.Expression) -> exp.Subquery:
    """``(query) AS `__cep```."""
    alias = exp.TableAlias(this=exp.to_identifier(ALIAS, quoted=True))
    return exp.Subquery(this=query, alias=alias)


def select(columns: list[exp.Expression], source: str | exp.Expression) -> exp.Select:
    """``SELECT columns FROM source``; a text source is a table reference of the user's."""
    table = raw(f"{source}\n") if isinstance(source, str) else subquery(source)
    return exp.select(*columns).from_(table)


def over(function: str, partition: list[str], order: list[str]) -> str:
    """``function OVER (PARTITION BY … ORDER BY …)``; without an order any will do."""
    by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    return f"{function} OVER ({by}ORDER BY {', '.join(order) or 'NULL'})"


def match_call(rows: exp.Expression, spec: MatchSpec | AnalyzeSpec, name: str | None = None) -> exp.Expression:
    """``cep_match(TABLE(rows), '<MatchSpec JSON>') AS `__cep```; with a ``name`` of its own the function knows its spec already.

    Without the alias Spark would read a ``WHERE (flag)`` behind it as an alias ``where`` with a column list.
    """
    table = exp.Anonymous(this="TABLE", expressions=[rows])
    arguments = [table] if name else [table, exp.Literal.string(to_json(spec))]
    call = exp.Anonymous(this=name or FUNCTION_NAME, expressions=arguments)
    return exp.Table(this=call, alias=exp.TableAlias(this=exp.to_identifier(ALIAS, quoted=True)))


def text_of(query: exp.Expression) -> str:
    """The SQL text of a tree."""
    return query.sql("spark", normalize_functions=False, comments=False)
