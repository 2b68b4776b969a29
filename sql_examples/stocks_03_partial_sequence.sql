-- question: How often in each hour did B come after A and D after C, with E anywhere, all within ten minutes?
--
-- Pattern 3 of the lazy NFA paper: a partial order, sequences inside a conjunction.
--
-- order: by hour.
SELECT hour(match_start) AS hour, COUNT(*) AS matches, MIN(b.price) AS lowest_b
FROM stocks MATCH PATTERN (
  AND(SEQ(A a, B b), SEQ(C c, D d), E e)
  EVENT TYPE stock ORDER BY at
  WITHIN 10 minutes
)
GROUP BY hour(match_start)
ORDER BY hour;
