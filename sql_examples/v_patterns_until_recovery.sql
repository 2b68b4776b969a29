-- question: How many V-patterns did a stock go through after a large drop until it was back at its price before the drop?
--
-- Q2 of the paper on augmented finite automata: how often the loop is taken depends on the data. A register remembers
-- the price before the drop, another one counts.
--
-- order: stock, start.
SELECT stock, match_start AS dropped_at, match_end AS back_at, before_drop, vs
FROM (SELECT stock, at, price, LAG(price) OVER (PARTITION BY stock ORDER BY at) AS previous FROM stocks)
MATCH AUTOMATON (
  PARTITION BY stock ORDER BY at
  REGISTERS (before_drop BIGINT, vs INT DEFAULT 0)
  START waiting FINAL back
  ARC waiting -> falling WHEN price <= previous - 40 SET before_drop = previous
  ARC falling -> falling WHEN price < previous
  ARC falling -> rising  WHEN price > previous AND price < before_drop
  ARC rising  -> rising  WHEN price > previous AND price < before_drop
  ARC rising  -> falling WHEN price < previous SET vs = vs + 1
  ARC falling -> back    WHEN price > previous AND price >= before_drop SET vs = vs + 1
  ARC rising  -> back    WHEN price > previous AND price >= before_drop SET vs = vs + 1
  WITHIN INTERVAL 4 HOURS
)
ORDER BY stock, dropped_at;
