"""Names: spelling, quoting, aliases; keys and orders: NULLs, directions, expressions, or none at all."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.sql.cases import Case, check, parametrize

ODD = "(SELECT * FROM VALUES (1, 'A', 5), (2, 'B', 7) AS t(`the time`, `a.b`, `x``y`))"
KEYED = "(SELECT * FROM VALUES (NULL, 1, 10), (NULL, 2, 20), ('k', 3, 30), ('k', NULL, 40), (NULL, NULL, 50) AS t(k, ts, v))"
STRUCTS = "(SELECT named_struct('k', 'a', 'n', named_struct('m', id)) AS s, id AS ts, 'E' AS type FROM range(2))"
LIST = "MEASURES array_join(transform(ARRAY_AGG(v), x -> CAST(x AS STRING)), ',') AS l PATTERN (a+)"

CASES = [
    Case(
        "variables_in_two_spellings",
        """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY SYM ORDER BY TS
         MEASURES COUNT(Down.Price) AS n, last(DOWN.ts) AS t, CLASSIFIER() AS c ONE ROW PER MATCH
         PATTERN (Strt (down | DOWN)+ $) DEFINE DoWn AS down.PRICE < Prev(dOWN.price))""",
        [],
    ),
    Case(
        "one_variable_in_the_pattern",
        """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts
         MEASURES COUNT(D.price) AS n, CLASSIFIER() AS c PATTERN (s (d D) | d{3}) DEFINE d AS price < PREV(price))""",
        [("A", 2, "d"), ("A", 2, "d")],
    ),
    Case(
        "subset_in_two_spellings",
        """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts
         MEASURES COUNT(BOTH.price) AS n, LAST(both.ts) AS t AFTER MATCH SKIP TO LAST bOTH PATTERN (s d+ u+) SUBSET Both = (D, U)
         DEFINE d AS price < PREV(price), U AS price > PREV(price))""",
        [("A", 4, 5), ("A", 3, 8), ("B", 2, 4)],
    ),
    Case(
        "quoted_variables",
        """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts
         MEASURES LAST(`up ß`.ts) AS `the end`, CLASSIFIER() AS c PATTERN (`select` `up ß`) DEFINE `up ß` AS `up ß`.price > PREV(price) + 2)""",
        [("B", 4, "up ß")],
    ),
    Case(
        "odd_columns",
        f"""SELECT `the time`, `a.b`, `x``y`, `m``1` FROM {ODD} MATCH_RECOGNIZE (PARTITION BY `a.b` ORDER BY `the time`
         MEASURES SUM(v.`x``y`) AS `m``1` ALL ROWS PER MATCH PATTERN (v) DEFINE v AS v.`x``y` > 5 AND `a.b` = 'B')""",
        [(2, "B", 7, 7)],
    ),
    Case(
        "odd_columns_in_events",
        f"""SELECT a.`x``y`, m.b.`the time`, match_start FROM {ODD} MATCH PATTERN (SEQ(A a, B b) EVENT TYPE `a.b` ORDER BY `the time`
         WHERE a.`x``y` < b.`x``y`) AS m""",
        [(5, 2, 1)],
    ),
    Case(
        "odd_columns_star",
        f"SELECT * FROM {ODD} MATCH PATTERN (SEQ(A a, B b) EVENT TYPE `a.b` ORDER BY `the time`)",
        [(1, 2, (1, "A", 5), (2, "B", 7))],
    ),
    Case(
        "odd_types",
        'SELECT x.ts FROM (SELECT 1 AS ts, \'it\'\'s \\\\ "x"\' AS type) MATCH PATTERN (SEQ("it\'s \\\\ \\"x\\"" x) ORDER BY ts)',
        [(1,)],
    ),
    Case(
        "types_are_case_sensitive",
        "SELECT v.ts FROM clicks MATCH PATTERN (SEQ(view v) PARTITION BY user ORDER BY ts)",
        [],
    ),
    Case(
        "event_variables_in_two_spellings",
        "SELECT M.V.item, b.TS FROM clicks MATCH PATTERN (SEQ(View v, Buy B) PARTITION BY USER ORDER BY TS WHERE V.Amount = b.AMOUNT - 1) m",
        [("x", 2)],
    ),
    Case(
        "table_alias",
        "SELECT * FROM ticks x MATCH_RECOGNIZE (PARTITION BY x.sym ORDER BY x.ts DESC MEASURES FIRST(price) AS p PATTERN (a+))",
        [("A", 10), ("B", 7)],
    ),
    Case(
        "table_alias_and_query",
        "SELECT * FROM ticks x MATCH_RECOGNIZE (PARTITION BY x.sym, x.price % 2 ORDER BY x.ts DESC MEASURES FIRST(ts) AS p PATTERN (a+) DEFINE a AS price IN (SELECT 10 UNION ALL SELECT 7))",
        [("A", 0, 8), ("A", 0, 2), ("B", 1, 4)],
    ),
    Case(
        "table_name",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY ticks.sym ORDER BY ticks.ts MEASURES LAST(price) AS p PATTERN (a+))",
        [("A", 10), ("B", 7)],
    ),
    Case(
        "struct_fields",
        f"SELECT * FROM {STRUCTS} MATCH_RECOGNIZE (PARTITION BY s.k ORDER BY s.n.m DESC MEASURES LAST(a.s.n.m) AS m, LAST(s.n).m AS n, FIRST(s.k) AS k2 PATTERN (a+) DEFINE a AS a.s.n.m >= 0)",
        [("a", 0, 0, "a")],
    ),
    Case(
        "struct_fields_of_events",
        f"SELECT a.s.n.m, b.s.n.m FROM {STRUCTS} MATCH PATTERN (SEQ(E a, E b) PARTITION BY s.k AS key ORDER BY s.n.m WHERE a.s.n.m + 1 = b.s.n.m)",
        [(0, 1)],
    ),
    Case(
        "null_keys_are_one_partition",
        f"SELECT * FROM {KEYED} MATCH_RECOGNIZE (PARTITION BY k ORDER BY v {LIST})",
        [(None, "10,20,50"), ("k", "30,40")],
    ),
    Case(
        "null_keys_in_events",
        f"SELECT k, a.v, b.v FROM {KEYED} MATCH PATTERN (SEQ(ANY a, ANY b) PARTITION BY k ORDER BY v)",
        [(None, 10, 20), (None, 10, 50), (None, 20, 50), ("k", 30, 40)],
    ),
    Case(
        "nulls_first_by_default",
        f"SELECT * FROM {KEYED} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {LIST})",
        [(None, "50,10,20"), ("k", "40,30")],
    ),
    Case(
        "nulls_last",
        f"SELECT * FROM {KEYED} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts ASC NULLS LAST {LIST})",
        [(None, "10,20,50"), ("k", "30,40")],
    ),
    Case(
        "descending_nulls_first",
        f"SELECT * FROM {KEYED} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts DESC NULLS FIRST {LIST})",
        [(None, "50,20,10"), ("k", "40,30")],
    ),
    Case(
        "several_orders",
        f"SELECT * FROM {KEYED} MATCH_RECOGNIZE (ORDER BY k DESC NULLS LAST, ts IS NULL, v DESC {LIST})",
        [("30,40,20,10,50",)],
    ),
    Case("order_by_expression", f"SELECT * FROM {KEYED} MATCH_RECOGNIZE (ORDER BY -v {LIST})", [("50,40,30,20,10",)]),
    Case(
        "partition_by_expression",
        f"SELECT * FROM {KEYED} MATCH_RECOGNIZE (PARTITION BY v % 20, k IS NULL ORDER BY v {LIST})",
        [(10, False, "30"), (10, True, "10,50"), (0, True, "20"), (0, False, "40")],
    ),
    Case(
        "partition_by_named_expression",
        f"SELECT r, a.v, b.v FROM {KEYED} MATCH PATTERN (SEQ(ANY a, ANY b) PARTITION BY v % 20 AS r ORDER BY v)",
        [(0, 20, 40), (10, 10, 30), (10, 10, 50), (10, 30, 50)],
    ),
    Case(
        "no_partition",
        "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES COUNT(*) AS n PATTERN (a+))",
        [(12,)],
    ),
    Case(
        "no_order",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym MEASURES COUNT(*) AS n, SUM(price) AS s PATTERN (a+))",
        [("A", 8, 85), ("B", 4, 22)],
    ),
    Case("nothing_but_a_pattern", "SELECT COUNT(*) FROM ticks MATCH_RECOGNIZE (PATTERN (a b))", [(6,)]),
    Case(
        "no_input",
        "SELECT * FROM (SELECT * FROM ticks WHERE false) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a*))",
        [],
    ),
    Case(
        "no_events",
        "SELECT COUNT(*) FROM (SELECT * FROM clicks WHERE false) MATCH PATTERN (SEQ(View v) ORDER BY ts)",
        [(0,)],
    ),
    Case(
        "iso_order_of_columns",
        "SELECT * FROM (SELECT 1 AS v, 'k' AS k, 2 AS ts) MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (a))",
        [("k", 2, "a", 1)],
    ),
    Case(
        "concurrent_events",
        "SELECT a.id, b.id FROM (SELECT id, id DIV 2 AS ts FROM range(4)) MATCH PATTERN (SEQ(ANY a, ANY b) ORDER BY ts)",
        [(0, 2), (0, 3), (1, 2), (1, 3)],
    ),
    Case(
        "descending_second_order",
        "SELECT a.id, b.id FROM (SELECT id, id DIV 2 AS ts FROM range(4)) MATCH PATTERN (SEQ(ANY a, ANY b) PARTITION BY ts ORDER BY ts, id DESC)",
        [(1, 0), (3, 2)],
    ),
]


@parametrize(CASES)
def test_names(spark: SparkSession, case: Case) -> None:
    check(spark, case)
