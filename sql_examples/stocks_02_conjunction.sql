-- question: When did A, B and C tick within five minutes, in any order, with B at the highest price?
--
-- Pattern 2 of the lazy NFA paper: the conjunction.
--
-- order: by the three times.
SELECT a.at AS a_at, b.at AS b_at, c.at AS c_at, match_start, match_end
FROM stocks MATCH PATTERN (
  AND(A a, B b, C c)
  EVENT TYPE stock ORDER BY at
  WHERE a.price < b.price AND c.price < b.price
  WITHIN 5 minutes
)
ORDER BY a_at, b_at, c_at;
