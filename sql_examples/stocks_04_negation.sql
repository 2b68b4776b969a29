-- question: When came A, C and D in this order within an hour, with no B between A and C that was dearer than that C?
--
-- Pattern 4 of the lazy NFA paper: the condition of the negated event looks at a later one.
--
-- order: by the three times.
SELECT a.at AS a_at, c.at AS c_at, d.at AS d_at
FROM stocks MATCH PATTERN (
  SEQ(A a, NOT B b, C c, D d)
  EVENT TYPE stock ORDER BY at
  WHERE b.price > c.price
  WITHIN 1 hour
)
ORDER BY a_at, c_at, d_at;
