-- question: Which items were put on another shelf, and for an hour neither brought to a counter nor back?
--
-- The inventory query of SASE: the negation comes last, so it extends to the end of the window, and one of its conditions
-- compares it with the first event. At a counter there is no shelf_id, and the paper takes the comparison as true; in SQL this is explicit.
--
-- order: by time of the second reading.
SELECT y.tag_id AS tag_id, x.shelf_id AS belongs_to, y.shelf_id AS found_on, y.read_at AS found_at
FROM readings MATCH PATTERN (
  SEQ('SHELF-READING' x, 'SHELF-READING' y, !(ANY('COUNTER-READING', 'SHELF-READING') z))
  ORDER BY read_at
  WHERE [tag_id] AND x.shelf_id <> y.shelf_id AND (z.shelf_id IS NULL OR x.shelf_id = z.shelf_id)
  WITHIN 1 hour
)
ORDER BY found_at, tag_id;
