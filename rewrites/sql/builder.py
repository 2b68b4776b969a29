"""The SQL that we generate, as sqlglot expressions; the user's own text is embedded verbatim."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import ArrayType, DataType, StructType
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
    """``SELECT columns FROM source``; a source given as text is one of the user's table references."""
    table = raw(f"{source}\n") if isinstance(source, str) else subquery(source)
    return exp.select(*columns).from_(table, copy=False)


def conjunction(tests: Sequence[str]) -> str:
    """The tests, ANDed. No parenthesis at the start: behind a table with the name STREAM Spark takes ``WHERE (…)`` for a table function."""
    return " AND ".join(["TRUE", *(f"({test})" for test in tests)])


def filtered(query: exp.Select, tests: Sequence[str]) -> exp.Select:
    """The rows for which all tests hold."""
    return query.where(raw(conjunction(tests))) if tests else query


def null_of(kind: DataType) -> str:
    """A NULL of a type, or a STRUCT or an ARRAY of them."""
    if isinstance(kind, ArrayType):
        return f"ARRAY({null_of(kind.elementType)})"
    if isinstance(kind, StructType):
        return f"NAMED_STRUCT({', '.join(f'{string(field.name)}, {null_of(field.dataType)}' for field in kind)})"
    return f"CAST(NULL AS {kind.simpleString()})"


def over(function: str, partition: list[str], order: list[str]) -> str:
    """``function OVER (PARTITION BY … ORDER BY …)``; an empty ``order`` means that any order will do."""
    by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    return f"{function} OVER ({by}ORDER BY {', '.join(order) or 'NULL'})"


def match_call(rows: exp.Expression, spec: MatchSpec | AnalyzeSpec, name: str | None = None) -> exp.Expression:
    """``cep_match(TABLE(rows), '<MatchSpec JSON>') AS `__cep```; a function with a ``name`` of its own already knows its spec.

    Without the alias Spark would parse a following ``WHERE (flag)`` as an alias ``where`` with a column list.
    """
    table = exp.Anonymous(this="TABLE", expressions=[rows])
    arguments = [table] if name else [table, exp.Literal.string(to_json(spec))]
    call = exp.Anonymous(this=name or FUNCTION_NAME, expressions=arguments)
    return exp.Table(this=call, alias=exp.TableAlias(this=exp.to_identifier(ALIAS, quoted=True)))


def text_of(query: exp.Expression) -> str:
    """The SQL text of a tree."""
    return query.sql("spark", normalize_functions=False, comments=False)
