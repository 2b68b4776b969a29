-- question: When did A, C and D come in this order within an hour, without a B between A and C at a higher price than C?
--
-- Pattern 4 of the lazy NFA paper: the condition on the negated event refers to a later event.
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
