"""``%%sql``: runs a cell of SQL and shows its result as a table with the number of rows and the elapsed time.

Built on IPython's own magics: jupysql and ipython-sql require SQLAlchemy, and draw neither automata nor matches.
"""

from __future__ import annotations

import time
from typing import Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rewrites.dialect.tokens import tokenize
from sparkcep.errors import CepError
from sparkcep.notebook.errors import without_traceback
from sparkcep.notebook.progress import under_cell
from sparkcep.notebook.table import Result
from sparkcep.notebook.timeline import draw
from sparkcep.progress import following
from sparkcep.session import explain, explain_analyze, install, session
from sql_functions.catalog import quiet

ROWS = 50
"""Rows shown unless ``--rows`` says otherwise."""


@magics_class
class SqlMagics(Magics):
    """``%%sql``; the session is the notebook's ``spark``, else the active one, else a new one."""

    @magic_arguments()  # type: ignore[untyped-decorator]
    @argument("name", nargs="?", help="The variable to which the DataFrame is assigned.")  # type: ignore[untyped-decorator]
    @argument("-r", "--rows", type=int, default=ROWS, help="Rows shown.")  # type: ignore[untyped-decorator]
    @argument("-e", "--explain", action="store_true", help="Draw the automaton instead of running the query.")  # type: ignore[untyped-decorator]
    @argument("-a", "--analyze", action="store_true", help="Count what happens to the rows: EXPLAIN ANALYZE PATTERN.")  # type: ignore[untyped-decorator]
    @argument("-p", "--plot", action="store_true", help="Also draw the matches of the last clause on a timeline.")  # type: ignore[untyped-decorator]
    @cell_magic  # type: ignore[untyped-decorator]
    def sql(self, line: str, cell: str) -> None:
        """Run the SQL of the cell; statements are separated by semicolons, and the rows of the last one are shown."""
        options = parse_argstring(self.sql, line)
        try:
            with quiet:
                for shown in self._results(_statements(cell), options):
                    display(shown)
        except (CepError, PySparkException, KeyboardInterrupt) as error:
            raise without_traceback(error) from None

    def _results(self, statements: list[str], options: Any) -> Any:
        if not statements:
            return
        spark = self._spark()
        *before, last = statements
        for statement in before:
            with following(spark, under_cell()):
                spark.sql(statement)
        if options.explain:
            yield explain(last, spark)
            return
        if options.analyze:
            with following(spark, under_cell()):
                counts = explain_analyze(last, spark)
            yield counts
            return
        result = run(spark, last, options.rows)
        if options.name:
            self.shell.user_ns[options.name] = result.df
        if result.df.columns:
            yield result
        if options.plot:
            yield draw(last, spark)

    def _spark(self) -> SparkSession:
        spark = self.shell.user_ns.get("spark") or SparkSession.getActiveSession()
        if spark is None:
            spark = self.shell.user_ns["spark"] = session("sparkcep notebook")
        return install(spark)


def run(spark: SparkSession, statement: str, rows: int) -> Result:
    """The first ``rows`` rows of a statement."""
    started = time.perf_counter()
    with following(spark, under_cell()):
        df = spark.sql(statement)
        found = df.limit(rows + 1).collect() if df.columns else []
    return Result(df, found[:rows], len(found) > rows, time.perf_counter() - started)


def _statements(text: str) -> list[str]:
    """The statements of a cell, without their semicolons."""
    starts = [0]
    ends = []
    for token in tokenize(text).items:
        if token.key == ";":
            ends.append(token.span.start)
            starts.append(token.span.end)
    parts = [text[start:end].strip() for start, end in zip(starts, [*ends, len(text)], strict=True)]
    return [part for part in parts if tokenize(part).items]
