-- question: After which large drops did a price trace two V-patterns in a row with as many upticks as downticks?
--
-- Q1 of the paper on augmented finite automata (figure 3, k = 2). One register counts downticks less upticks, one the
-- V-patterns; a downtick may be the last one of its V or not, so that both arcs are taken.
--
-- order: symbol, start, end.
SELECT symbol, match_start AS dropped_at, match_end AS done_at, vs
FROM (SELECT symbol, at, price - LAG(price) OVER (PARTITION BY symbol ORDER BY at) AS change FROM trades)
MATCH AUTOMATON (
  PARTITION BY symbol ORDER BY at
  REGISTERS (balance INT DEFAULT 0, vs INT DEFAULT 0)
  START waiting FINAL done
  ARC waiting -> falling WHEN change <= -2
  ARC falling -> falling WHEN change < 0 SET balance = balance + 1
  ARC falling -> rising  WHEN change < 0 SET balance = balance + 1
  ARC rising  -> rising  WHEN change > 0 SET balance = balance - 1
  ARC rising  -> falling WHEN change > 0 AND vs < 1 SET balance = balance - 1, vs = vs + 1
  ARC rising  -> done    WHEN change > 0 AND vs = 1 AND balance = 1 SET balance = balance - 1, vs = vs + 1
  WITHIN INTERVAL 1 HOUR
)
ORDER BY symbol, dropped_at, done_at;
