"""Registers ``cep_match`` with Spark: one builtin table function that serves every pattern clause.

``cep_match(TABLE(…), '<MatchSpec JSON>')`` is self-contained SQL, so it can be stored in a view, read by another session and resolved again after a
restart. The JSON is removed from the argument list when the call is resolved (a literal argument would be sent to the worker with every row); the
resulting UDTF carries it.

In Spark Connect the JVM is out of reach: there each MatchSpec is registered under a name derived from its hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.sql.functions import arrow_udtf, udtf
from pyspark.sql.types import DataType, StructType, _parse_datatype_json_string
from pyspark.sql.udf import _wrap_function
from pyspark.util import PythonEvalType

from sparkcep.errors import CepAnalysisError, CepError
from sparkcep.spec import from_json
from sql_functions.expand_function import AnalyzedExpandFunction, closures, expand_function, expanded_type
from sql_functions.java import java_class

FUNCTION_NAME = "cep_match"
EXPAND_NAME = "cep_expand"
_BUILTIN = ("builtin", "system")


Fail = Callable[[CepError], Exception]
"""The exception that carries an error through the JVM."""


class Transport(Protocol):
    """How values that Python workers cannot have travel: as values of another type, and the SQL that makes them that and back."""

    def carried(self, data_type: DataType) -> DataType: ...
    def encoded(self, text: str, data_type: DataType) -> str: ...
    def decoded(self, text: str, data_type: DataType) -> str: ...


Builders = tuple[tuple[str, Any], ...]
"""Table functions: names, and the scala.Function1 that makes the plan of a call."""


def register_builtin(context: Any, builders: Builders) -> None:
    """Add table functions to Spark's builtin ones: sessions created afterwards have them. ``context``: SparkContext."""
    registry = java_class(context, "org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry$")
    for name, builder in builders:
        _register(context, getattr(registry, "MODULE$").builtin(), (name,), builder)


def register_in_session(context: Any, jsession: Any, builders: Builders) -> None:
    """Add table functions to an existing classic session (idempotent)."""
    registry = jsession.sessionState().tableFunctionRegistry()
    for name, builder in builders:
        try:
            _register(context, registry, (name,), builder)
        except Py4JJavaError as error:
            # Spark 4.3 requires the full name; earlier versions look functions up by the bare one.
            if "fully qualified" not in str(error):
                raise
            _register(context, registry, (name, *_BUILTIN), builder)


def connect_function(spark: Any, spec_json: str) -> str:
    """Register the MatchSpec's own UDTF with a Spark Connect session; returns the function's name."""
    from sql_functions.match_function import table_function

    name = f"{FUNCTION_NAME}_{hashlib.sha256(spec_json.encode()).hexdigest()[:16]}"
    spec: Any = from_json(spec_json)
    schema = StructType.fromJson(json.loads(spec.schema))
    spark.udtf.register(name, arrow_udtf(table_function(spec_json), returnType=schema).asDeterministic())
    return name


def connect_expand(spark: Any) -> None:
    """Register ``cep_expand`` with a Spark Connect session."""
    spark.udtf.register(EXPAND_NAME, udtf(AnalyzedExpandFunction))


class _Builder:
    """scala.Function1: the argument expressions of a ``cep_match`` call → the logical plan of its UDTF."""

    def __init__(self, context: Any, fail: Fail) -> None:
        self._context, self._fail = context, fail
        self._udtf = lru_cache(maxsize=256)(self._make_udtf)
        self._parser: Any = None

    def apply(self, arguments: Any) -> Any:
        try:
            udtf = self._udtf(_literal(arguments.last()))
        except CepError as error:
            raise self._fail(error) from None
        if self._parser is None:
            self._parser = _find_parser(self._context, udtf)
        return udtf.builder(arguments.init(), self._parser)

    def _make_udtf(self, spec_json: str) -> Any:
        from sql_functions.match_function import table_function

        spec: Any = from_json(spec_json)
        function = _wrap_function(self._context, table_function(spec_json))
        return _java_udtf(self._context, FUNCTION_NAME, function, spec.schema, PythonEvalType.SQL_ARROW_UDTF)

    class Java:
        implements = ["scala.Function1"]


class _ExpandBuilder:
    """scala.Function1: the argument of a ``cep_expand`` call, a buffer → the logical plan of a UDTF with the columns given by its type."""

    def __init__(self, context: Any, fail: Fail, transport: Transport) -> None:
        self._context, self._fail, self._transport = context, fail, transport
        self._udtf = lru_cache(maxsize=256)(self._make_udtf)

    def apply(self, arguments: Any) -> Any:
        try:
            if arguments.size() != 1:
                raise CepAnalysisError("cep_expand takes one argument: a buffer", code="BUFFER")
            buffer = _parse_datatype_json_string(arguments.head().dataType().json())
            columns, sent = expanded_type(buffer), self._transport.carried(buffer)
            udtf = self._udtf(sent.json())
        except CepError as error:
            raise self._fail(error) from None
        parser = _find_parser(self._context, udtf)
        if sent == buffer:
            return udtf.builder(arguments, parser)
        encoded = self._encoded(arguments.head(), buffer)
        return self._decoded(udtf.builder(self._seq([encoded]), parser), columns)

    def _encoded(self, buffer: Any, data_type: DataType) -> Any:
        """The expression of the encoding of the expression ``buffer``."""
        one = "`__cep_one`"
        text = f"TRANSFORM(ARRAY({one}), {one} -> {self._transport.encoded(one, data_type)})[0]"
        return self._with_first(self._parsed(text), buffer)

    def _decoded(self, plan: Any, columns: StructType) -> Any:
        """The plan whose ``columns`` have their own types again."""
        quoted = [f"`{name.replace('`', '``')}`" for name in columns.names]
        texts = [self._transport.decoded(name, one.dataType) for name, one in zip(quoted, columns, strict=True)]
        named = [self._parsed(f"{text} AS {name}") for text, name in zip(texts, quoted, strict=True)]
        project = java_class(self._context, "org.apache.spark.sql.catalyst.plans.logical.Project")
        return project(self._seq(named), plan)

    def _with_first(self, tree: Any, leaf: Any) -> Any:
        """``tree`` with another first leaf."""
        children = [tree.children().apply(i) for i in range(tree.children().size())]
        if not children:
            return leaf
        return tree.withNewChildren(self._seq([self._with_first(children[0], leaf), *children[1:]]))

    def _parsed(self, text: str) -> Any:
        parser = java_class(self._context, "org.apache.spark.sql.catalyst.parser.CatalystSqlParser$")
        return getattr(parser, "MODULE$").parseExpression(text)

    def _seq(self, items: list[Any]) -> Any:
        return java_class(self._context, "org.apache.spark.api.python.PythonUtils").toSeq(items)

    def _make_udtf(self, buffer_type: str) -> Any:
        columns = expanded_type(_parse_datatype_json_string(buffer_type))
        function = _wrap_function(self._context, expand_function(closures(columns)))
        return _java_udtf(self._context, EXPAND_NAME, function, columns.json(), PythonEvalType.SQL_TABLE_UDF)

    class Java:
        implements = ["scala.Function1"]


def _java_udtf(context: Any, name: str, function: Any, schema: str, kind: int) -> Any:
    """Spark's UDTF; ``schema``: of its columns, as JSON; ``kind``: a PythonEvalType."""
    columns = java_class(context, "org.apache.spark.sql.types.DataType").fromJson(schema)
    make = java_class(context, "org.apache.spark.sql.execution.python.UserDefinedPythonTableFunction")
    return make(name, function, columns, kind, True)


def _find_parser(context: Any, udtf: Any) -> Any:
    """The second argument of ``builder``: a function that returns a parser; before Spark 4.3 the parser itself."""
    methods = [method for method in udtf.getClass().getMethods() if method.getName() == "builder"]
    if methods[0].getParameterTypes()[1].getSimpleName() == "Function0":
        return _NoParser()
    return java_class(context, "org.apache.spark.sql.catalyst.parser.CatalystSqlParser")


class _NoParser:
    """scala.Function0: PySpark asks for a parser only for UDTFs with ``analyze``; Arrow UDTFs have none."""

    def apply(self) -> None:
        return None

    class Java:
        implements = ["scala.Function0"]


def _literal(expression: Any) -> str:
    try:
        return str(expression.value().toString())
    except Exception:
        raise CepAnalysisError(
            f"{FUNCTION_NAME} takes TABLE(…) and a MatchSpec as a string literal",
            hint="write a MATCH_RECOGNIZE or MATCH PATTERN clause; sparkcep writes this call",
        ) from None


def table_functions(context: Any, fail: Fail, transport: Transport) -> Builders:
    """``cep_match`` and ``cep_expand``; ``fail``: an error → what a callback raises in the JVM."""
    return (FUNCTION_NAME, _Builder(context, fail)), (EXPAND_NAME, _ExpandBuilder(context, fail, transport))


def _register(context: Any, registry: Any, path: tuple[str, ...], builder: Any) -> None:
    registry.registerFunction(function_identifier(context, *path), builder, "built-in")


def function_identifier(context: Any, name: str, *qualifiers: str) -> Any:
    """Spark's name of a function; ``qualifiers``: schema and catalog."""
    identifier = java_class(context, "org.apache.spark.sql.catalyst.FunctionIdentifier")
    return identifier(name, *map(java_class(context, "scala.Option").apply, qualifiers))
