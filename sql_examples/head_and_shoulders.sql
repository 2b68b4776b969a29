-- question: Where did prices draw head and shoulders: a peak, a higher one, a lower one, and then a fall below the start?
--
-- Figure 14 of the paper on augmented finite automata: the registers are the prices at the start, at the first shoulder
-- and at the head. Between the peaks the price stays above the start.
--
-- order: stock, start.
SELECT stock, match_start AS started_at, match_end AS fell_at, start_price, shoulder, head
FROM (SELECT stock, at, price, LAG(price) OVER (PARTITION BY stock ORDER BY at) AS previous FROM stocks)
MATCH AUTOMATON (
  PARTITION BY stock ORDER BY at
  REGISTERS (start_price BIGINT, shoulder BIGINT, head BIGINT)
  START s FINAL fallen
  ARC s  -> p1 SET start_price = price
  ARC p1 -> u1 WHEN price > previous SET shoulder = price
  ARC u1 -> u1 WHEN price > previous SET shoulder = price
  ARC u1 -> d1 WHEN price < previous AND price > start_price
  ARC d1 -> d1 WHEN price < previous AND price > start_price
  ARC d1 -> u2 WHEN price > previous SET head = price
  ARC u2 -> u2 WHEN price > previous SET head = price
  ARC u2 -> d2 WHEN price < previous AND head > shoulder AND price > start_price
  ARC d2 -> d2 WHEN price < previous AND price > start_price
  ARC d2 -> u3 WHEN price > previous AND price < head
  ARC u3 -> u3 WHEN price > previous AND price < head
  ARC u3 -> d3 WHEN price < previous AND price >= start_price
  ARC d3 -> d3 WHEN price < previous AND price >= start_price
  ARC u3 -> fallen WHEN price < previous AND price < start_price
  ARC d3 -> fallen WHEN price < previous AND price < start_price
)
ORDER BY stock, started_at;
