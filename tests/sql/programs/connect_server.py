"""A client of a Spark Connect server whose Python learns what it needs step by step; prints what becomes of a clause at each step.

Arguments: the server's URL, sparkcep as one file, the site-packages of the server's Python, those of this one.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepUnsupportedError

url, packages, libraries, here = sys.argv[1:]
QUERY = """SELECT * FROM VALUES (1, 5), (2, 7), (3, 6), (4, 9) AS t(ts, x)
MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a b) DEFINE b AS x > PREV(x))"""
spark = sparkcep.install(SparkSession.builder.remote(url).getOrCreate())


def answer() -> object:
    """The rows, or the error's code and text."""
    try:
        return [row.t for row in spark.sql(QUERY).collect()]
    except CepUnsupportedError as error:
        return f"{error.code} {error.message}"


print(len(spark.sql(f"EXPLAIN PATTERN {QUERY}").collect()) > 10, flush=True)
print(answer(), flush=True)
(Path(libraries) / "libraries.pth").write_text(f"{here}\n")
print(answer(), flush=True)
spark.addArtifacts(packages, pyfile=True)
print(answer(), flush=True)
spark.stop()
