-- question: How likely is it that a tag left the shop from a shelf, if readers err: shelves in 10 % of their readings,
--           counters in 20 %, exits in 5 %?
--
-- The construction of section 4 of the paper on augmented finite automata: a register holds the probability of what was
-- matched so far; each event happened (times p) or did not (times 1 - p); what is less likely than 1 % is given up.
--
-- order: least likely first, then tag and times.
SELECT tag_id, match_start AS on_shelf_at, match_end AS left_at, CAST(ROUND(probability, 6) AS DECIMAL(8, 6)) AS likely
FROM (
  SELECT *, CASE event_type WHEN 'SHELF-READING' THEN 0.9D WHEN 'COUNTER-READING' THEN 0.8D ELSE 0.95D END AS p
  FROM readings
) MATCH AUTOMATON (
  PARTITION BY tag_id ORDER BY read_at
  REGISTERS (probability DOUBLE DEFAULT 1)
  START s FINAL gone
  ARC s -> shelf WHEN event_type = 'SHELF-READING' SET probability = probability * p
  ARC shelf -> shelf WHEN probability * (1 - p) >= 0.01D SET probability = probability * (1 - p)
  ARC shelf -> gone WHEN event_type = 'EXIT-READING' SET probability = probability * p
  WITHIN INTERVAL 12 HOURS
)
WHERE probability < 0.5
ORDER BY likely, tag_id, on_shelf_at, left_at;
