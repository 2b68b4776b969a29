"""The extension of a classic (JVM) SparkSession: a parser in front of Spark's own.

Spark calls its session's parser for every statement: ``spark.sql``, view texts, CTAS, EXPLAIN, Thrift connections. ``PatternParser`` takes its place,
rewrites the pattern clauses of a statement and delegates the result, and every other call, to the original parser. Statements without a clause are
passed through unchanged, and Spark's own errors propagate as the original Java exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any
from weakref import WeakValueDictionary

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException, ParseException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from rewrites import InputError, Rewritten, positional_name
from rewrites.bind.relation import spark_message
from rewrites.dialect import placeholders
from rewrites.settings import HINTS_OFF
from rewrites.sql import transport
from sparkcep.errors import CepError, CepInternalError
from sparkcep.session.aggregate_functions import counted_pattern
from sparkcep.session.config import OTHER_DIALECTS, PREFIX, options
from sparkcep.session.kernels import PRECOMPILE, compile_beside
from sparkcep.session.patterns import SessionPatterns
from sparkcep.session.raising import remember, translate_errors
from sparkcep.session.statement import analysed as analysed_statement
from sparkcep.session.statement import concerns, not_parsed, spark_sql, without_clauses
from sparkcep.session.workers import point_workers, preload_workers
from sparkcep.streaming.function import FUNCTION_NAME, StreamBuilder
from sql_functions.catalog import ClassicDescribe, classic_describe, dataset_of_plan, quiet
from sql_functions.java import java_class
from sql_functions.register import register_builtin, register_in_session, table_functions
from sql_functions.register_aggregates import builtin_functions, register_aggregates

Parse = Callable[[str], Any]
Setting = Callable[[str], str | None]

_OURS = re.compile(rf"[{{ ]({re.escape(PREFIX)}[^= ]+|{'|'.join(map(re.escape, (HINTS_OFF, *OTHER_DIALECTS)))})=")
"""The names of settings that ``options`` looks up, in Java's text of a map (``{key=value, …}``)."""


def install(spark: SparkSession) -> None:
    """Install the extension in ``spark`` and the sessions it creates from now on (idempotent)."""
    context, jsession = spark.sparkContext, spark._jsparkSession
    _start_callbacks(context._gateway)
    point_workers(context)
    preload_workers(context)
    translate_errors()
    parser = _parser_of(context, jsession)
    if parser is not None:
        parser.injection.active = parser.active = True
        return
    fail = partial(_java_error, context)
    compile_beside(spark.conf.get(PRECOMPILE, "auto").lower(), context.master)
    functions = (*table_functions(context, fail, transport), (FUNCTION_NAME, StreamBuilder(context, fail)))
    register_builtin(context, functions)
    register_in_session(context, jsession, functions)
    register_aggregates(context, builtin_functions(context), counted_pattern, fail)
    register_aggregates(context, jsession.sessionState().functionRegistry(), counted_pattern, fail)
    injection = _injection(context, jsession.extensions())
    _set_parser(jsession, injection.apply(jsession, jsession.sessionState().sqlParser()))


def uninstall(spark: SparkSession) -> None:
    """Remove the extension from ``spark`` and from the sessions it creates from now on; stored views keep working."""
    parser = _parser_of(spark.sparkContext, spark._jsparkSession)
    if parser is not None:
        parser.injection.active = parser.active = False


def rewritten(spark: SparkSession, text: str) -> str:
    """The SQL that Spark gets for ``text`` (the text itself if it has no pattern clause)."""
    parser = _parser_of(spark.sparkContext, spark._jsparkSession)
    if parser is None:
        raise CepInternalError(
            "sparkcep is not installed in this session", code="NOT_INSTALLED", hint="sparkcep.install(spark)"
        )
    try:
        return parser.rewrite(text, parser.parse_plain)
    except InputError as error:
        raise error.cause from None


def analysed(spark: SparkSession, text: str, **changes: Any) -> Rewritten:
    """All stages of rewriting ``text``, with ``changes`` to the session's ``Options``."""
    install(spark)
    parser = _parser_of(spark.sparkContext, spark._jsparkSession)
    assert parser is not None
    try:
        return parser.analysed(text, **changes)
    except InputError as error:
        raise error.cause from None


class PatternParser:
    """org.apache.spark.sql.catalyst.parser.ParserInterface: rewrites, then delegates.

    It holds its session by a weak reference: the session holds the parser, across two languages, and neither garbage collector sees the whole cycle.
    A Thrift server creates a session for each connection.
    """

    def __init__(self, injection: _Injection, jsession: Any, delegate: Any) -> None:
        self.active = True
        self.injection = injection
        self._session = java_class(injection.context, "java.lang.ref.WeakReference")(jsession)
        self._delegate = delegate
        self._settings: Any = None

    def parsePlan(self, text: str) -> Any:  # noqa: N802 (Spark's name)
        return self._parse(text, self._delegate.parsePlan, self._delegate.parsePlan)

    def parseQuery(self, text: str) -> Any:  # noqa: N802
        return self._parse(text, self._delegate.parseQuery, self._delegate.parseQuery)

    def parsePlanWithParameters(self, text: str, parameters: Any) -> Any:  # noqa: N802
        parse = self._delegate.parsePlanWithParameters
        rewritten = lru_cache(lambda: self._with_parameters(text, parameters))
        return self._parse(text, lambda sql: parse(sql, parameters), lambda sql: rewritten()(sql))

    def _with_parameters(self, text: str, parameters: Any) -> Parse:
        """The parser of rewritten SQL. Where there are no values Spark need not look for their markers, for which it parses everything once more."""
        named = _named_parameters(self.injection.context, text, parameters)
        return self.parse_plain if named is None else lambda sql: self._delegate.parsePlanWithParameters(sql, named)

    def _parse(self, text: str, parse: Parse, parse_rewritten: Parse) -> Any:
        try:
            text = self._substituted(text)
            return self._parse_ours(text, parse, parse_rewritten) if self._is_ours(text) else parse(text)
        except CepError as error:
            raise _java_error(self.injection.context, error.in_sql(text)) from None
        except CapturedException as error:
            raise _uncaptured(error) from None

    def _parse_ours(self, text: str, parse: Parse, parse_rewritten: Parse) -> Any:
        """The plan of the rewritten statement; where Spark cannot parse that, its complaint is about ``text``."""
        sql = self._rewritten(text, parse_rewritten)
        try:
            with quiet:
                return parse_rewritten(sql)
        except ParseException as error:
            raise self._about(text, parse, error) from None

    def _about(self, text: str, parse: Parse, error: ParseException) -> Exception:
        """What Spark says of ``text`` with its clauses blanked out; where it has nothing to say, what it cannot parse stands in a clause."""
        around = without_clauses(text)
        if around is None:
            return error
        try:
            with quiet:
                parse(around)
        except ParseException as own:
            java = own._origin.withCommand(text)
            return Py4JJavaError(str(own), java)
        return not_parsed(text, spark_message(error))

    def _substituted(self, text: str) -> str:
        """``text`` with the values of ``${name}``, as Spark's parser puts them in, wherever they stand in a clause."""
        if "${" not in text or not self._is_ours(text):
            return text
        substitution = java_class(self.injection.context, "org.apache.spark.sql.internal.VariableSubstitution")
        return str(substitution().substitute(text))

    def _is_ours(self, text: str) -> bool:
        return self.active and concerns(text)

    def _rewritten(self, text: str, parse: Parse) -> str:
        """The SQL that Spark gets for ``text``; if Spark cannot read a clause's input, the query that reproduces its error."""
        try:
            return self.rewrite(text, parse)
        except InputError as error:
            return error.query

    def rewrite(self, text: str, parse: Parse) -> str:
        """The SQL that Spark gets for ``text``; ``parse`` makes plans of queries whose schemas are needed."""
        jsession = self._session.get()
        describe = classic_describe(self.injection.of_rows, jsession, parse)
        return spark_sql(text, describe, options(self._setting(jsession)), self._patterns(jsession, describe))

    def analysed(self, text: str, **changes: Any) -> Rewritten:
        """All stages of rewriting ``text``."""
        jsession = self._session.get()
        describe = classic_describe(self.injection.of_rows, jsession, self.parse_plain)
        found = replace(options(self._setting(jsession)), **changes)
        return analysed_statement(self._substituted(text), describe, found, self._patterns(jsession, describe))

    def _patterns(self, jsession: Any, describe: ClassicDescribe) -> SessionPatterns:
        return SessionPatterns(jsession.catalog, describe.rows, jsession.conf().get, describe.files)

    def _setting(self, jsession: Any) -> Setting:
        """A look-up of session settings. It saves calls into the JVM, because most sessions have none of our settings."""
        if self._settings is None:
            self._settings = jsession.sessionState().conf().settings()
        found = frozenset(_OURS.findall(self._settings.toString()))
        conf = jsession.conf()
        return lambda name: conf.get(name) if name in found and conf.contains(name) else None

    def parse_plain(self, text: str) -> Any:
        """Spark's own parser."""
        return self._delegate.parsePlan(text)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _delegated(getattr(self._delegate, name))

    class Java:
        implements = ["org.apache.spark.sql.catalyst.parser.ParserInterface"]


def _delegated(method: Callable[..., Any]) -> Callable[..., Any]:
    """``method`` of a Java object, for callers in the JVM, who handle its exceptions (Spark Connect parses a type as a schema first)."""

    def call(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except CapturedException as error:
            raise _uncaptured(error) from None

    return call


def _uncaptured(error: CapturedException) -> Py4JJavaError:
    """The exception as the JVM threw it."""
    return Py4JJavaError(str(error), error._origin)


class _Injection:
    """scala.Function2 for SparkSessionExtensions.injectParser: (session, parser) → the parser that wraps it."""

    def __init__(self, context: Any) -> None:
        self.active = True
        self.context = context
        self.of_rows = dataset_of_plan(context)

    def apply(self, jsession: Any, delegate: Any) -> PatternParser:
        parser = PatternParser(self, jsession, delegate)
        parser.active = self.active
        _PARSERS[_identity(self.context, jsession)] = parser
        return parser

    class Java:
        implements = ["scala.Function2"]


_PARSERS: WeakValueDictionary[tuple[str, int], PatternParser] = WeakValueDictionary()
"""The parser of each session, kept alive by Spark's session."""


_INJECTIONS: WeakValueDictionary[tuple[str, int], _Injection] = WeakValueDictionary()
"""The injection into each SparkSessionExtensions, which keeps it alive."""


def _identity(context: Any, java_object: Any) -> tuple[str, int]:
    return context.applicationId, java_class(context, "java.lang.System").identityHashCode(java_object)


def _injection(context: Any, extensions: Any) -> _Injection:
    """The single injection for the sessions that share ``extensions``: a second one would install two parsers in their new sessions."""
    key = _identity(context, extensions)
    injection = _INJECTIONS.get(key)
    if injection is None:
        injection = _INJECTIONS[key] = _Injection(context)
        extensions.injectParser(injection)
    injection.active = True
    return injection


def _parser_of(context: Any, jsession: Any) -> PatternParser | None:
    jsession.sessionState()  # created lazily; a newSession() of an extended session gets its parser here
    return _PARSERS.get(_identity(context, jsession))


def _set_parser(jsession: Any, parser: PatternParser) -> None:
    state = jsession.sessionState()
    field = state.getClass().getDeclaredField("sqlParser")
    field.setAccessible(True)
    field.set(state, parser)


def _start_callbacks(gateway: Any) -> None:
    """Let the JVM call Python, and let Java exceptions pass through Python unchanged (set before the server starts)."""
    gateway.callback_server_parameters.propagate_java_exceptions = True
    gateway.python_parameters.propagate_java_exceptions = True
    ensure_callback_server_started(gateway)


def _named_parameters(context: Any, text: str, parameters: Any) -> Any:
    """Positional parameters as the named ones that ``rewrite`` substitutes for them; others unchanged; None: there are none."""
    kind = parameters.getClass().getSimpleName()
    if kind != "HybridParameterContext" and parameters.params().isEmpty():
        return None
    values = _positional_values(kind, text, parameters)
    if not values:
        return parameters
    names = {positional_name(i): value for i, value in enumerate(values)}
    named = java_class(context, "org.apache.spark.sql.catalyst.parser.NamedParameterContext")
    return named(java_class(context, "org.apache.spark.api.python.PythonUtils").toScalaMap(names))


def _positional_values(kind: str, text: str, parameters: Any) -> list[Any]:
    """The values of positional parameters; EXECUTE IMMEDIATE sends values and names, also those of variables whose values are positional."""
    if kind == "PositionalParameterContext":
        return _items(parameters.params())
    if kind == "HybridParameterContext" and placeholders(text, named=True):
        return _items(parameters.args())
    return []


def _items(sequence: Any) -> list[Any]:
    """A Scala sequence as a list."""
    return [sequence.apply(i) for i in range(sequence.size())]


def _java_error(context: Any, error: CepError) -> Py4JJavaError:
    """A CepError as an unchecked Java exception, which the parser interface allows, so that every client (Thrift too) sees its text.

    A Thrift server sends stack traces to its clients; this one would only show the bridge to Python, so it is removed.
    """
    remember(error)
    java = java_class(context, "java.lang.IllegalArgumentException")(str(error))
    java.setStackTrace(context._gateway.new_array(java_class(context, "java.lang.StackTraceElement"), 0))
    return Py4JJavaError(str(error), java)
