-- question: Which items were taken from a shelf and out of the shop within 12 hours, without passing a counter?
--
-- Query 2 of SASE (Query 1 of SASE+). Types that are not identifiers are quoted; [tag_id] compares all three events.
--
-- order: by exit.
SELECT z.tag_id AS tag_id, MAX(x.read_at) AS last_on_shelf, z.read_at AS left_at
FROM readings MATCH PATTERN (
  SEQ('SHELF-READING' x, !('COUNTER-READING' y), 'EXIT-READING' z)
  ORDER BY read_at
  WHERE [tag_id]
  WITHIN 12 hours
)
GROUP BY z.tag_id, z.read_at
ORDER BY left_at, tag_id;
