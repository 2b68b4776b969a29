-- question: When was a high price of stock A followed by high ones of B and of C, all within an hour?
--
-- Pattern 1 of the lazy NFA paper (its Example 1): the sequence. A is the rarest, so evaluation starts with it.
--
-- order: by the three times.
SELECT a.at AS a_at, b.at AS b_at, c.at AS c_at
FROM stocks MATCH PATTERN (
  SEQ(A a, B b, C c)
  EVENT TYPE stock ORDER BY at
  WHERE skip_till_any_match(a, b, c) { a.price > 9950 AND b.price > 9800 AND c.price > 9700 }
  WITHIN 1 hour
)
ORDER BY a_at, b_at, c_at;
