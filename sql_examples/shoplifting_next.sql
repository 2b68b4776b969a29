-- question: Which items left the shop without passing the register, counted from each shelf reading to the next exit?
--
-- Query 1 of SASE+ as printed, with ORDER BY: skip till next match, so that each shelf reading is matched with one exit.
--
-- order: by exit, then shelf reading.
SELECT a.tag_id AS tag_id, a.read_at AS on_shelf_at, c.read_at AS left_at
FROM (
  SELECT CASE event_type WHEN 'SHELF-READING' THEN 'Shelf' WHEN 'COUNTER-READING' THEN 'Register' ELSE 'Exit' END AS type,
         tag_id, read_at
  FROM readings
) AS shop MATCH PATTERN (
  SEQ(Shelf a, ~(Register b), Exit c)
  ORDER BY read_at
  WHERE skip_till_next_match(a, b, c) {
    a.tag_id = b.tag_id
    and a.tag_id = c.tag_id }
  WITHIN 12 hours
)
ORDER BY left_at, tag_id, on_shelf_at;
