-- question: Which readings at the counter are missing, if everybody pays, and when and from which shelf were they?
--
-- Stream cleaning, after the paper on augmented finite automata (appendix A): the automaton recognises the pattern with a
-- step missing, and the row that comes out is the step, half-way in time.
--
-- order: time, then tag.
SELECT 'COUNTER-READING' AS event_type, tag_id, shelf AS from_shelf,
       DATE_TRUNC('MINUTE', match_start + (match_end - match_start) / 2) AS read_at
FROM readings MATCH AUTOMATON (
  PARTITION BY tag_id ORDER BY read_at
  REGISTERS (shelf BIGINT)
  START s FINAL gone
  ARC s -> shelved WHEN event_type = 'SHELF-READING' SET shelf = shelf_id
  ARC shelved -> gone WHEN event_type = 'EXIT-READING'
  WITHIN INTERVAL 12 HOURS
)
ORDER BY read_at, tag_id;
