"""The clauses applied to a DataFrame: the body of the clause as text, the input as a DataFrame.

``match(df, "SEQ(View v, Buy b) ORDER BY ts")`` is ``SELECT * FROM df MATCH PATTERN (SEQ(View v, Buy b) ORDER BY ts)``. The DataFrame is passed by
Spark's own SQL formatting: classic Spark resolves the statement eagerly and then no longer needs the input's name; in Spark Connect the plan of the
input is embedded in that of the statement.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from sparkcep.session.install import install


def match(df: DataFrame, body: str, args: Any = None) -> DataFrame:
    """``MATCH PATTERN (body)`` over ``df``. ``args``: values for parameter markers in ``body``, as in ``spark.sql``."""
    return _clause(df, "MATCH PATTERN", body, args)


def match_recognize(df: DataFrame, body: str, args: Any = None) -> DataFrame:
    """``MATCH_RECOGNIZE (body)`` over ``df``. ``args``: values for parameter markers in ``body``, as in ``spark.sql``."""
    return _clause(df, "MATCH_RECOGNIZE", body, args)


def match_automaton(df: DataFrame, body: str, args: Any = None) -> DataFrame:
    """``MATCH AUTOMATON (body)`` over ``df``. ``args``: values for parameter markers in ``body``, as in ``spark.sql``."""
    return _clause(df, "MATCH AUTOMATON", body, args)


def _clause(df: DataFrame, keyword: str, body: str, args: Any) -> DataFrame:
    escaped = body.replace("{", "{{").replace("}", "}}")
    spark = install(df.sparkSession)
    return spark.sql(f"SELECT * FROM {{input}} {keyword} (\n{escaped}\n)", args, input=df)
