-- question: When did A, B and C, or C, D and E, come in this order within six minutes?
--
-- Pattern 8 of the lazy NFA paper: two chains in one automaton; an event of C may take part in both.
--
-- order: by start and end.
SELECT match_start, match_end, CASE WHEN a IS NULL THEN 'C D E' ELSE 'A B C' END AS branch
FROM stocks MATCH PATTERN (
  OR(SEQ(A a, B b, C c), SEQ(C c2, D d, E e))
  EVENT TYPE stock ORDER BY at
  WITHIN 6 minutes
)
ORDER BY match_start, match_end, branch, coalesce(b.at, d.at);
