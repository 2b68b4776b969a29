"""The clause's input as Spark sees it: its columns, and the types of expressions over it.

In: a site and a ``Describe`` (query text → StructType, Spark's analysis). Out: columns by name, types, and Spark's errors mapped to the user's span.
Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any, Protocol

from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, IntegerType, LongType, StringType, StructField, StructType

from rewrites.dialect.clause import Name, Site
from rewrites.dialect.tokens import tokenize
from rewrites.sql.builder import quoted
from rewrites.sql.parameters import with_values
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.spec.expression import Constant, SparkFunction

_OUR_COLUMN = re.compile(r", (`__cep`\.)?`__cep_\w+`|(`__cep`\.)?`__cep_\w+`, ")
"""One of our internal columns among Spark's suggestions."""

_JAVA_CLASS = re.compile(r"^(\w+\.)+\w+: (?=\[)")
"""What stands before the message of an exception that PySpark has no class for."""

_NOT_ONE_TABLE = {
    *("|", ",", "JOIN", "SELECT", "WHERE", "GROUP", "ORDER", "LATERAL", "UNION", "EXCEPT", "INTERSECT", "MINUS"),
    "LIMIT",
}
"""What may stand behind FROM where it is followed by more than a table."""

_INTEGER = re.compile(r"-?[0-9]{1,9}")
_WORD = re.compile(r"\w+|\$\{")
_COMPUTED = {"identifier", "${"}
"""Words with which a query names what its text does not."""
_PLAIN_NAME = re.compile(r"\s*(?:(\w+)|`(\w+)`)(?=[\s(])")

HIDDEN = "__cep_r"
"""How columns of the input begin that no user knows: values of the queries around a clause (``outer_values``)."""

RESERVED = "__cep_"
"""How the names of the rewriter's columns begin."""

_STEADY_ZONE = re.compile(
    r"(UTC|GMT|UT)?([+-]\d{1,2}(:?\d\d){0,2})?|Z|Zulu|Universal|Greenwich|UCT|Etc/.+", re.IGNORECASE
)
"""Names of time zones whose offset has always been the same."""

_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark notes that a STRING is a CHAR(n)."""
_CHAR_TYPE = re.compile(r"char\((\d+)\)")

ANSI = "1 + '1'"
"""An expression that is BIGINT in ANSI mode, otherwise DOUBLE."""

Describe = Callable[[str], StructType]


class Resources(Protocol):
    """What Spark knows before it runs a query, for choices that do not change the answer.

    ``cores``: the tasks that run concurrently. ``shuffle_partitions``: the tasks of a shuffle in this session. ``size``: bytes of the query's input,
    None if unknown. ``cheap``: running the query twice costs little, and gives the same rows.
    """

    @property
    def cores(self) -> int: ...
    @property
    def shuffle_partitions(self) -> int: ...
    @property
    def size(self) -> int | None: ...
    @property
    def cheap(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Relation:
    """The input of one clause: ``text`` to put after FROM, and what Spark knows of it.

    ``describe`` sees the CTEs of the statement; ``scope`` adds them to a query that is to run on its own.
    ``expression``: Spark's analysis of an expression over the columns of a relation (as SQL) as a tree (a ``spec.expression.SparkFunction``).
    ``resources``: what Spark knows of the cost of columns (quoted; none: all) of a query, where it is in reach; ``scattered``: the same, None unless
    its rows come as they are read, not as an exchange (or one before they were written) has distributed them. ``streaming``: they come from a stream.
    ``columns``: all columns of a query as trees over a relation below it, where that is in reach. ``literal``: SQL of a parameter's value.
    ``zone``: the session's time zone.
    ``feed``: of a stream of changes all columns; ``schema`` lacks those of FEED.
    ``inner``: columns of ``text`` that ``schema`` lacks as well, by name those that they repeat (``inner_references``).
    ``written``: the text as the user knows it, where that is not all of it.
    """

    text: str
    schema: StructType
    describe: Describe
    scope: Callable[[str], str] = str
    expression: Callable[[str, str], SparkFunction | Constant] | None = None
    resources: Callable[[str, tuple[str, ...]], Resources] | None = None
    scattered: Callable[[str, tuple[str, ...]], Resources | None] | None = None
    streaming: bool = False
    literal: Callable[[str], str] | None = None
    feed: StructType | None = None
    columns: Callable[[str, str], dict[str, SparkFunction | Constant]] | None = None
    zone: Callable[[], str] | None = None
    inner: Mapping[str, str] = field(default_factory=dict)
    written: str | None = None

    def alone(self, query: str) -> str:
        """``query`` as text that is parsed on its own: with the CTEs that it may name, and with the values of parameters."""
        scoped = self.scope(query)
        return scoped if self.literal is None else with_values(scoped, self.literal)

    @property
    def stand_in(self) -> str:
        """An empty relation with the same columns: Spark types expressions over it without re-analysing the input's query."""
        inner = [StructField(name, self.schema[column].dataType) for name, column in self.inner.items()]
        columns = [
            f"CAST(NULL AS {one.dataType.simpleString()}) AS {quoted(one.name)}" for one in (*self.schema, *inner)
        ]
        return f"(SELECT {', '.join(columns)})"

    @property
    def told(self) -> str:
        """The input for those who explain it."""
        return self.written or self.text

    @property
    def shown(self) -> list[StructField]:
        """The columns that the user knows."""
        return [field for field in self.schema if not field.name.startswith(HIDDEN)]

    def column(self, name: str) -> str | None:
        """The input column that a name refers to (in Spark's spelling), or None. Where case tells columns apart, that of the same spelling."""
        names = self.schema.names
        return name if name in names else next((one for one in names if one.lower() == name.lower()), None)

    def plain_column(self, text: str) -> str | None:
        """The input column that SQL is, quoted or not; None if it is more than that."""
        quotes = len(text) > 2 and text[0] == text[-1] == "`"
        return self.column(text[1:-1].replace("``", "`") if quotes else text)

    def columns_of(self, texts: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """A query, and those of its columns, for ``resources``, that are the SQL ``texts`` (none: all) over the input: if they are columns, the query
        of ``schema``, which Spark has analysed."""
        columns = tuple(quoted(column) for text in texts if (column := self.plain_column(text)) is not None)
        plain = len(columns) == len(texts)
        return self.scope(f"SELECT {'*' if plain else ', '.join(texts)} FROM {self.text}\n"), columns if plain else ()

    def chars(self, outputs: Iterable[tuple[Any, DataType]]) -> dict[str, dict[str, str]]:
        """Of an engine's outputs that are values of CHAR(n) columns, by name what Spark notes of these."""
        columns = (
            (output.name, getattr(output.source, "column", None)) for output, kind in outputs if kind == StringType()
        )
        noted = {field.name: field.metadata.get(_CHAR, "") for field in self.schema}
        return {name: {_CHAR: noted[column]} for name, column in columns if noted.get(column, "").startswith("char")}

    def char_length(self, column: str) -> int | None:
        """The n of a CHAR(n) column, which Spark knows as a STRING."""
        found = _CHAR_TYPE.fullmatch(self.schema[column].metadata.get(_CHAR, ""))
        return int(found[1]) if found else None

    def is_ansi(self) -> bool:
        """Whether the session is in ANSI mode."""
        return self.types_of([(ANSI, Span(0, 0))], "(SELECT 1)") == [LongType()]

    @property
    def has_steady_zone(self) -> bool:
        """Whether local times of the session are as far apart as instants are."""
        return self.zone is not None and _STEADY_ZONE.fullmatch(self.zone()) is not None

    def require(self, name: Name) -> str:
        """The input column that a name refers to; an error with a suggestion if there is none."""
        column = self.column(name.value)
        if column is None:
            raise CepAnalysisError(
                f"the input has no column {name.value}",
                code="UNKNOWN_COLUMN",
                span=name.span,
                hint=suggestion(name.value, self.schema.names),
            )
        return column

    def types_of(self, texts: Iterable[tuple[str, Span]], source: str | None = None) -> list[DataType]:
        """Spark's types of expressions over the input (or over ``source``); Spark's errors are raised at the expression's span."""
        wanted = list(texts)
        if not wanted:
            return []
        known = [self._known_type(text) for text, _ in wanted]
        if source is None and None not in known:
            return [data_type for data_type in known if data_type is not None]
        for candidate in [source] if source else [self.stand_in, self.text]:
            try:
                return self._types([text for text, _ in wanted], candidate)
            except PySparkException:
                continue
        return [self._type(text, span, source or self.text) for text, span in wanted]

    def _known_type(self, text: str) -> DataType | None:
        """The type of what needs no analysis: a column, the only one of its name, or an integer."""
        if _INTEGER.fullmatch(text):
            return IntegerType()
        named = [one for one in self.schema.fields if one.name.lower() == text.lower()]
        return named[0].dataType if len(named) == 1 else None

    def _type(self, text: str, span: Span, source: str) -> DataType:
        try:
            return self._types([text], source)[0]
        except PySparkException as error:
            raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=span) from None

    def _types(self, texts: list[str], source: str) -> list[DataType]:
        columns = ", ".join(f"{text}\n AS `__cep_t{i}`" for i, text in enumerate(texts))
        return [field.dataType for field in self.describe(f"SELECT {columns} FROM {source}")]


class InputError(Exception):
    """Spark cannot read the clause's input (an unknown table, say): ``query`` reproduces the error ``cause``."""

    def __init__(self, query: str, cause: PySparkException) -> None:
        super().__init__(str(cause))
        self.query = query
        self.cause = cause


def relation(site: Site, source: Source, describe: Describe, beside: Callable[[str], str] = str) -> Relation:
    """The input of the clause at ``site``, as ``beside`` makes it from the text. Raises InputError if Spark cannot read it, CepUnsupportedError if it
    is correlated.
    """
    text = beside(_input(site, source))
    scope = partial(in_scope, site=site, source=source)
    scoped = lru_cache(lambda query: describe(scope(query)))
    query = f"SELECT * FROM {text}\n"
    try:
        schema = scoped(query)
    except PySparkException as error:
        _refuse_recursion(site, source, error)
        if not site.lateral:
            raise InputError(in_scope(query, site, source), error) from None
        raise CepUnsupportedError(
            "a pattern clause over a correlated LATERAL input",
            code="LATERAL",
            span=site.input,
            hint="join the two inputs first and put the clause over the result",
        ) from None
    refuse_reserved([name for name in schema.names if beside is str or not name.startswith(HIDDEN)], site.input)
    known: dict[str, Any] = {
        name: getattr(describe, name, None)
        for name in ("expression", "resources", "scattered", "literal", "columns", "zone")
    }
    return Relation(text, schema, scoped, scope, streaming=is_stream(describe, scope(query)), **known)


def _refuse_recursion(site: Site, source: Source, error: PySparkException) -> None:
    """Raise where the table that Spark does not find is the recursive one in whose definition the clause stands."""
    if not site.around or error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return
    missing = str((error.getMessageParameters() or {}).get("relationName")).strip("`").lower()
    if missing in {_defined_name(source.text(span)) for span in site.around}:
        raise CepUnsupportedError(
            f"a pattern clause over {missing}, which its own WITH RECURSIVE defines",
            code="RECURSIVE",
            span=site.input,
            hint="each round has its rows alone: put the clause over the finished table, behind the WITH",
        ) from None


def refuse_reserved(names: Iterable[str], place: Span) -> None:
    """Raise at an input, at ``place``, whose columns have a name of the rewriter's."""
    for name in names:
        if name.lower().startswith(RESERVED):
            raise CepAnalysisError(
                f"the input has a column {name}",
                code="RESERVED_NAME",
                span=place,
                hint=f"names that begin with {RESERVED} are the rewriter's: FROM (SELECT * EXCEPT ({name}), {name} AS other FROM …)",
            )


def is_stream(describe: Describe, query: str) -> bool:
    """Whether the rows of ``query`` come from a stream."""
    streaming: Callable[[str], bool] | None = getattr(describe, "streaming", None)
    return streaming is not None and streaming(query)


def no_stream(what: str, span: Span) -> CepUnsupportedError:
    """The refusal of what stands at ``span``, over a stream."""
    return CepUnsupportedError(
        f"{what} over a streaming relation",
        code="STREAM",
        span=span,
        hint="write the stream to a table and put the clause over that, or run the query on each batch in foreachBatch",
    )


def _input(site: Site, source: Source) -> str:
    """The input as a table reference; a query before a pipe stands in parentheses, but for a mere ``FROM t``."""
    text = source.text(site.input)
    if not site.pipe:
        return text
    tokens = tokenize(text)
    words = {token.key for token, outer in zip(tokens.items, tokens.outer, strict=True) if outer < 0}
    if tokens.items[0].key == "FROM" and not words & _NOT_ONE_TABLE:
        return text[tokens.items[0].span.end :]
    return f"({text}\n)"


def in_scope(query: str, site: Site, source: Source) -> str:
    """``query`` preceded by those CTEs visible at the site that it may name, or that these may: ``WITH a AS (…) (WITH b AS (…) query)``.

    Spark analyses each CTE of a query, also one that nothing reads.
    """
    scopes = list(zip(site.scopes, site.recursive or [False] * len(site.scopes), strict=True))
    named, depth = _words(query), 0
    for definitions, recursive in reversed(scopes):
        kept: list[str] = []
        for text in map(source.text, reversed(definitions)):
            if recursive or named & _COMPUTED or _may_name(named, text):
                kept.append(text)
                named |= _words(text)
        if kept:
            body = query if depth == 0 else f"({query})"
            query = f"WITH {'RECURSIVE ' if recursive else ''}{', '.join(reversed(kept))}\n {body}"
            depth += 1
    return query


@lru_cache(maxsize=128)
def _words(text: str) -> frozenset[str]:
    """All that may be a name in ``text``, in lower case."""
    return frozenset(_WORD.findall(text.lower()))


def _may_name(words: frozenset[str], definition: str) -> bool:
    """Whether a text of these words may name the CTE ``name [(columns)] AS (…)``; one whose name has other characters may be anywhere."""
    name = _defined_name(definition)
    return name is None or name in words


def _defined_name(definition: str) -> str | None:
    """The name of a CTE, in lower case; None for one that has other characters than a word."""
    found = _PLAIN_NAME.match(definition)
    return None if found is None else (found[1] or found[2]).lower()


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """``did you mean price?``, or the list of candidates."""
    known = list(candidates)
    close = get_close_matches(name.lower(), [candidate.lower() for candidate in known], n=1)
    if close:
        return f"did you mean {next(candidate for candidate in known if candidate.lower() == close[0])}?"
    return f"available: {', '.join(known)}"


def spark_message(error: PySparkException) -> str:
    """Spark's message without the query plan and position, which refer to SQL that the user never wrote."""
    message = str(error.getMessage() or error)
    for mark in (";\n", "\n\nJVM stacktrace", "; line ", "\n== SQL "):
        message = message.split(mark)[0].strip()
    message = _JAVA_CLASS.sub("", message)
    return _OUR_COLUMN.sub("", message).replace("`__cep`.", "")
