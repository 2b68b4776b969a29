-- question: Which aircraft left New York late four times or more within 36 hours, the delays adding up to more than 200
--           minutes and an hour for each departure?
--
-- The bound grows with the number of legs: both are registers. A departure on time ends the series.
--
-- order: largest total first, then aircraft and start.
SELECT aircraft, match_start AS first_left_at, match_end AS last_left_at, legs, total
FROM (SELECT * FROM flight_events WHERE event_type = 'departure' AND aircraft IS NOT NULL) MATCH AUTOMATON (
  PARTITION BY aircraft ORDER BY event_time, carrier, flight
  REGISTERS (legs INT DEFAULT 0, total INT DEFAULT 0)
  START s FINAL beyond
  ARC s -> late WHEN delay > 0 SET legs = 1, total = delay
  ARC late -> late WHEN delay > 0 SET legs = legs + 1, total = total + delay
  ARC late -> beyond WHEN delay > 0 AND legs >= 3 AND total + delay > 200 + 60 * (legs + 1)
                     SET legs = legs + 1, total = total + delay
  WITHIN INTERVAL 36 HOURS
)
ORDER BY total DESC, aircraft, first_left_at
LIMIT 25;
