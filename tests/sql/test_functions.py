"""The slow path's functions against Spark itself: every one over edge values, the answer of Spark's own evaluation being right.

One query a time computes all expressions of a list over all rows in Spark; the same expressions, as Spark analyses them, are evaluated
in Python over the same rows.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sparkcep.engines.functions import NAMES, compile_function
from sparkcep.engines.functions.base import Refused
from sparkcep.engines.functions.regexes import compiled as compiled_regex
from sparkcep.engines.functions.times import internal
from sparkcep.errors import CepDataError, CepUnsupportedError
from sql_functions.catalog import ClassicDescribe, dataset_of_plan

ROWS = """(SELECT * FROM VALUES
  ('', 'b', 'a,b,,c', 0, 0L, 0D, 0.00BD, DATE'1970-01-01', TIMESTAMP'1970-01-01 00:00:00', array(1, 2, 2, NULL), array('x', 'y'), true),
  ('Straße', 'ß', ' x ', -7, -9L, -2.5D, -12.35BD, DATE'2024-02-29', TIMESTAMP'2024-03-31 03:30:00.123456', array(), array('y', NULL), false),
  ('a_b%c', 'a_', '\\tz', 5, 3L, 3.5D, 99999999.99BD, DATE'1899-12-31', TIMESTAMP'1969-12-31 23:59:59.999999', array(3, -1), array(), true),
  ('日本語 text', '本', 'x', 2147483647, 9223372036854775807L, CAST('NaN' AS DOUBLE), 0.05BD, DATE'9999-12-31', TIMESTAMP'2038-01-19 03:14:08',
    array(NULL), array('', 'a'), NULL),
  ('xx', 'x', 'Xx', 3, -4L, CAST('-Infinity' AS DOUBLE), -0.01BD, DATE'2023-12-31', TIMESTAMP'2023-01-01 12:00:00', array(5), array('b', 'a', 'b'), false),
  (CAST(NULL AS STRING), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
  AS t(s, t, u, i, l, f, d, day, at, xs, ss, flag))"""

STRINGS = """
substr(s, 2, 3); substr(s, -3, 2); substring(s, 0, 2); s LIKE '%b%'; s LIKE 'a!_b!%_' ESCAPE '!'; s ILIKE '%STRASSE%'; s || u || i; concat(s, t);
concat_ws('-', s, u, ss); length(s); octet_length(s); bit_length(t); upper(s); lower(u); trim(u); ltrim(u); rtrim(u); trim(BOTH 'x' FROM u);
instr(s, t); locate(t, s); locate('x', s, 2); position(t IN s); replace(s, t, 'Q'); replace(s, t); lpad(s, 4, t); rpad(s, 3, '');
lpad(s, 9, 'ab'); repeat(t, 3); repeat(t, i % 4); reverse(s); left(s, 2); right(s, 3); left(s, -1); right(s, 0); split(u, ','); split(s, '\\\\.');
split(u, ',', 2); split_part(u, ',', 2); split_part(u, ',', -1); substring_index(u, ',', 2); substring_index(u, ',', -2); startswith(s, t);
endswith(s, 'c'); contains(s, t); translate(s, 'ab', 'X'); ascii(s); space(2); s < t; s = t; s <=> t; s >= u; s IN ('xx', t, NULL);
s NOT IN ('xx', 'a'); nvl2(s, t, 'none'); s BETWEEN 'a' AND 'z'; char_length(t); btrim(u); levenshtein(s, t); levenshtein(s, u); levenshtein(u, s, 4); levenshtein(s, 'kitten', 6);
levenshtein(s, t, 1); levenshtein(t, t, 0); levenshtein(s, t, -1)
"""
REGEXES = r"""
s RLIKE 'x'; s RLIKE '^[a-z_]+'; regexp_like(u, r'\s'); u RLIKE r'^\s*x\s$'; s RLIKE r'\w%\w$'; s RLIKE r'(?i)STRA'; s RLIKE 'a.b'; s RLIKE r'^(?:x|a)+.{1,3}$'; u RLIKE r'[^\w,]';
regexp_extract(s, r'(\w+?)(\W|$)', 1); regexp_extract(u, r'([a-z]),*([a-z])', 2); regexp_extract(s, 'q', 0); regexp_extract(s, '(q)?x', 1); regexp_extract_all(u, '([a-z])(,*)', 2);
regexp_count(u, '[a-z]'); regexp_count(s, r'\S+'); regexp_substr(s, r'\w\w'); regexp_instr(s, '[bx本t]'); regexp_replace(s, '[aeiou]', '*'); regexp_replace(u, ',+', '');
regexp_replace(s, r'\s|_', '--'); split(u, '[,a]'); split(s, r'\W+'); split(u, ',+', 2); split(u, r'\.'); split(u, 'x|X', 1)
"""
NUMBERS = """
i + 1L; i * 2L; l % 4; pmod(l, 4); mod(i, -3); i DIV 2; i / 2; d + i; d * d; d / 3; d % 1.5; d - 0.001; -f; abs(f); abs(d); sign(f); sign(i); f + i; f * 0; f / 2;
f % 2; f > i; f = f; f < 1; greatest(f, i, 1); least(f, i, d); greatest(i, NULL, 3); sqrt(f); floor(if(f > -9 AND f < 9, f, 1.5D)); ceil(i / 2.5D); floor(i * 0.3D); floor(d); ceil(d); floor(l);
round(f); round(f, 1); round(f * 1e300D, 2); try_cast(f * 1e300D AS DECIMAL(10, 2)); round(d, 1); round(i % 100, -1); bround(f); bround(d, 1); power(2, 10); isnan(f); nanvl(f, 0); l & 5; i | 8; l ^ 1; ~l;
try_add(l, 1L); try_subtract(l, l); try_multiply(l, l); try_divide(f, i); try_mod(l, i); CAST(d AS INT); CAST(f > 0 AS INT); CAST(i AS STRING);
CAST(d AS STRING); CAST(l AS DOUBLE); CAST(d AS DOUBLE); CAST(i AS DECIMAL(15, 3)); CAST(d AS DECIMAL(12, 1)); try_cast(f AS INT); try_cast(u AS INT);
try_cast(s AS DOUBLE); try_cast(' 12 ' || i AS BIGINT); CAST(flag AS STRING); CAST(flag AS INT); CAST(i AS BOOLEAN); try_cast(t AS BOOLEAN);
try_cast(concat(i, '.5') AS DECIMAL(10, 1)); try_cast(d AS TINYINT); try_cast(concat(i, '.5') AS INT); coalesce(i, l, 0); nullif(i, 5); ifnull(i, 0); nvl(d, 0);
if(i > 0, 'p', 'n'); CASE WHEN i > 3 THEN 'a' WHEN flag THEN 'b' END; CASE i WHEN 5 THEN d ELSE 0 END; i IS NULL; i IS NOT NULL; i <=> NULL; NOT flag;
flag AND i > 0; flag OR i > 0; i BETWEEN -7 AND 3; i IN (1, 5, NULL); flag IS TRUE; i <> 5; zeroifnull(i); nullifzero(i); ln(f); log10(f); log2(f); exp(f);
log(2, f); pow(f, 2); log1p(f); CAST(f AS FLOAT) + CAST(1 AS FLOAT); CAST(i % 100 AS SMALLINT) > 0; +i; -(d * 12345678901234567890BD); abs(d * 12345678901234567890BD); pmod(d * 12345678901234567890BD, 7.5BD); pmod(-(d * 12345678901234567890BD), 99999999999999999999999999999.5BD);
CAST(d * 12345678901234567890BD AS DECIMAL(33, 4)); d * 12345678901234567890BD % 7.7BD; sin(f); cos(f); tan(i); cot(i); sec(f); csc(f); asin(f / 4); acos(d);
asin(f); atan(f); atan2(f, i); atan2(-f * 0, -1D); sinh(f); sinh(i); cosh(i); tanh(f); tanh(l); radians(f); degrees(f); degrees(l); hypot(f, i); hypot(l, l); cbrt(f); cbrt(l); expm1(f);
expm1(i); exp(i); exp(-i); rint(f); rint(d); rint(i / 2); factorial(i % 30); factorial(abs(i) % 21); factorial(3)
"""
INTERVALS = """
(at - TIMESTAMP'2000-01-01 00:00:00') / 7; (at - TIMESTAMP'2000-01-01 00:00:00') * (i % 1000); (l % 1000) * (at - TIMESTAMP'2000-01-01 00:00:00'); INTERVAL 3 SECOND / (i % 4 + 4);
(at - TIMESTAMP'2000-01-01 00:00:00') / 2.5; (at - TIMESTAMP'2000-01-01 00:00:00') * 1.0000005; extract(MONTH FROM INTERVAL '5' MONTH * (i % 100)); extract(MONTH FROM INTERVAL '5' MONTH / (i % 4 + 4)); extract(MONTH FROM INTERVAL '7' YEAR / 1.7);
INTERVAL '0.000001' SECOND / 2; INTERVAL '-0.000001' SECOND / 2; INTERVAL '0.000001' SECOND * 1.5; INTERVAL '-0.000003' SECOND * 0.5D; extract(MONTH FROM INTERVAL '1' MONTH * 2.5D); extract(MONTH FROM INTERVAL '3' MONTH / 2D);
(at - TIMESTAMP'2000-01-01 00:00:00') / 3.5D; extract(DAY FROM at - TIMESTAMP'2024-03-30 01:02:03.4'); extract(HOUR FROM at - TIMESTAMP'2024-03-30 01:02:03.4');
extract(MINUTE FROM at - TIMESTAMP'2024-03-30 01:02:03.4'); extract(SECOND FROM at - TIMESTAMP'2024-03-30 01:02:03.4'); extract(YEAR FROM INTERVAL '5' MONTH * (i % 100));
extract(MONTH FROM INTERVAL '5' MONTH * (i % 100)); CAST(at - TIMESTAMP'2024-03-30 01:02:03.4' AS BIGINT); CAST(INTERVAL '90' MINUTE * (i % 9) AS INT); CAST(day - DATE'2024-01-01' AS INT);
CAST(CAST(at - TIMESTAMP'2024-03-30 01:02:03.4' AS INTERVAL HOUR) AS INT) > 0; shiftleft(i, 3); shiftleft(l, 61); shiftright(i, 1); shiftrightunsigned(i, 28); l << 3; l >> 70; l >>> 60;
bit_count(i); bit_count(l); bit_count(flag)
"""
TIMES = """
year(day); month(day); day(day); quarter(day); dayofweek(day); weekday(day); dayofyear(day); weekofyear(day); last_day(day); date_add(day, -3);
date_sub(day, 30); date_diff(day, DATE'2000-01-01'); datediff(DATE'2024-03-01', day); day - DATE'2024-01-01'; add_months(day, -1); trunc(day, 'MM');
trunc(day, 'week'); trunc(day, 'quarter'); trunc(day, 'YEAR'); year(at); hour(at); minute(at); second(at); date_trunc('HOUR', at); date_trunc('DAY', at);
date_trunc('month', at); date_trunc('week', at); date_trunc('minute', at); unix_timestamp(at); unix_seconds(at); unix_millis(at); unix_micros(at);
to_unix_timestamp(at); at + INTERVAL '1 02:03:04' DAY TO SECOND; at - INTERVAL '2' DAY; at - TIMESTAMP'2000-01-01 00:00:00'; timestampdiff(MINUTE, TIMESTAMP'2020-01-01 00:00:00', at);
timestampdiff(DAY, at, TIMESTAMP'2020-01-01 00:00:00'); CAST(at AS DATE); CAST(day AS TIMESTAMP); CAST(at AS STRING); CAST(day AS STRING); CAST(at AS BIGINT);
try_cast(u AS DATE); day > '2000-01-01'; at < day; unix_date(day); try_cast(concat(year(day), '-3') AS DATE); extract(MONTH FROM day); date_part('year', at); date_from_unix_date(day(day)); timestamp_micros(day(day)); timestamp_millis(day(day));
at - at; CAST(at AS DATE) = day; make_date(2024, 2, 28 + i % 2); day BETWEEN DATE'1900-01-01' AND DATE'2024-12-31';
timestampadd(MONTH, -1, at); timestampadd(HOUR, 30, at); timestampadd(DAY, 1, at); dateadd(YEAR, 4, at); timestampadd(WEEK, -3, CAST(at AS TIMESTAMP_NTZ)); at + INTERVAL '14' MONTH;
at - INTERVAL '1' YEAR; day - INTERVAL '13' MONTH; timestampdiff(MONTH, at, TIMESTAMP'2024-02-29 03:30:00'); timestampdiff(QUARTER, TIMESTAMP'2024-01-31 12:00:00', at);
date_add(day, 2147483640 + i % 3) > day; date_sub(day, i % 3 - 2147483640) > day; datediff(day, date_add(day, i % 3 - 2147483640)) > 0;
timestampdiff(YEAR, at, TIMESTAMP'1970-01-01 00:00:00'); CAST(CAST(at AS TIMESTAMP_NTZ) AS STRING); CAST(CAST(at AS TIMESTAMP_NTZ) AS TIMESTAMP); CAST(CAST(at AS TIMESTAMP_NTZ) AS DATE);
CAST(day AS TIMESTAMP_NTZ); CAST(TIMESTAMP_NTZ'2024-03-31 02:30:00' + (at - at) AS TIMESTAMP); CAST(TIMESTAMP_NTZ'2024-10-27 02:30:00' + (at - at) AS TIMESTAMP); greatest(day, DATE'2000-01-01');
months_between(at, TIMESTAMP'2023-11-30 10:00:00'); months_between(day, at); months_between(at, day, false); months_between(TIMESTAMP'2024-02-29 12:00:00', day);
months_between(day, DATE'2024-03-31'); months_between(last_day(day), last_day(at)); months_between(at, TIMESTAMP'2024-10-27 12:00:00')
"""
ARRAYS = """
size(xs); cardinality(ss); if(size(xs) > 0, xs[0], -5); get(xs, 1); try_element_at(xs, 2); try_element_at(xs, -1); array_contains(xs, 2); array_contains(ss, 'x'); array_join(ss, '-');
array_join(ss, '-', '?'); array_distinct(xs); array_max(xs); array_min(xs); array_max(array(xs, array(10), array())); array_min(array(xs, array(9), array(10)));
array_max(array(struct(i, 10), struct(i, 9))); sort_array(xs); sort_array(ss, false); array_position(xs, 2); array_remove(xs, 2);
array_union(xs, array(9)); array_except(xs, array(2)); array_intersect(xs, array(2, NULL)); arrays_overlap(xs, array(3)); slice(xs, 2, 2); slice(xs, -1, 1);
reverse(xs); xs || array(7); array(i, 1); array_repeat(i, 2); flatten(array(xs, array(1))); transform(xs, x -> x + 1L); transform(xs, (x, n) -> n);
filter(xs, x -> x > 1); exists(xs, x -> x = 3); forall(xs, x -> x > 0); aggregate(xs, 0L, (a, x) -> a + coalesce(x, 0)); aggregate(ss, '', (a, x) -> a || x, a -> length(a));
exists(xs, x -> exists(ss, y -> y = 'x' AND x = 2)); named_struct('p', i, 'q', s).q; struct(i, s).i; array_compact(xs); array_size(xs); xs = array(3, -1); xs < array(3);
(i, s) = (5, t); struct(f, xs) <=> struct(f, xs); struct(f, d) < struct(CAST('NaN' AS DOUBLE), d); (i, s) IN ((3, 'xx'), (0, t)); greatest(named_struct('i', i, 's', s), named_struct('i', 4, 's', t)).i
"""
LISTS = {
    "strings": STRINGS,
    "regexes": REGEXES,
    "numbers": NUMBERS,
    "times": TIMES,
    "intervals": INTERVALS,
    "arrays": ARRAYS,
}

APPROXIMATE = (
    "ln(", "log", "exp(", "expm1(", "pow(", "sin", "cos", "tan", "cot(", "sec(", "csc(", "asin(", "acos(", "atan", "hypot(", "cbrt("
)  # fmt: skip

TESTED: set[str] = set()


class Row:
    """A frame whose leaves are one row's values."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values, self.lambdas = values, {}


@pytest.fixture(params=["UTC", "Europe/Berlin"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Any:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.spark
@pytest.mark.parametrize("name", [name for name in LISTS if name != "times"])
def test_functions(spark: SparkSession, name: str) -> None:
    compare(spark, expressions(name))


@pytest.mark.spark
def test_regular_expressions_are_read_as_java_reads_them(spark: SparkSession) -> None:
    """Drawn ones; what Java cannot read is refused here, too."""
    drawn, texts = (
        random.Random(5),
        ["", "ab", "aab\n", "b\r\n", "a-b", "A1 b2", "ba\u2028", "été\r", "aaaa", "a\nb", "-1.5", "𝒳a"],
    )
    patterns = [pattern for pattern in (_drawn(drawn, 3) for _ in range(600)) if is_read(pattern)][:150]
    assert len(patterns) == 150
    rows = spark.createDataFrame([(text,) for text in texts], "s STRING")
    quoted = [pattern.replace("'", "") for pattern in patterns]
    columns = [f"regexp_extract(s, r'{pattern}', 0) || '|' || regexp_instr(s, r'{pattern}')" for pattern in quoted]
    for text, row in zip(texts, rows.selectExpr(*columns).collect(), strict=True):
        for pattern, found in zip(quoted, row, strict=True):
            ours = compiled_regex(pattern).search(text)
            assert (f"{ours.group()}|{ours.start() + 1}" if ours else "|0") == found, (pattern, text)


def _drawn(drawn: random.Random, depth: int) -> str:
    if depth == 0 or drawn.random() < 0.3:
        return drawn.choice(
            ["a", "b", ".", "^", "$", "\\d", "\\W", "\\s", "[ab]", "[^a-c]", "[\\d.-]", "\\.", "-", "é", "1", " "]
        )
    left, right = _drawn(drawn, depth - 1), _drawn(drawn, depth - 1)
    return drawn.choice(
        [
            left + right,
            left + right,
            f"({left}|{right})",
            f"(?:{left}){drawn.choice(['*', '+', '?', '{1,2}', '*?', '+?'])}",
            f"{left}+",
        ]
    )


def is_read(pattern: str) -> bool:
    try:
        compiled_regex(pattern)
    except Refused:
        return False
    return True


@pytest.mark.spark
def test_times(spark: SparkSession, zone: str) -> None:
    compare(spark, expressions("times"))


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "i + 1",
        "1 / (i - 5)",
        "CAST(u AS INT)",
        "element_at(xs, 9)",
        "l * l",
        "CAST(f AS INT)",
        "abs(l) * -2",
        "floor(f)",
    ],
)
def test_errors(spark: SparkSession, text: str) -> None:
    """Where Spark fails on some row, so does the function."""
    function = compiled(spark, [text])[0]
    with pytest.raises(CepDataError):
        for values in plain_rows(spark):
            function(Row(values))


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "soundex(concat(s, t))",
        "CAST(f AS STRING)",
        "s RLIKE t",
        "s RLIKE '\\\\p{L}'",
        "split(s, '')",
        "md5(s)",
        "s = t COLLATE UTF8_LCASE",
        "map(i, s)[1]",
    ],
)
def test_refused(spark: SparkSession, text: str) -> None:
    with pytest.raises(CepUnsupportedError):
        compiled(spark, [text])


def expressions(name: str) -> list[str]:
    return [text.strip() for text in LISTS[name].split(";") if text.strip()]


def compare(spark: SparkSession, texts: list[str]) -> None:
    """The same values as Spark, for all expressions over all rows."""
    columns = ", ".join(f"{text} AS r{n}" for n, text in enumerate(texts))
    expected = spark.sql(f"SELECT {columns} FROM {ROWS}").toArrow().to_pylist()
    functions = compiled(spark, texts)
    wrong = []
    for row, values in zip(expected, plain_rows(spark), strict=True):
        for n, (text, function) in enumerate(zip(texts, functions, strict=True)):
            got = function(Row(values))
            if not same(got, internal(row[f"r{n}"]), text.startswith(APPROXIMATE)):
                wrong.append((text, values, got, row[f"r{n}"]))
    assert wrong == []


def plain_rows(spark: SparkSession) -> list[dict[str, Any]]:
    rows = spark.sql(f"SELECT * FROM {ROWS}").toArrow().to_pylist()
    return [{name: internal(value) for name, value in row.items()} for row in rows]


def compiled(spark: SparkSession, texts: list[str]) -> list[Any]:
    """The expressions as Python functions of a row."""
    jsession: Any = spark._jsparkSession
    describe = ClassicDescribe(
        dataset_of_plan(spark.sparkContext), jsession, jsession.sessionState().sqlParser().parsePlan
    )

    def leaf(node: Any) -> Any:
        return lambda frame: frame.values[node.settings[0]]

    functions = []
    for text in texts:
        tree = describe.expression(text, ROWS)
        note(tree)
        functions.append(compile_function(tree, leaf))
    return functions


def note(node: Any) -> None:
    TESTED.add(getattr(node, "name", ""))
    for part in getattr(node, "arguments", ()):
        note(part)


def same(left: Any, right: Any, roughly: bool) -> bool:
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(same(x, y, roughly) for x, y in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=1e-15) if roughly else left == right
    return type(left) is type(right) and bool(left == right)


def test_every_function_is_compared() -> None:
    """Runs last: what is registered has been compared with Spark (aggregates are tested with the engine)."""
    if len(TESTED) < 50:
        pytest.skip("the comparisons have not run")
    aggregates = {
        "max_by",
        "min_by",
        "percentile",
        "sum",
        "avg",
        "mean",
        "stddev_pop",
        "stddev_samp",
        "var_pop",
        "var_samp",
    }
    of_some_versions = {"TimeAdd", "KnownNotNull", "KnownNullable", "KnownNotContainsNull"}
    without_value = {"RaiseError"}  # tests/sql/test_stream_following.py
    assert NAMES - TESTED - aggregates - of_some_versions - without_value == set()
