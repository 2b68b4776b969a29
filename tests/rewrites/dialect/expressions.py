"""Spark expressions of every shape: the parser must place each of their nodes exactly (``test_spans``)."""

import re

EXPRESSIONS = r"""
a
A.price
`weird name`.`x``y`
a.b.c.d.e
1
-1
- x
+x
1L + 2S + 3Y
1.0BD * 2.5D
1.5e3F
.5
'it'
"double"
r'\d+'
X'1F'
NULL
TRUE
NOT a
!a
~a
a + b + c * d - e / f % g
a DIV b
a || b || 'c'
a & b | c ^ d
a = b
a == b
a <=> b
a <> b
a != b
a < b AND c >= d OR NOT e
(a OR b) AND (c)
((a))
a IS NULL
a IS NOT NULL
a IS TRUE
a IS NOT FALSE
a IS DISTINCT FROM b
a IS NOT DISTINCT FROM b
a IN (1, 2, 3)
a NOT IN (1, 2)
a IN (SELECT id FROM t WHERE t.k = A.k)
(a, b) IN ((1, 2), (3, 4))
a BETWEEN 1 AND 2
a NOT BETWEEN b + 1 AND c
a LIKE 'x%'
a NOT LIKE 'x%'
a LIKE '50!%' ESCAPE '!'
a ILIKE 'x%'
a RLIKE r'^\d'
a REGEXP 'x'
a LIKE ANY ('x%', 'y%')
CASE WHEN a > 1 THEN b WHEN c THEN d ELSE e END
CASE a WHEN 1 THEN 'x' ELSE 'y' END
CASE WHEN a THEN b END + 1
CAST(a AS INT)
CAST(a AS DECIMAL(10, 2)) + 1
CAST(a AS ARRAY<STRUCT<x: INT, y: STRING>>)
TRY_CAST(a AS DOUBLE)
a::int
a::decimal(10,2)::string
a.b::int + 1
INTERVAL '1' HOUR
INTERVAL 1 HOUR
INTERVAL 5 MONTHS
INTERVAL '1 day 2 hours'
INTERVAL '1-2' YEAR TO MONTH
INTERVAL '10 05:30:10.123' DAY TO SECOND
INTERVAL 1 DAY 2 HOURS
INTERVAL '-3' DAY
INTERVAL -3 DAYS
INTERVAL -'3' DAY
ts + INTERVAL 1 HOUR > other_ts - INTERVAL '30' MINUTE
DATE '2024-01-01'
DATE'2024-01-01'
TIMESTAMP '2024-01-01 00:00:00'
TIMESTAMP_NTZ '2024-01-01 00:00:00'
TIMESTAMP_LTZ '2024-01-01 00:00:00'
CURRENT_DATE
CURRENT_DATE()
CURRENT_TIMESTAMP
current_user()
a[0]
a[0].b
a.b[0][1].c
a.b[i + 1]
m['k']
m['k'].x.y[0]
array(1, 2)[0]
map('a', 1, 'b', 2)['a']
named_struct('x', 1, 'y', b).x
struct(a AS x, b AS y)
struct(a, b).a
x:field
x:field::int
x:a.b[0].c::string
x:a::int + 1
upper(A.name)
year(ts) * 12 + month(ts)
date_sub(a, 3)
date_add(DAY, 1, ts)
timestampdiff(HOUR, a, b)
date_trunc('DAY', ts)
to_date(a, 'yyyy-MM-dd')
coalesce(a, b, 0)
nvl2(a, b, c)
if(a > 1, b, c)
ifnull(a, b)
nullif(a, b)
greatest(a, b, c)
my_udf(a, b + 1)
db.my_udf(a)
cat.db.my_udf(a).x
f()
f(g(h(a)))
f(a => 1, b => c + 1)
concat_ws(',', a, b)
split(a, ',')[0]
regexp_extract(a, '(\\d+)', 1)
from_json(a, 'x INT').x
get_json_object(a, '$.x')
element_at(a, -1)
size(a)
sequence(1, 5)
substring(a, 1, 2)
substring(a FROM 1 FOR 2)
substr(a, 2)
trim(a)
trim(BOTH 'x' FROM a)
ltrim(a)
position('a' IN b)
overlay(a PLACING b FROM 1 FOR 2)
extract(YEAR FROM ts)
left(a, 2)
date(ts)
timestamp(a)
int(a)
ceil(a)
round(a, 2)
transform(a, x -> x + 1)
transform(a, (x, i) -> x.v + i)
filter(a, x -> x > 1 AND x < b)
exists(a, x -> x.y = 1)
aggregate(a, 0, (acc, x) -> acc + x, acc -> acc * 10)
zip_with(a, b, (x, y) -> concat(x, y))
map_filter(m, (k, v) -> k > v)
COUNT(*)
COUNT(A.*)
COUNT(DISTINCT a)
COUNT(DISTINCT a, b)
SUM(A.x) / COUNT(B.y)
SUM(A.x) FILTER (WHERE A.y > 1)
SUM(DISTINCT A.x) FILTER (WHERE A.y > 1 AND A.z)
AVG(ALL A.x)
ARRAY_AGG(A.x)
collect_list(A.x)
max_by(A.x, A.y)
count_if(A.x > 1)
any_value(A.x)
any_value(A.x, true)
first_value(A.x) IGNORE NULLS
percentile_approx(a, 0.5)
percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC)
listagg(a, ',') WITHIN GROUP (ORDER BY b)
listagg(a, ',') WITHIN GROUP (ORDER BY b) FILTER (WHERE c > 1)
string_agg(a, ',')
approx_count_distinct(a)
bool_or(a)
(LAST(A.x, 1) + 1) * 2
(SELECT max(x) FROM t)
(SELECT max(x) FROM t WHERE t.a = A.a) + 1
(SELECT LAST(x, true) FROM t)
(SELECT x AS y FROM t ORDER BY z LIMIT 1)
(SELECT sum(x) OVER (PARTITION BY y ORDER BY z ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t)
(SELECT row_number() OVER w FROM t WINDOW w AS (ORDER BY x))
(WITH c AS (SELECT 1 AS x) SELECT x FROM c)
(SELECT a FROM t UNION ALL SELECT b FROM u)
EXISTS (SELECT 1 FROM t WHERE t.a = A.x)
NOT EXISTS (SELECT 1 FROM t JOIN u ON t.x = u.x)
a > ALL (SELECT x FROM t)
:p
a > :p AND b < :q
?
a = ? OR b IN (?, ?)
${var}
a COLLATE UTF8_LCASE = 'x'
a AT TIME ZONE 'UTC'
LAST(A.x)
LAST(A.x, 1)
FIRST(A.x, 2) + 1
PREV(x)
PREV(LAST(A.x, 1), 2)
NEXT(A.x.y[0], 1)
LAST(A.s).f
FINAL LAST(A.x) - RUNNING FIRST(B.x)
RUNNING SUM(A.x) > 3
FINAL COUNT(*)
CLASSIFIER()
CLASSIFIER(U) = 'A'
LAST(CLASSIFIER())
FINAL CLASSIFIER()
MATCH_NUMBER()
MATCH_SEQUENCE_NUMBER()
running + final
first + last + prev + next
match + pattern + seq + define
a /* comment */ + -- to the end
 b
""".strip()


def expressions() -> list[str]:
    """One expression a line; a line that begins with a space goes on with the one before."""
    return re.split(r"\n(?! )", EXPRESSIONS)
