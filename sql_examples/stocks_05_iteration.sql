-- question: In how many ways can one or more ticks of B be picked between one of A and one of C, at most six minutes apart?
--
-- Pattern 5 of the lazy NFA paper: every set of Bs is a separate match.
--
-- order: by the two times.
SELECT a.at AS a_at, c.at AS c_at, COUNT(*) AS matches, MAX(size(b)) AS longest
FROM stocks MATCH PATTERN (
  SEQ(A a, B+ b, C c)
  EVENT TYPE stock ORDER BY at
  WITHIN 6 minutes
)
GROUP BY a.at, c.at
ORDER BY a_at, c_at;
